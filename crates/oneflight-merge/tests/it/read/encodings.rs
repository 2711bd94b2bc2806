//! Encodings: UTF-8 unless the mapping names another, and never a replacement character.

use super::{comma, json_at, read, refused, refused_from, source, try_read};
use oneflight_merge::plan::{Format, Source};
use serde_json::json;

fn encoded(label: &str) -> Source {
    Source {
        encoding: Some(label.to_owned()),
        ..source("", Format::Csv(comma()))
    }
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16()
        .flat_map(|unit| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        })
        .collect()
}

#[test]
fn bytes_that_are_not_utf_8_are_told_with_line_offset_and_bytes() {
    assert_eq!(
        refused(b"name\nAbc\nS\xe3o Paulo\n", Format::Csv(comma())),
        "FILE:3: not UTF-8: 0xE3 at byte 10; if the file is in another encoding, name it, such as encoding = \"windows-1252\""
    );
    assert!(
        refused(b"a\n1\n\xc3", Format::Csv(comma()))
            .starts_with("FILE:3: not UTF-8: 0xC3 at byte 4;")
    );
    assert!(
        refused(b"a\r1\r\xff\r", Format::Csv(comma()))
            .starts_with("FILE:3: not UTF-8: 0xFF at byte 4;")
    );
    assert!(
        refused(b"a\n\xed\xa0\x80\n", Format::Csv(comma())).starts_with("FILE:2: not UTF-8"),
        "a surrogate"
    );
    assert!(
        refused(b"{\"a\":\"\xe9\"}\n", Format::Ndjson)
            .starts_with("FILE:1: not UTF-8: 0xE9 at byte 6;")
    );
    assert!(
        refused(b"[\n{\"a\":\"\xe9\"}]", json_at(&["*"]))
            .starts_with("FILE:2: not UTF-8: 0xE9 at byte 8;")
    );
    let late = [b"a\n".repeat(300_000).as_slice(), b"\xe9\n"].concat();
    assert!(
        refused(late, Format::Csv(comma()))
            .starts_with("FILE:300001: not UTF-8: 0xE9 at byte 600000;")
    );
    assert!(
        try_read(b"\xff", source("", Format::Ndjson))
            .expect_err("no UTF-8")
            .is_encoding()
    );
}

#[test]
fn characters_that_a_block_cuts_in_two_are_whole() {
    for shift in 0..4 {
        let text = format!("{}\n{}\n", "a".repeat(shift + 1), "𝕊é日".repeat(100_000));
        let seen = read(&text, Format::Csv(comma()));
        assert_eq!(seen.values(), [json!(["𝕊é日".repeat(100_000)])]);
        let wide = [&[0xff, 0xfe], utf16(&text, false).as_slice()].concat();
        assert_eq!(
            try_read(&wide, encoded("utf-16")).expect("fine").values(),
            seen.values()
        );
    }
}

#[test]
fn an_encoding_that_is_named_is_decoded() {
    let table: [(&str, Vec<u8>); 7] = [
        ("windows-1252", b"a,b\nS\xe3o,\x80\n".to_vec()),
        ("latin1", b"a,b\nS\xe3o,\x80\n".to_vec()),
        ("utf-8", "a,b\nSão,€\n".into()),
        ("utf-8", "\u{feff}a,b\nSão,€\n".into()),
        ("utf-16le", utf16("a,b\nSão,€\n", false)),
        ("UTF-16", utf16("\u{feff}a,b\nSão,€\n", true)),
        ("utf-16be", utf16("\u{feff}a,b\nSão,€\n", true)),
    ];
    for (label, bytes) in table {
        let seen = try_read(&bytes, encoded(label)).expect(label);
        assert_eq!(
            (seen.columns.as_slice(), seen.values()),
            (
                ["a".into(), "b".into()].as_slice(),
                vec![json!(["São", "€"])]
            ),
            "{label}"
        );
    }
    let shift_jis = try_read(b"a\n\x93\xfa\x96\x7b\n", encoded("shift_jis")).expect("fine");
    assert_eq!(shift_jis.values(), [json!(["日本"])]);
}

#[test]
fn a_mark_that_contradicts_and_bytes_that_do_not_belong_are_refused() {
    let wide = utf16("\u{feff}a,b\n1,2\n", false);
    assert_eq!(
        refused(&wide, Format::Csv(comma())),
        "FILE: the file is UTF-16LE by its byte order mark; name it: encoding = \"UTF-16LE\""
    );
    assert_eq!(
        refused(&wide[2..], Format::Csv(comma())),
        "FILE: the file looks like UTF-16LE; name it: encoding = \"UTF-16LE\""
    );
    let marked = "\u{feff}a,b\n1,2\n";
    assert_eq!(
        refused_from(marked, encoded("windows-1252")),
        "FILE: the file is UTF-8 by its byte order mark, not windows-1252"
    );
    assert!(
        refused_from("a\n", encoded("klingon"))
            .starts_with("FILE: the encoding `klingon` is unknown")
    );
    assert_eq!(
        refused_from(b"a\n\x93\xff\n", encoded("shift_jis")),
        "FILE:2: not Shift_JIS: 0x93 0xFF at byte 2"
    );
    assert!(
        refused_from(b"a\0\n\0\x41", encoded("utf-16le")).contains("not UTF-16LE"),
        "half a unit at the end"
    );
}
