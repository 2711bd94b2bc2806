//! Shapes of rows: nested, lists, what encloses them, crosswalks, lookups.

use super::world::{mapped, rejects, shown};

#[test]
fn one_row_fills_several_tables_and_links() {
    let map = r#"
        [table.route]
        key = "code"
        columns = { stops = "integer" }
        [table.plane]
        key = "iata"
        [table.link]
        key = ["route", "plane"]
        columns = { route = "ref route", plane = "ref plane", stops = "integer" }
        [feed.f]
        path = "f.csv"
        # The link stands before the record that it refers to.
        [feed.f.into.link]
        each = { from = "planes", split = " " }
        route = "&route"
        plane = "."
        stops = "^.stops"
        [feed.f.into.route]
        code = "code"
    "#;
    let (plan, mapped) = mapped(
        map,
        &[(
            "f.csv",
            "code,planes,stops\nA,CR2  734,1\nB,,2\nC,CR2,3\nD,CR2,x\n",
        )],
    );
    assert_eq!(
        shown(&plan, &mapped, "route"),
        ["code=A", "code=B", "code=C"]
    );
    assert_eq!(shown(&plan, &mapped, "plane"), ["iata=CR2", "iata=734"]);
    assert_eq!(
        shown(&plan, &mapped, "link"),
        [
            "route=#0 plane=#0 stops=1",
            "route=#0 plane=#1 stops=1",
            "route=#2 plane=#0 stops=3"
        ]
    );
    assert_eq!(rejects(&mapped).len(), 1);
    let link = plan
        .tables
        .iter()
        .find(|table| table.sql.name == "link")
        .expect("it is there");
    assert!(link.sql.id.is_some(), "it has a column outside its key");
}

#[test]
fn a_nested_file_is_walked_up_and_down() {
    let map = r#"
        source = "s"
        [table.club]
        key = "name"
        [table.game]
        key = ["season", "home", "away"]
        [table.game.columns]
        home = "ref club"
        away = "ref club"
        round = "text"
        league = "text"
        goals = "integer"
        nr = "text"
        [feed.f]
        path = "{season}.json"
        rows = "rounds[*].games[*]"
        [feed.f.into.game]
        season = "@season"
        home = { name = "teams[0].name" }
        away = { name = ["teams[1].name"] }
        round = "^.name"
        league = "^^name"
        goals = "score.ft[0]"
        nr = "nr"
    "#
    .replace(
        "[\"teams[1].name\"]",
        "{ from = [\"teams[1].key\", \"teams[1].name\"] }",
    );
    let json = r#"{"name": "L", "rounds": [{"name": "R1", "games": [
        {"teams": [{"name": "A"}, {"name": "B"}], "score": {"ft": [2, 1]}, "nr": 7.0},
        {"teams": [{"name": "A"}, {"name": "C", "key": "c"}], "score": null, "nr": "007"},
        {"teams": [{"name": ["A"]}, {"name": "C"}]}]}]}"#;
    let (plan, mapped) = mapped(&map, &[("2010-11.json", json)]);
    assert_eq!(
        shown(&plan, &mapped, "club"),
        ["name=A", "name=B", "name=c"]
    );
    assert_eq!(
        shown(&plan, &mapped, "game"),
        [
            "season=2010-11 home=#0 away=#1 round=R1 league=L goals=2 nr=7",
            "season=2010-11 home=#0 away=#2 round=R1 league=L goals=null nr=007"
        ]
    );
    assert_eq!(
        rejects(&mapped),
        ["4 teams[0].name \"[\\\"A\\\"]\": expected one value, not a list or an object"]
    );
}

#[test]
fn each_goes_through_lists_of_lists_and_through_shapes_that_drift() {
    let map = r#"
        [table.a]
        key = ["car", "driver", "year"]
        [table.b]
        key = ["driver", "year"]
        [feed.f]
        path = "f.ndjson"
        [feed.f.into.a]
        each = "cars[*].drivers"
        car = "^.id"
        driver = "id"
        year = "^^.year"
        [feed.f.into.b]
        each = "..driverId"
        driver = "."
        year = "^.year"
    "#;
    let rows = concat!(
        r#"{"year": 1, "cars": [{"id": "x", "drivers": [{"id": "p"}, {"id": "q"}]}, {"id": "y", "drivers": {"id": "p"}}]}"#,
        "\n",
        r#"{"year": 2, "driverId": "r", "more": [{"driverId": "s", "deep": {"driverId": ["t", null]}}]}"#,
        "\n"
    );
    let (plan, mapped) = mapped(map, &[("f.ndjson", rows)]);
    assert_eq!(
        shown(&plan, &mapped, "a"),
        [
            "car=x driver=p year=1",
            "car=x driver=q year=1",
            "car=y driver=p year=1"
        ]
    );
    assert_eq!(
        shown(&plan, &mapped, "b"),
        ["driver=r year=2", "driver=t year=2", "driver=s year=2"]
    );
}

#[test]
fn rows_of_several_kinds_declare_different_records() {
    let map = r#"
        [table.team]
        key = "name"
        [table.player]
        key = "name"
        columns = { team = "ref team" }
        [feed.f]
        path = "f.ndjson"
        [feed.f.into.team]
        when = { type = "team" }
        name = "name"
        [feed.f.into.player]
        when = { type = ["player", "coach"], active = true }
        name = "name"
        team = "&team"
    "#;
    let rows = [
        r#"{"type": "team", "name": "T"}"#,
        r#"{"type": "player", "name": "P", "active": true}"#,
        r#"{"type": "coach", "name": "C", "active": false}"#,
        r#"{"name": "N"}"#,
    ];
    let (plan, mapped) = mapped(map, &[("f.ndjson", &(rows.join("\n") + "\n"))]);
    assert_eq!(shown(&plan, &mapped, "team"), ["name=T"]);
    assert_eq!(shown(&plan, &mapped, "player"), ["name=P team=null"]);
    assert_eq!(
        mapped
            .rows
            .iter()
            .map(|row| row.declares.len())
            .collect::<Vec<_>>(),
        [1, 1, 0, 0]
    );
}

#[test]
fn a_crosswalk_tells_records_apart_by_their_external_ids() {
    let map = r#"
        source = "a"
        [table.player]
        key = "name"
        fold = "full"
        crosswalk = true
        [table.venue]
        crosswalk = { same_source = "link" }
        columns = { name = "text" }
        [feed.f]
        path = "f.csv"
        [feed.f.into.player]
        external_id = "id"
        name = "name"
        [feed.f.into.venue]
        external_id = { from = "venue", source = "b" }
        name = "venue_name"
    "#;
    let csv = "id,name,venue,venue_name\n1,Ann,v,V\n2,ann,v,W\n,Ann,w,W\n,,v,\n3,,v,\n4,Bob,,\n";
    let (plan, mapped) = mapped(map, &[("f.csv", csv)]);
    assert_eq!(
        shown(&plan, &mapped, "player"),
        [
            "name=ann/Ann a:1",
            "name=ann/ann a:2",
            "name=ann/Ann",
            "name=null a:3"
        ]
    );
    assert_eq!(shown(&plan, &mapped, "venue"), ["name=V b:v", "name=W b:w"]);
    assert_eq!(
        mapped.tables[1].get(0).conflicts() + mapped.tables[0].get(0).conflicts(),
        1,
        "V is kept"
    );
    let rejects = rejects(&mapped);
    assert!(
        rejects[0].contains("part of the key of `player`"),
        "{}",
        rejects[0]
    );
    assert!(
        rejects[1].contains("expected an external id"),
        "{}",
        rejects[1]
    );
    let crosswalk = plan.tables.iter().find_map(|table| {
        table
            .sql
            .crosswalk
            .as_ref()
            .filter(|x| x.table == "venue_xref")
    });
    assert_eq!(
        crosswalk.map(|crosswalk| crosswalk.id.as_str()),
        Some("venue_id")
    );
}

#[test]
fn a_lookup_translates_what_is_not_ambiguous() {
    let map = r#"
        [table.club]
        key = "name"
        [table.strict]
        key = "name"
        [lookup.l]
        path = "aliases.csv"
        from = "alias"
        to = "club"
        where = { country = ["eng", "wal"] }
        fold = "full"
        [feed.f]
        path = "f.csv"
        [feed.f.into.club]
        name = { from = "team", lookup = "l" }
        [feed.f.into.strict]
        name = { from = "team", lookup = "l", unknown = "reject" }
    "#;
    let aliases = "country,club,alias\neng,Spurs FC,Spurs\nwal,Swans,SWANSEA\neng,United A,United\neng,United B,united\nde,Other,Spurs\n";
    let files = [
        ("aliases.csv", aliases),
        ("f.csv", "team\nspurs\nSwansea\nUnited\nFulham\n"),
    ];
    let (plan, mapped) = mapped(map, &files);
    assert_eq!(
        shown(&plan, &mapped, "club"),
        ["name=Spurs FC", "name=Swans"]
    );
    let rejects = rejects(&mapped);
    assert!(rejects[0].contains("to one thing"), "{}", rejects[0]);
    assert!(
        rejects[1].contains("that the lookup knows"),
        "{}",
        rejects[1]
    );
}

#[test]
fn a_reference_that_must_be_there_is_marked() {
    let map = r#"
        [table.club]
        key = "name"
        columns = { city = { type = "text", required = true } }
        [table.game]
        key = "id_"
        columns = { home = "ref club", away = "ref club" }
        [feed.f]
        path = "f.csv"
        [feed.f.into.game]
        id_ = "n"
        home = { name = "home", create = false }
        away = { name = "away", city = "city" }
    "#;
    let (plan, mapped) = mapped(
        map,
        &[("f.csv", "n,home,away,city\n1,A,B,Y\n2,A,A,X\n3,C,B,\n")],
    );
    assert_eq!(
        shown(&plan, &mapped, "club"),
        ["name=A city=X", "name=B city=Y"]
    );
    assert_eq!(
        mapped.tables[0]
            .iter()
            .map(|rec| rec.may_create())
            .collect::<Vec<_>>(),
        [true, true]
    );
    assert_eq!(
        rejects(&mapped).len(),
        1,
        "a club that is made needs its city"
    );
}

#[test]
fn a_member_that_was_too_large_to_keep_is_an_error_and_no_null() {
    let map = r#"
        [table.t]
        key = "k"
        columns = { note = "text" }
        [feed.f]
        path = "f.json"
        rows = "rows[*]"
        [feed.f.into.t]
        k = "k"
        note = "^.note"
    "#;
    let json = format!(
        r#"{{"note": "{}", "rows": [{{"k": "a"}}]}}"#,
        "x".repeat(2 << 20)
    );
    let (_, mapped) = mapped(map, &[("f.json", &json)]);
    let rejects = rejects(&mapped);
    assert!(
        rejects[0].starts_with("1 ^.note")
            && rejects[0].contains("`note` encloses the rows, and is too large"),
        "{}",
        rejects[0]
    );
}

#[test]
fn a_list_in_or_of_what_was_too_large_to_keep_is_an_error_and_no_empty_list() {
    let large = "x".repeat(2 << 20);
    let json = format!(r#"{{"big": [{{"note": "{large}"}}], "small": 1, "rows": [{{"k": "a"}}]}}"#);
    for (each, note, rejected) in [
        ("^.big[*]", "note", Some("^.big[*]")),
        ("^[*].big[*]", "note", Some("^[*].big[*]")),
        ("^...note", ".", Some("^...note")),
        ("^", "big", Some("big")),
        ("^", "small", None),
        ("^.small", ".", None),
    ] {
        let map = format!(
            r#"
            [table.t]
            key = "k"
            [table.n]
            key = "note"
            [feed.f]
            path = "f.json"
            rows = "rows[*]"
            [feed.f.into.t]
            k = "k"
            [feed.f.into.n]
            each = "{each}"
            note = "{note}"
        "#
        );
        let (plan, mapped) = mapped(&map, &[("f.json", &json)]);
        let rejects = rejects(&mapped);
        match rejected {
            Some(path) => {
                let begin = format!("1 {path} ");
                assert!(
                    rejects.len() == 1
                        && rejects[0].starts_with(&begin)
                        && rejects[0].contains("`big` encloses the rows, and is too large"),
                    "{each}: {rejects:?}"
                );
                assert!(shown(&plan, &mapped, "t").is_empty(), "{each}");
            }
            None => {
                assert!(rejects.is_empty(), "{each}: {rejects:?}");
                assert_eq!(shown(&plan, &mapped, "n"), ["note=1"], "{each}");
            }
        }
    }
}
