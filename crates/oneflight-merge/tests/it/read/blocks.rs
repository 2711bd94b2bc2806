//! Blocks: a file is read in blocks of 256 KiB, and each of its bytes may be the last one of a block.

use super::{Seen, all, comma, json_at, source};
use oneflight_merge::plan::{Csv, Format};
use oneflight_merge::read::{self, Limits};
use serde_json::{Value, json};

const BLOCK: usize = 1 << 18;

/// Reads `text` behind so much padding that the first block ends after each of its bytes in turn.
fn cut_everywhere(text: &str, padding: u8, format: &Format, expect: impl Fn(&Seen, u64)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for cut in 1..=text.len() {
        let before = BLOCK - cut;
        let bytes = [vec![padding; before].as_slice(), text.as_bytes()].concat();
        std::fs::write(folder.path().join("file"), bytes).expect("a temporary file");
        let inputs =
            read::open(&source("file", format.clone()), folder.path()).expect("the file is fine");
        let seen = all(inputs, Limits::default()).expect("the file is fine");
        expect(&seen, if padding == b'\n' { before as u64 } else { 0 });
    }
}

#[test]
fn a_block_of_delimited_text_may_end_anywhere() {
    let text = "a,b\r\n\"x\"\"y\",é\r\n# note\r\n\"p\r\nq\\\"\",\\\\日\r\n,\"\"\r\n\r\nbad\r\n1,2";
    let format = Format::Csv(Csv {
        escape: Some(b'\\'),
        comment: Some(b'#'),
        ..comma()
    });
    cut_everywhere(text, b'\n', &format, |seen, lines| {
        assert_eq!(
            seen.values(),
            [
                json!(["x\"y", "é"]),
                json!(["p\r\nq\"", "\\日"]),
                json!(["", ""]),
                json!(["1", "2"])
            ]
        );
        assert_eq!(seen.lines(), [2, 4, 6, 9].map(|line| line + lines));
        assert_eq!(seen.bad[0].0, lines + 8);
    });
}

#[test]
fn a_block_of_ndjson_may_end_anywhere() {
    let text = "{\"a\":\"é\\\"\"}\r\n\r\n[1, 2]\nnull\n{\"a\": 日}\n1.50\n";
    cut_everywhere(text, b'\n', &Format::Ndjson, |seen, lines| {
        let number: Value = serde_json::from_str("1.50").expect("JSON");
        assert_eq!(
            seen.values(),
            [json!({"a": "é\""}), json!([1, 2]), Value::Null, number]
        );
        assert_eq!(seen.lines(), [1, 3, 4, 6].map(|line| line + lines));
        assert_eq!(seen.bad[0].0, lines + 5);
    });
}

#[test]
fn a_block_of_a_json_document_may_end_anywhere() {
    let text = "{\"n\\u0061me\" : \"é\\\\\\\"]\",\n\"list\":[{\"rows\":[{\"a\":[\"}\\\"\"]}, -1.50 ,\ntrue],\"k\":{\"日\":[null]}},null,{\"rows\":[\"]\"]}],\n\"z\":[[]]}\n ";
    for padding in [b'\n', b' '] {
        cut_everywhere(
            text,
            padding,
            &json_at(&["list", "*", "rows", "*"]),
            |seen, lines| {
                let number: Value = serde_json::from_str("-1.50").expect("JSON");
                assert_eq!(
                    seen.values(),
                    [json!({"a": ["}\""]}), number, json!(true), json!("]")]
                );
                assert_eq!(seen.lines(), [2, 2, 3, 3].map(|line| line + lines));
                let outer = json!({"name": "é\\\"]", "z": [[]]});
                assert_eq!(
                    seen.scopes[0],
                    [json!({"k": {"日": [null]}}), outer.clone()]
                );
                assert_eq!(seen.scopes[3], [json!({}), outer]);
            },
        );
    }
}
