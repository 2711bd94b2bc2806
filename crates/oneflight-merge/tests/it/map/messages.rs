//! Errors in a mapping: where they stand, and what would be right.

use oneflight_merge::mapping;

const TABLE: &str = "[table.club]\nkey = \"name\"\ncolumns = { city = \"text\" }\n";
const FEED: &str = "[feed.f]\npath = \"f.csv\"\n[feed.f.into.club]\nname = \"n\"\n";

fn errors(text: &str) -> Vec<String> {
    match mapping::parse(text, "m.toml") {
        Ok(_) => panic!("this mapping is taken for right:\n{text}"),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// The mapping has this one error.
fn check(text: &str, place: &str, parts: &[&str]) {
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(
        errors[0].starts_with(&format!("m.toml:{place}: ")),
        "{place}: {}",
        errors[0]
    );
    for part in parts {
        assert!(errors[0].contains(part), "{part}: {}", errors[0]);
    }
}

#[test]
fn what_is_no_toml_says_where() {
    check("[table.club\n", "1:12", &["this is no TOML"]);
    check("a = 1\na = 2\n", "2:1", &["TOML"]);
}

#[test]
fn a_path_alone_that_leaves_out_what_a_row_needs_is_told() {
    let tables = "[table.club]\nkey = \"name\"\ncolumns = { city = { type = \"text\", required = true } }\n\
                  [table.game]\nkey = \"n\"\ncolumns = { home = \"ref club\" }\n";
    let feed = "[feed.f]\npath = \"f.csv\"\n[feed.f.into.game]\nn = \"n\"\n";
    check(
        &format!("{tables}{feed}home = \"home\"\n"),
        "11:8",
        &[
            "`city` is missing: required in `club`",
            "{ name = \"…\", city = \"…\" }",
            "{ name = \"…\", create = false }",
        ],
    );
    let more = tables.replace(
        "required = true }",
        "required = true }, founded = { type = \"date\", required = true }",
    );
    check(
        &format!("{more}{feed}home = \"home\"\n"),
        "11:8",
        &["`city`, `founded` are missing", "without them"],
    );
    for right in [
        "{ name = \"home\", create = false }",
        "{ name = \"home\", city = \"city\" }",
    ] {
        let right = format!("{tables}{feed}home = {right}\n");
        mapping::parse(&right, "m.toml").unwrap_or_else(|errors| panic!("{errors}"));
    }
}

#[test]
fn an_unknown_key_is_told_with_what_is_like_it() {
    check(
        &format!("{TABLE}fild = \"full\"\n{FEED}"),
        "4:1",
        &["`fild`", "did you mean `fold`?", "crosswalk"],
    );
    check(
        &format!("{TABLE}{FEED}\n[feeds.x]\n"),
        "9:2",
        &["`feeds`", "did you mean `feed`?"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.csv\"\ndelimeter = \";\"\ninto.club.name = \"n\"\n"),
        "6:1",
        &["did you mean `delimiter`?"],
    );
    check(
        &format!("{TABLE}{FEED}cty = \"c\"\n"),
        "8:1",
        &["`cty` is no column of `club`", "did you mean `city`?"],
    );
    check(
        &format!("{TABLE}{FEED}city = {{ form = \"c\" , from = \"c\" }}\n"),
        "8:10",
        &["did you mean `from`?"],
    );
}

#[test]
fn an_unknown_name_is_told_with_those_that_are_possible() {
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.csv\"\n[feed.f.into.clubs]\nname = \"n\"\n"),
        "6:14",
        &["`clubs` is no table", "did you mean `club`?"],
    );
    check(
        "[table.a]\nkey = \"k\"\ncolumns = { c = \"txt\" }\n[feed.f]\npath = \"f.csv\"\ninto.a.k = \"k\"\n",
        "3:17",
        &["`txt` is no type", "did you mean `text`?", "ref TABLE"],
    );
    check(
        "[table.a]\nkey = \"k\"\ncolumns = { b = \"ref bb\" }\n[table.bbb]\nkey = \"k\"\n[feed.f]\npath = \"f.csv\"\ninto.a.k = \"k\"\n",
        "3:13",
        &["`bb` is no table", "did you mean `bbb`?"],
    );
    check(
        &format!("{TABLE}policy = \"newest\"\n{FEED}"),
        "4:10",
        &["`newest`", "newest:COLUMN"],
    );
    check(
        &format!("{TABLE}fold = \"ful\"\n{FEED}"),
        "4:8",
        &["full", "slug"],
    );
    check(
        &format!("{TABLE}{FEED}city = {{ from = \"c\", lookup = \"l\" }}\n"),
        "8:31",
        &["`l` is no lookup", "there are none"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = \"f-{{year}}.csv\"\ninto.club.name = \"@yaer\"\n"),
        "6:18",
        &["`@yaer`", "`@year`", "`@stem`"],
    );
    check(
        "[table.a]\nkey = \"k\"\n[feed.f]\npath = \"f.csv\"\ncolumns = [\"id\", \"name\"]\ninto.a.k = \"nmae\"\n",
        "6:12",
        &["`nmae` is no column", "did you mean `name`?"],
    );
}

#[test]
fn a_value_of_another_type_is_told() {
    check(
        &format!("{TABLE}crosswalk = \"yes\"\n{FEED}"),
        "4:13",
        &["`crosswalk`", "expected true", "not a string"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = 7\ninto.club.name = \"n\"\n"),
        "5:8",
        &["expected a text in quotes", "not an integer"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.csv\"\ndelimiter = \";;\"\ninto.club.name = \"n\"\n"),
        "6:13",
        &["one ASCII character"],
    );
    check(
        &format!("{TABLE}{FEED}city = {{ const = 7, from = \"x\" }}\n"),
        "8:1",
        &["exclude each other"],
    );
}

#[test]
fn what_the_mapping_itself_puts_in_a_column_is_checked() {
    let table = "[table.a]\nkey = \"k\"\ncolumns = { n = \"integer\", d = \"date\" }\n[feed.f]\npath = \"f.csv\"\n[feed.f.into.a]\nk = \"k\"\n";
    check(
        &format!("{table}n = {{ const = \"x\" }}\n"),
        "8:15",
        &["`x` does not fit the column", "whole number"],
    );
    check(
        &format!("{table}d = {{ from = \"d\", default = \"2023-02-30\" }}\n"),
        "8:29",
        &["day that exists"],
    );
    check(
        &format!("{table}n = {{ from = \"n\", map = {{ two = 2, three = \"tres\" }} }}\n"),
        "8:44",
        &["`tres`"],
    );
    check(
        &format!("{table}d = {{ from = \"d\", format = \"%Q\" }}\n"),
        "8:28",
        &["`%Q`", "%Y"],
    );
    check(
        &format!("{table}n = {{ from = \"n\", format = \"%Y\" }}\n"),
        "8:28",
        &["format of a number", "1.234,56"],
    );
}

#[test]
fn a_key_that_cannot_be_is_told() {
    check(
        &format!("[table.club]\ncolumns = {{ name = \"text\" }}\n{FEED}"),
        "1:8",
        &["`club` has no `key`"],
    );
    check(
        "[table.a]\nkey = \"k\"\ncolumns = { k = \"real\" }\n[feed.f]\npath = \"f.csv\"\ninto.a.k = \"k\"\n",
        "3:13",
        &["decimal"],
    );
    check(
        "[table.club]\nkey = [\"id\"]\n[feed.f]\npath = \"f.csv\"\ninto.club.id = \"n\"\n",
        "2:8",
        &["cannot be called `id`", "row_key"],
    );
    let long: Vec<String> = (0..25).map(|n| format!("\"c{n}\"")).collect();
    let wide = format!(
        "[table.a]\nkey = [{}]\n[feed.f]\npath = \"f.csv\"\ninto.a.c0 = \"x\"\n",
        long.join(", ")
    );
    assert!(
        errors(&wide)[..2]
            .iter()
            .all(|error| error.contains("null_key = \"value\"")),
        "{:?}",
        errors(&wide)
    );
    check(
        "[table.a]\nkey = \"x\"\ncolumns = { x_id = \"text\", x = \"ref a2\" }\n[table.a2]\nkey = \"k\"\n[feed.f]\npath = \"f.csv\"\ninto.a.x = \"k\"\n",
        "1:8",
        &["two columns of `a` would be called `x_id`"],
    );
    check(
        "[table.A]\nkey = \"x\"\n[table.a]\nkey = \"x\"\n[feed.f]\npath = \"f.csv\"\ninto.a.x = \"k\"\n",
        "3:8",
        &["two tables would be called `a`"],
    );
}

#[test]
fn a_circle_of_keys_is_shown() {
    let text = "[table.a]\nkey = \"b\"\ncolumns = { b = \"ref b\" }\n[table.b]\nkey = \"a\"\ncolumns = { a = \"ref a\" }\n[feed.f]\npath = \"f.csv\"\ninto.a.b = \"b\"\n";
    check(text, "1:8", &["a → b → a"]);
}

#[test]
fn a_record_that_is_incomplete_is_told() {
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.csv\"\n[feed.f.into.club]\ncity = \"c\"\n"),
        "6:14",
        &["`name` is missing", "key of `club`"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.csv\"\n"),
        "4:7",
        &["fills no table", "[feed.f.into.TABLE]"],
    );
    check(
        &format!("{TABLE}[feed.f]\ninto.club.name = \"n\"\n"),
        "4:7",
        &["`path` is missing"],
    );
    check(
        &format!("{TABLE}[feed.f]\npath = \"f.dat\"\ninto.club.name = \"n\"\n"),
        "5:8",
        &["does not tell the format", "parquet"],
    );
    check(
        &format!("{TABLE}{FEED}external_id = \"x\"\n"),
        "8:1",
        &["no crosswalk"],
    );
    check(
        &format!(
            "{TABLE}[table.g]\nkey = \"c\"\ncolumns = {{ c = \"ref club\" }}\n[feed.f]\npath = \"f.csv\"\ninto.g.c = {{ city = \"x\" }}\n"
        ),
        "9:8",
        &["`name` is missing"],
    );
}

#[test]
fn a_label_is_one_of_this_row() {
    let tables = "[table.a]\nkey = \"k\"\n[table.b]\nkey = \"a\"\ncolumns = { a = \"ref a\" }\n[feed.f]\npath = \"f.csv\"\n";
    check(
        &format!("{tables}into.a.k = \"k\"\ninto.b.a = \"&aa\"\n"),
        "9:12",
        &["did you mean `a`?"],
    );
    check(
        &format!("{tables}into.a = {{ k = \".\", each = \"x\" }}\ninto.b.a = \"&a\"\n"),
        "9:12",
        &["one record for each element"],
    );
    check(
        &format!("{tables}into.x = {{ table = \"b\", a = \"k\" }}\ninto.b.a = \"&x\"\n"),
        "9:12",
        &["another table"],
    );
}

#[test]
fn a_path_of_a_flat_file_names_a_column() {
    check(
        &format!("{TABLE}{FEED}city = \"^.x\"\n"),
        "8:8",
        &["climbs out of the row"],
    );
    check(
        &format!(
            "{TABLE}[feed.f]\npath = \"f.csv\"\ninto.club = {{ each = {{ from = \"x\", split = \"|\" }}, name = \"y\" }}\n"
        ),
        "6:58",
        &["`^.y`", "`.`"],
    );
}

#[test]
fn a_feed_can_be_one_of_a_list() {
    let list = "[table.club]\nkey = \"name\"\n[[feed]]\npath = \"f.csv\"\n[feed.into.club]\nname = \"n\"\n[[feed]]\nname = \"g\"\npath = \"g.csv\"\n";
    let plan =
        mapping::parse(&format!("{list}into.club.name = \"n\"\n"), "m.toml").expect("it is right");
    let names: Vec<&str> = plan.feeds.iter().map(|feed| feed.name.as_str()).collect();
    assert_eq!(names, ["f.csv", "g"]);
    check(list, "7:1", &["fills no table"]);
}

#[test]
fn several_errors_are_told_at_once() {
    let text = "sorce = \"x\"\n[table.club]\nkey = \"name\"\nfold = \"ful\"\n[feed.f]\npath = \"f.txt\"\ninto.club.name = \"n\"\n";
    let errors = errors(text);
    let places: Vec<&str> = errors
        .iter()
        .map(|error| error.split(": ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        places,
        ["m.toml:1:1", "m.toml:4:8", "m.toml:6:8"],
        "{errors:#?}"
    );
}

#[test]
fn a_mapping_without_tables_or_feeds_says_so() {
    let errors = errors("");
    assert!(
        errors.iter().any(|error| error.contains("no table"))
            && errors.iter().any(|error| error.contains("no feed")),
        "{errors:?}"
    );
}
