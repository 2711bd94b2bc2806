//! gzip and zstd.

use super::{comma, json_at, read, refused, refused_from, source, try_read};
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use oneflight_merge::plan::{Compression, Format, Source};
use serde_json::json;
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("gzip")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("zstd")
}

#[test]
fn compression_is_told_by_the_first_bytes_and_may_come_in_several_pieces() {
    for pack in [gzip, zstd] {
        let pieces = [pack(b"a,b\n1,"), pack(b"2\n"), pack(b""), pack(b"3,4\n")].concat();
        assert_eq!(
            read(pieces, Format::Csv(comma())).values(),
            [json!(["1", "2"]), json!(["3", "4"])]
        );
        assert_eq!(
            read(pack(b"{\"a\":1}\n"), Format::Ndjson).values(),
            [json!({"a": 1})]
        );
        let seen = read(pack(b"{\"m\":[1,2],\"n\":3}"), json_at(&["m", "*"]));
        assert_eq!(
            (seen.values(), seen.scopes[1][0].clone()),
            (vec![json!(1), json!(2)], json!({"n": 3}))
        );
    }
}

#[test]
fn a_compressed_file_that_stops_early_is_truncated_wherever_it_stops() {
    let mut text = String::from("a,b\n");
    for row in 0_u64..5_000 {
        text.push_str(&format!(
            "{},{}\n",
            row.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            row
        ));
    }
    for (name, whole) in [
        ("gzip", gzip(text.as_bytes())),
        ("zstd", zstd(text.as_bytes())),
    ] {
        assert_eq!(read(&whole, Format::Csv(comma())).rows.len(), 5_000);
        for cut in [1, 4, 9, whole.len() / 2, whole.len() - 12] {
            let error = try_read(
                &whole[..whole.len() - cut],
                source("", Format::Csv(comma())),
            )
            .expect_err("truncated");
            assert!(error.is_truncated(), "{name} without {cut} bytes: {error}");
            assert!(
                error.to_string().ends_with(&format!(
                    "truncated: the {name} stream stops before its end"
                )),
                "{error}"
            );
        }
    }
}

#[test]
fn junk_after_a_gzip_stream_is_no_truncated_file() {
    let whole = gzip(b"a,b\n1,2\n");
    for junk in [
        &b"x"[..],
        b"\0\0\0\0",
        b"\x1fx",
        b"a,b\n3,4\nand more of it\n",
    ] {
        for pieces in [1, 3] {
            let mut bytes = whole.repeat(pieces);
            bytes.extend_from_slice(junk);
            let error = try_read(&bytes, source("", Format::Csv(comma()))).expect_err("junk");
            assert!(!error.is_truncated(), "{junk:?}: {error}");
            let message = error.to_string();
            assert!(
                message.contains("junk after the end of the gzip stream"),
                "{junk:?}: {message}"
            );
        }
    }
    // The begin of another member is one that was cut off.
    for cut in [&b"\x1f"[..], b"\x1f\x8b", b"\x1f\x8b\x08"] {
        let error = try_read(
            &[&whole[..], cut].concat(),
            source("", Format::Csv(comma())),
        );
        assert!(error.expect_err("truncated").is_truncated(), "{cut:?}");
    }
}

#[test]
fn damaged_data_is_refused() {
    let text = b"a,b\n1,2\n".repeat(999);
    let mut checked = zstd::Encoder::new(Vec::new(), 1).expect("zstd");
    checked.include_checksum(true).expect("zstd");
    let checked = checked
        .write_all(&text)
        .and_then(|()| checked.finish())
        .expect("zstd");
    for (name, mut whole) in [("gzip", gzip(&text)), ("zstd", checked)] {
        let middle = whole.len() / 2;
        whole[middle] ^= 0x55;
        let message = refused(&whole, Format::Csv(comma()));
        assert!(
            message.contains(&format!("damaged {name} data")) || message.contains("truncated"),
            "{message}"
        );
    }
}

#[test]
fn a_compression_that_is_named_is_used_and_an_unknown_one_is_told() {
    let named = |compression| Source {
        compression: Some(compression),
        ..source("", Format::Csv(comma()))
    };
    assert_eq!(
        try_read(&gzip(b"a\n1\n"), named(Compression::Gzip))
            .expect("fine")
            .values(),
        [json!(["1"])]
    );
    assert_eq!(
        try_read(b"a\n1\n", named(Compression::None))
            .expect("fine")
            .values(),
        [json!(["1"])]
    );
    assert!(
        refused_from(b"a\n1\n2\n3\n4\n5\n6\n7\n", named(Compression::Gzip))
            .contains("damaged gzip data")
    );
    assert!(refused_from(gzip(b"a\n1\n"), named(Compression::None)).contains("not UTF-8"));
    let zip = "FILE: the file is a zip archive; plain, gzip and zstd files can be read";
    assert_eq!(refused(b"PK\x03\x04rest of it", Format::Csv(comma())), zip);
}
