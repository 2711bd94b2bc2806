"""The league with dlt: a resource a table, merged by its primary key, pages of rows, as its pages on merge loading and on
performance say. dlt makes no ids: a row keeps the key of what it refers to.

    dlt_league.py FEED URL FOLDER
"""

import csv
import itertools
import sys

import dlt

PAGE = 10_000
feed, url, folder = sys.argv[1:]


def pages(pick):
    with open(feed, encoding="utf-8", newline="") as file:
        rows = map(pick, csv.DictReader(file))
        while page := list(itertools.islice(rows, PAGE)):
            yield page


def distinct(key, pick):
    seen = set()
    for page in pages(pick):
        fresh = []
        for row in page:
            if row[key] not in seen:
                seen.add(row[key])
                fresh.append(row)
        if fresh:
            yield fresh


def named(column):
    return distinct("name", lambda row: {"name": row[column]})


def appearance(row):
    return {
        "row": int(row["row"]),
        "player": row["player"],
        "club": row["club"],
        "venue": row["venue"],
        "season": row["season"],
        "date": row["date"],
        "minutes": int(row["minutes"]),
        "goals": int(row["goals"]),
    }


def player(row):
    return {"code": row["player"], "name": row["player_name"]}


def table(data, name, key, **columns):
    return dlt.resource(data, name=name, primary_key=key, write_disposition="merge", columns=columns or None)


pipeline = dlt.pipeline(
    pipeline_name="league",
    pipelines_dir=folder,
    destination=dlt.destinations.postgres(url),
    dataset_name="league",
)
pipeline.run(
    [
        table(named("season"), "season", "name"),
        table(named("club"), "club", "name"),
        table(named("venue"), "venue", "name"),
        table(distinct("code", player), "player", "code"),
        table(pages(appearance), "appearance", "row", date={"data_type": "date"}),
    ]
)
