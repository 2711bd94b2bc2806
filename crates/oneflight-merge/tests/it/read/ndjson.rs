//! NDJSON.

use super::{read, refused};
use oneflight_merge::plan::Format;
use serde_json::json;

#[test]
fn values_come_line_by_line_and_empty_lines_are_skipped() {
    let seen = read(
        "\u{feff}{\"a\":1}\r\n\n  \n[2]\n\"x\\ny\"\n 7 \nnull",
        Format::Ndjson,
    );
    assert_eq!(
        seen.values(),
        [
            json!({"a": 1}),
            json!([2]),
            json!("x\ny"),
            json!(7),
            json!(null)
        ]
    );
    assert_eq!(seen.lines(), [1, 4, 5, 6, 7]);
    assert_eq!(read("", Format::Ndjson).rows, []);
}

#[test]
fn numbers_keep_their_digits() {
    let digits = [
        "12345678901234567890123",
        "1.10",
        "1e400",
        "-0",
        "9007199254740993",
    ];
    for number in digits {
        let seen = read(format!("{{\"a\":{number}}}\n"), Format::Ndjson);
        let value = seen.rows[0].1["a"].to_string();
        assert_eq!(value.replace('+', ""), number);
    }
}

#[test]
fn a_line_that_is_no_json_is_bad_and_the_others_are_read() {
    let deep = "[".repeat(100_000);
    let text =
        format!("{{\"a\":1}}\n{{\"a\":}}\nhello\n{{\"a\":1}} x\n{{\"a\":\n{deep}\n{{\"a\":2}}\n");
    let seen = read(text, Format::Ndjson);
    assert_eq!(seen.values(), [json!({"a": 1}), json!({"a": 2})]);
    assert_eq!(seen.lines(), [1, 7]);
    let reasons = [
        (2, "not a JSON value: expected value at column 6"),
        (3, "not a JSON value: expected value at column 1"),
        (4, "not a JSON value: trailing characters at column 9"),
        (
            5,
            "not a JSON value: EOF while parsing a value at column 5; a document that spans lines is of the format json",
        ),
        (
            6,
            "not a JSON value: recursion limit exceeded at column 128",
        ),
    ];
    assert_eq!(
        seen.bad,
        reasons.map(|(line, reason)| (line, None, reason.to_owned()))
    );
}

#[test]
fn a_last_line_that_is_unfinished_is_a_truncated_file() {
    for end in ["{\"a\":", "{", "\"x", "[1,", "tru"] {
        let message = "FILE:2: truncated: the last line is unfinished, and has no end of line";
        assert_eq!(
            refused(format!("{{\"a\":1}}\n{end}"), Format::Ndjson),
            message,
            "{end}"
        );
    }
    assert_eq!(read("{\"a\":1}\n{\"a\":2}", Format::Ndjson).rows.len(), 2);
}

#[test]
fn lines_larger_than_a_block_are_read() {
    let large = "日本".repeat(300_000);
    let seen = read(format!("\"{large}\"\n1\n\"{large}\"\n"), Format::Ndjson);
    assert_eq!(seen.values(), [json!(large), json!(1), json!(large)]);
}
