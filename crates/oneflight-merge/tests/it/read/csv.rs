//! Delimited text.

use super::{comma, names, read, refused, refused_from, source, try_read};
use oneflight_merge::plan::{Csv, Format};
use serde_json::json;

fn csv() -> Format {
    Format::Csv(comma())
}

fn needing(needs: &[&str]) -> Format {
    Format::Csv(Csv {
        needs: names(needs),
        ..comma()
    })
}

fn escaped() -> Csv {
    Csv {
        escape: Some(b'\\'),
        columns: Some(names(&["a", "b"])),
        ..comma()
    }
}

#[test]
fn cells_come_out_as_they_were_meant() {
    let table = [
        ("a,b\n1,2\n", json!(["1", "2"])),
        ("a,b\n\"1\",\"2\"\n", json!(["1", "2"])),
        (
            "a,b\n\"say \"\"hi\"\"\",\"x,y\"\n",
            json!(["say \"hi\"", "x,y"]),
        ),
        ("a,b\n,\n", json!(["", ""])),
        ("a,b\n\"\",\n", json!(["", ""])),
        ("a,b\n 1 , 2 \n", json!([" 1 ", " 2 "])),
        ("a,b\n5\" pipe,x\"y\n", json!(["5\" pipe", "x\"y"])),
        ("a,b\n\"1\" ,\"2\"\t\n", json!(["1", "2"])),
        ("a,b\n\"x\ny\",2", json!(["x\ny", "2"])),
        ("a,b\n\"x\r\ny\",2\r\n", json!(["x\r\ny", "2"])),
        ("a,b\r\n1,2\r\n", json!(["1", "2"])),
        ("a,b\r1,2\r", json!(["1", "2"])),
        ("\u{feff}a,b\n1,2", json!(["1", "2"])),
        ("\u{feff}\"a\",\"b\"\n007,1e5", json!(["007", "1e5"])),
        ("\n\na,b\n\n\n1,2\n\n", json!(["1", "2"])),
        (
            " a , b \nÅland Islands,日本",
            json!(["Åland Islands", "日本"]),
        ),
        ("a,b\n\\N,nul\0\n", json!(["\\N", "nul\0"])),
    ];
    for (text, row) in table {
        let seen = read(text, csv());
        assert_eq!(seen.columns, ["a", "b"], "{text:?}");
        assert_eq!(seen.values(), [row], "{text:?}");
        assert_eq!(seen.bad, [], "{text:?}");
    }
}

#[test]
fn an_escape_character_protects_quotes_and_itself_and_otherwise_is_a_character() {
    let table = [
        (r#""Xi\'AN","ST MARY\'S""#, json!(["Xi'AN", "ST MARY'S"])),
        (r#""\\'\\","x""#, json!([r"\'\", "x"])),
        (
            r#""say \"hi\"","say ""hi""""#,
            json!(["say \"hi\"", "say \"hi\""]),
        ),
        (r#""\N",\N"#, json!([r"\N", r"\N"])),
        (r#""C:\new",C:\new"#, json!([r"C:\new", r"C:\new"])),
        (r"x\,y,z", json!(["x,y", "z"])),
        ("x\\\ny,z", json!(["x\ny", "z"])),
        (r"x\\,z\", json!([r"x\", r"z\"])),
    ];
    for (text, row) in table {
        assert_eq!(
            read(text, Format::Csv(escaped())).values(),
            [row],
            "{text:?}"
        );
    }
    let doubled = Csv {
        escape: Some(b'"'),
        columns: Some(names(&["a", "b"])),
        ..comma()
    };
    assert_eq!(
        read("\"a\"\"b\",5\" x\n", Format::Csv(doubled)).values(),
        [json!(["a\"b", "5\" x"])]
    );
}

#[test]
fn rows_know_their_lines_whatever_ends_a_line() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "# note|a,b|1,\"x|y|z\"||# other|2,w|\"3|\",\"|\"|4".replace('|', end);
        let dialect = Csv {
            comment: Some(b'#'),
            ..comma()
        };
        let seen = read(&text, Format::Csv(dialect));
        assert_eq!(seen.lines(), [3, 8, 9], "{text:?}");
        assert_eq!(
            seen.bad,
            [(12, None, "the row has 1 field; 2 expected".to_owned())],
            "{text:?}"
        );
    }
}

#[test]
fn a_row_of_another_width_is_bad_and_the_others_are_read() {
    let seen = read("a,b\n1,2\n3\n4,5,6\n\"x\"y,7\n8,9\n", csv());
    assert_eq!(seen.values(), [json!(["1", "2"]), json!(["8", "9"])]);
    let stray = "text stands between a closing quote and the next delimiter; a quote inside quotes is doubled";
    let bad = [
        (3, "the row has 1 field; 2 expected"),
        (4, "the row has 3 fields; 2 expected"),
        (5, stray),
    ];
    assert_eq!(
        seen.bad,
        bad.map(|(line, reason)| (line, None, reason.to_owned()))
    );
}

#[test]
fn other_dialects_are_read() {
    let semicolon = Csv {
        delimiter: b';',
        quote: Some(b'\''),
        ..comma()
    };
    assert_eq!(
        read("a;b\n'x;y';\"z\"\n", Format::Csv(semicolon)).values(),
        [json!(["x;y", "\"z\""])]
    );
    let tsv = Csv {
        delimiter: b'\t',
        quote: None,
        ..comma()
    };
    assert_eq!(
        read("a\tb\n\"x\t\"y\"\n", Format::Csv(tsv)).values(),
        [json!(["\"x", "\"y\""])]
    );
    let control = Csv {
        delimiter: 1,
        quote: Some(2),
        ..comma()
    };
    assert_eq!(
        read("a\x01b\n\x02x\x01y\x02\x01z\n", Format::Csv(control)).values(),
        [json!(["x\x01y", "z"])]
    );
    let bare = Csv {
        columns: Some(names(&["n"])),
        ..comma()
    };
    assert_eq!(
        read("1\n\n2\n", Format::Csv(bare)).values(),
        [json!(["1"]), json!(["2"])]
    );
}

#[test]
fn a_header_that_does_not_fit_is_refused_with_what_it_has() {
    let table = [
        (
            "name;city\nx;y\n",
            "FILE:1: no column `city`; the columns are `name;city`; the delimiter may be `;`",
        ),
        (
            "name\tcity\nx\ty\n",
            "FILE:1: no column `city`; the columns are `name\\tcity`; the delimiter may be a tab (`\\t`)",
        ),
        (
            "name|city\n",
            "FILE:1: no column `city`; the columns are `name|city`; the delimiter may be `|`",
        ),
        (
            "name,town\nx,y\n",
            "FILE:1: no column `city`; the columns are `name`, `town`",
        ),
        (
            "Name,City\nx,y\n",
            "FILE:1: no column `city`; the columns are `Name`, `City`",
        ),
        (
            "",
            "FILE:1: the file is empty; a header with `city` was expected",
        ),
        (
            "\u{feff}\n\n",
            "FILE:3: the file is empty; a header with `city` was expected",
        ),
        (
            "a,city,a\n1,2,3\n",
            "FILE:1: the column `a` stands in the header twice: `a`, `city`, `a`",
        ),
    ];
    for (text, message) in table {
        assert_eq!(refused(text, needing(&["city"])), message, "{text:?}");
    }
    assert!(
        try_read(b"a\n", source("", needing(&["b"])))
            .expect_err("no column")
            .is_header()
    );
    assert_eq!(read("name,city\n", needing(&["city"])).rows, []);
}

#[test]
fn a_file_without_header_tells_a_wrong_delimiter_by_its_first_row() {
    let dialect = |columns: &[&str]| {
        Format::Csv(Csv {
            columns: Some(names(columns)),
            ..comma()
        })
    };
    assert_eq!(
        refused(
            "1;Goroka;GKA\n2;Madang;MAG\n",
            dialect(&["id", "name", "iata"])
        ),
        "FILE:1: the first row has 1 field `1;Goroka;GKA`; 3 expected; the delimiter may be `;`"
    );
    assert_eq!(read("", dialect(&["a", "b"])).rows, []);
}

#[test]
fn a_quote_that_never_closes_is_a_truncated_file() {
    let message = "FILE:5: truncated: quote opened at line 3, and never closed";
    assert_eq!(refused("a,b\n1,2\n3,\"x\n4,5\n6,7", csv()), message);
    assert_eq!(
        refused("a,\"b", csv()),
        "FILE:1: truncated: quote opened at line 1, and never closed"
    );
    assert_eq!(
        refused("\"1\",\"x\\\"", Format::Csv(escaped())),
        "FILE:1: truncated: quote opened at line 1, and never closed"
    );
    assert!(
        try_read(b"a\n\"", source("", csv()))
            .expect_err("an open quote")
            .is_truncated()
    );
}

#[test]
fn records_larger_than_a_block_are_read_and_those_beyond_the_bound_refused() {
    let large = "é\n".repeat(700_000);
    let seen = read(format!("a,b\n1,\"{large}\"\n2,x\n"), csv());
    assert_eq!(seen.values(), [json!(["1", large]), json!(["2", "x"])]);
    assert_eq!(seen.lines(), [2, 700_003]);
    let endless = format!(
        "a,b\n1,\"{}",
        "x".repeat(oneflight_merge::read::MAX_ROW + (1 << 20))
    );
    assert_eq!(
        refused_from(endless, source("", csv())),
        "FILE:2: a row that begins here (is a quote not closed?) is longer than 64 MiB"
    );
}

#[test]
fn a_dialect_that_contradicts_itself_is_refused() {
    let same = Csv {
        quote: Some(b','),
        ..comma()
    };
    assert_eq!(
        refused("a,b\n", Format::Csv(same)),
        "FILE: the delimiter must differ from the quote and the escape character"
    );
    let foreign = Csv {
        delimiter: 0xa7,
        ..comma()
    };
    assert!(refused("a\n", Format::Csv(foreign)).contains("must be ASCII characters"));
}
