"""The league with dlt's fast path: Arrow tables instead of rows, loaded by COPY of CSV, as its pages on Arrow and on PostgreSQL say.
Else as in dlt_league.py.

    dlt_league_arrow.py FEED URL FOLDER
"""

import sys

import dlt
from pyarrow import csv

feed, url, folder = sys.argv[1:]


def appearance():
    with csv.open_csv(feed) as reader:
        for batch in reader:
            yield batch.drop_columns(["player_name"])


def distinct(columns, names):
    table = csv.read_csv(feed, convert_options=csv.ConvertOptions(include_columns=columns))
    yield table.group_by(columns).aggregate([]).rename_columns(names)


def table(data, name, key):
    return dlt.resource(data, name=name, primary_key=key, write_disposition="merge")


pipeline = dlt.pipeline(
    pipeline_name="league_arrow",
    pipelines_dir=folder,
    destination=dlt.destinations.postgres(url),
    dataset_name="league",
)
pipeline.run(
    [
        table(distinct(["season"], ["name"]), "season", "name"),
        table(distinct(["club"], ["name"]), "club", "name"),
        table(distinct(["venue"], ["name"]), "venue", "name"),
        table(distinct(["player", "player_name"], ["code", "name"]), "player", "code"),
        table(appearance(), "appearance", "row"),
    ],
    loader_file_format="csv",
)
