//! What a row has to be: types, limits, keys; and what becomes of one that is not.

use super::world::{mapped, rejects, shown};
use oneflight_merge::batch::Again;

/// One table `t` with a key `k` and one more column `v` of this type, filled by this value.
fn column(kind: &str, value: &str, csv: &str) -> (Vec<String>, Vec<String>) {
    let map = format!(
        "[table.t]\nkey = \"k\"\ncolumns = {{ v = {kind} }}\n[feed.f]\npath = \"f.csv\"\n[feed.f.into.t]\nk = \"k\"\nv = {value}\n"
    );
    let (plan, mapped) = mapped(&map, &[("f.csv", csv)]);
    (shown(&plan, &mapped, "t"), rejects(&mapped))
}

#[test]
fn a_value_is_of_its_type_or_its_row_is_rejected() {
    for (kind, right, value, wrong, expected) in [
        ("integer", "007", "7", "7.5", "whole number"),
        (
            "integer",
            "9223372036854775807",
            "9223372036854775807",
            "9223372036854775808",
            "64 bits",
        ),
        ("real", "-1.5e3", "-1500.0", "NaN", "finite"),
        ("decimal", "007.50", "7.5", "1,5", "decimal"),
        ("boolean", "YES", "true", "maybe", "true or false"),
        ("date", "1970-01-02", "1", "2023-02-30", "day that exists"),
        (
            "timestamp",
            "1970-01-01 00:00:01+00:00",
            "1000000",
            "1970-01-01T25:00",
            "moment that exists",
        ),
        ("bytes", "0xFF", "[255]", "f", "hexadecimal"),
        (
            "uuid",
            "00000000-0000-0000-0000-000000000001",
            "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]",
            "1",
            "UUID",
        ),
        ("text", "007", "007", "a\0b", "NUL"),
    ] {
        let csv = format!("k,v\na,\"{right}\"\nb,\"{wrong}\"\n");
        let (rows, rejects) = column(&format!("\"{kind}\""), "\"v\"", &csv);
        assert_eq!(rows, [format!("k=a v={value}")], "{kind}");
        assert_eq!(rejects.len(), 1, "{kind}");
        assert!(
            rejects[0].starts_with("3 v ") && rejects[0].contains(expected),
            "{kind}: {}",
            rejects[0]
        );
    }
}

#[test]
fn a_value_is_read_as_the_mapping_says() {
    for (kind, value, cell, is) in [
        (
            "date",
            "{ from = \"v\", format = \"%d/%m/%Y\" }",
            "02/01/1970",
            "1",
        ),
        (
            "decimal",
            "{ from = \"v\", format = \"1.234,56\" }",
            "1.234,50",
            "1234.5",
        ),
        (
            "timestamp",
            "{ from = [\"v\", \"w\"], join = \" \" }",
            "1970-01-01",
            "60000000",
        ),
        ("text", "{ from = \"v\", map = { a = \"b\" } }", "a", "b"),
        (
            "text",
            "{ from = [\"v\", \"w\"], null = [\"-\"] }",
            "-",
            "00:01",
        ),
        (
            "text",
            "{ from = \"v\", null = [\"-\"], default = \"none\" }",
            "-",
            "none",
        ),
        ("text", "{ const = 7 }", "a", "7"),
        ("text", "{ from = \"v\", trim = true }", " a ", "a"),
        ("text", "\"v\"", " a ", " a "),
        ("text", "\"v\"", "  ", "null"),
        ("text", "\"@stem\"", "a", "f"),
        ("integer", "\"@line\"", "a", "2"),
    ] {
        let (rows, rejects) = column(
            &format!("\"{kind}\""),
            value,
            &format!("k,v,w\nx,\"{cell}\",00:01\n"),
        );
        assert_eq!(rows, [format!("k=x v={is}")], "{value}: {rejects:?}");
    }
}

#[test]
fn a_text_that_is_too_long_is_rejected_and_never_cut() {
    let csv = format!(
        "k,v\n{},a\n{},b\nc,éééé\nd,ééééé\n",
        "é".repeat(512),
        "é".repeat(513)
    );
    let (rows, rejects) = column("{ type = \"text\", max = 4 }", "\"v\"", &csv);
    assert_eq!(rows.len(), 2);
    assert!(
        rejects[0].contains("expected at most 512 characters, found 513"),
        "{}",
        rejects[0]
    );
    assert!(
        rejects[0].contains('…'),
        "a long value is shortened: {}",
        rejects[0]
    );
    assert!(
        rejects[1].contains("expected at most 4 characters, found 5"),
        "{}",
        rejects[1]
    );
}

#[test]
fn two_texts_in_a_key_share_the_index_and_bytes_have_a_limit() {
    let map = "[table.t]\nkey = [\"a\", \"b\", \"c\"]\ncolumns = { c = \"bytes\" }\n[feed.f]\npath = \"f.csv\"\n[feed.f.into.t]\na = \"a\"\nb = \"b\"\nc = \"c\"\n";
    let long = "x".repeat(294);
    let csv = format!("a,b,c\n{long},y,00\ny,{long},{}\n", "00".repeat(256));
    let (plan, mapped) = mapped(map, &[("f.csv", &csv)]);
    let limits: Vec<Option<u32>> = plan.tables[0]
        .sql
        .key
        .iter()
        .map(|column| column.max_chars)
        .collect();
    assert_eq!(limits, [Some(293), Some(293), Some(255)]);
    let rejects = rejects(&mapped);
    assert!(
        rejects[0].contains("at most 293 characters, found 294"),
        "{}",
        rejects[0]
    );
    assert!(
        rejects[1].contains("at most 293 characters"),
        "{}",
        rejects[1]
    );
}

#[test]
fn a_row_that_is_no_object_is_told_to_be_none() {
    let map = r#"
        [table.t]
        key = "k"
        [feed.f]
        path = "f.ndjson"
        [feed.f.into.t]
        k = "k"
        when = { kind = "t" }
    "#;
    let rows = "{\"k\":\"a\",\"kind\":\"t\"}\n[\"k\"]\n7\n\"k\"\ntrue\nnull\n{}\n";
    let (plan, mapped) = mapped(map, &[("f.ndjson", rows)]);
    assert_eq!(shown(&plan, &mapped, "t"), ["k=a"]);
    assert_eq!(
        rejects(&mapped),
        [
            "2 - \"[\\\"k\\\"]\": expected an object, not a list",
            "3 - \"7\": expected an object, not a number",
            "4 - \"\\\"k\\\"\": expected an object, not a text",
            "5 - \"true\": expected an object, not a boolean",
            "6 - \"null\": expected an object, not null",
        ]
    );
    assert_eq!(mapped.rows.len(), 2, "an object may declare nothing");
}

#[test]
fn a_row_need_be_no_object_where_the_mapping_takes_it_as_it_is() {
    for (path, rows) in [(".", "\"a\"\n7\n"), ("[0]", "[\"a\"]\n[7]\n")] {
        let map = format!(
            "[table.t]\nkey = \"k\"\n[feed.f]\npath = \"f.ndjson\"\n[feed.f.into.t]\nk = {{ from = [\"k\", \"{path}\"] }}\n"
        );
        let (plan, mapped) = mapped(&map, &[("f.ndjson", rows)]);
        assert_eq!(shown(&plan, &mapped, "t"), ["k=a", "k=7"], "{path}");
    }
}

#[test]
fn a_rejected_row_leaves_no_record_behind() {
    let map = r#"
        [table.country]
        key = "name"
        [table.town]
        key = "name"
        columns = { country = "ref country", people = { type = "integer", required = true } }
        [feed.f]
        path = "f.csv"
        [feed.f.into.town]
        name = "name"
        country = "country"
        people = "people"
    "#;
    let csv = "name,country,people\nA,X,1\nB,Y,many\n,Z,3\nC,W,\nD,X,4\nE,,5\n";
    let (plan, mapped) = mapped(map, &[("f.csv", csv)]);
    assert_eq!(shown(&plan, &mapped, "country"), ["name=X"]);
    assert_eq!(
        shown(&plan, &mapped, "town"),
        [
            "name=A country=#0 people=1",
            "name=D country=#0 people=4",
            "name=E country=null people=5"
        ]
    );
    let rejects = rejects(&mapped);
    assert_eq!(rejects.len(), 3);
    assert!(
        rejects[0].starts_with("3 people \"many\": expected a whole number"),
        "{}",
        rejects[0]
    );
    assert!(
        rejects[1]
            .starts_with("4 name \"null\": expected a value: `name` is part of the key of `town`"),
        "{}",
        rejects[1]
    );
    assert!(
        rejects[2]
            .starts_with("5 people \"null\": expected a value: `people` of `town` is required"),
        "{}",
        rejects[2]
    );
    assert_eq!(
        mapped.rows.iter().map(|row| row.line).collect::<Vec<_>>(),
        [2, 6, 7]
    );
}

#[test]
fn rows_of_one_identity_are_one_record_by_the_policies_of_its_columns() {
    let map = r#"
        [table.t]
        key = "k"
        fold = "full"
        [table.t.columns]
        fill = "text"
        keep = { type = "text", policy = "keep" }
        take = { type = "text", policy = "take" }
        new = { type = "text", policy = "newest:at" }
        at = "date"
        [feed.f]
        path = "f.csv"
        [feed.f.into.t]
        k = "k"
        fill = "a"
        keep = "b"
        take = "c"
        new = "d"
        at = "e"
    "#;
    let csv = "k,a,b,c,d,e\nX,,b1,c1,d1,1970-01-02\nx ,a2,,c2,d2,1970-01-03\nx,a3,b3,,d3,1970-01-01\nX,a2,b1,c2,d2,1970-01-03\n";
    let (plan, mapped) = mapped(map, &[("f.csv", csv)]);
    assert_eq!(
        shown(&plan, &mapped, "t"),
        ["k=x/X fill=a2 keep=b1 take=c2 new=d2 at=2"]
    );
    let again: Vec<Again> = mapped
        .rows
        .iter()
        .map(|row| row.declares[0].again)
        .collect();
    assert_eq!(
        again,
        [Again::First, Again::Changed, Again::Same, Again::Same]
    );
    // The third row's: a3, b3, d3 and its date; what takes the place of another is no conflict.
    assert_eq!(mapped.tables[0].get(0).conflicts(), 4);
}

#[test]
fn a_record_that_is_referred_to_first_is_completed_by_its_row() {
    let map = r#"
        [table.p]
        key = "k"
        columns = { parent = "ref p", name = "text" }
        [feed.f]
        path = "f.csv"
        [feed.f.into.p]
        k = "k"
        parent = "parent"
        name = "name"
    "#;
    let (plan, mapped) = mapped(map, &[("f.csv", "k,parent,name\na,b,A\nb,,B\nc,c,C\n")]);
    assert_eq!(
        shown(&plan, &mapped, "p"),
        [
            "k=b parent=null name=B",
            "k=a parent=#0 name=A",
            "k=c parent=#2 name=C"
        ]
    );
    assert!(
        mapped.tables[0]
            .iter()
            .all(|rec| rec.is_declared() && rec.conflicts() == 0)
    );
    assert!(
        mapped
            .rows
            .iter()
            .all(|row| row.declares[0].again == Again::First)
    );
    assert!(plan.tables[0].deferred && plan.tables[0].columns[1].deferred);
}

#[test]
fn a_policy_of_error_rejects_the_row_that_says_something_else() {
    let (rows, rejects) = column(
        "{ type = \"text\", policy = \"error\" }",
        "\"v\"",
        "k,v\na,1\na,\na,1\na,2\n",
    );
    assert_eq!(rows, ["k=a v=1"]);
    assert_eq!(rejects.len(), 1);
    assert!(
        rejects[0].starts_with("5 ") && rejects[0].contains("earlier row"),
        "{}",
        rejects[0]
    );
}

#[test]
fn a_null_in_a_key_can_be_a_value() {
    let map = r#"
        [table.g]
        key = ["a", "b"]
        null_key = "value"
        [table.h]
        key = "g"
        columns = { g = "ref g" }
        null_key = "value"
        [feed.f]
        path = "f.csv"
        [feed.f.into.h]
        g = { a = "a", b = "b" }
    "#;
    let (plan, mapped) = mapped(map, &[("f.csv", "a,b\n1,\n1,\n,1\n1,1\n,\n")]);
    assert_eq!(
        shown(&plan, &mapped, "g"),
        ["a=1 b=null", "a=null b=1", "a=1 b=1"]
    );
    assert_eq!(shown(&plan, &mapped, "h"), ["g=#0", "g=#1", "g=#2"]);
    assert_eq!(rejects(&mapped).len(), 1, "a key of nulls alone is none");
}
