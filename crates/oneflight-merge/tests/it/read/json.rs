//! JSON documents.

use super::{ONE_BY_ONE, json_at, read, refused, source, try_read};
use oneflight_merge::read as reading;
use oneflight_merge::rows::Rows;
use serde_json::{Value, json};

#[test]
fn a_path_leads_to_rows() {
    let table = [
        ("[1,2]", vec!["*"], json!([1, 2])),
        ("[]", vec!["*"], json!([])),
        (" [ ] ", vec!["*"], json!([])),
        ("{\"a\":1}", vec!["*"], json!([{"a": 1}])),
        ("{\"a\":1}", vec![], json!([{"a": 1}])),
        ("null", vec!["*"], json!([])),
        ("{\"m\":[1,2],\"n\":[3]}", vec!["n", "*"], json!([3])),
        ("{\"m\":null}", vec!["m", "*"], json!([])),
        ("{\"m\":{\"x\":1}}", vec!["m"], json!([{"x": 1}])),
        ("{\"m\":{\"x\":[1]}}", vec!["m", "x", "*"], json!([1])),
        ("[[1,2],[],[3]]", vec!["*", "*"], json!([1, 2, 3])),
        (
            "[{\"l\":[1]},{\"l\":[]},{},null,{\"l\":[2,3]}]",
            vec!["*", "l", "*"],
            json!([1, 2, 3]),
        ),
        (
            "{\"\\u006d\":[\"]\\\"}\"]}",
            vec!["m", "*"],
            json!(["]\"}"]),
        ),
        ("{\"a b.c\":[{}]}", vec!["a b.c", "*"], json!([{}])),
        (
            "\u{feff}[true,false,-1.50e3]\n",
            vec!["*"],
            serde_json::from_str("[true,false,-1.50e3]").expect("JSON"),
        ),
    ];
    for (text, path, rows) in table {
        assert_eq!(
            Value::Array(read(text, json_at(&path)).values()),
            rows,
            "{text}"
        );
    }
}

#[test]
fn what_encloses_rows_is_known_also_where_it_stands_behind_them() {
    let text = r#"{
      "name": "league",
      "rounds": [
        {"n": 1, "matches": [{"a": 1}, {"a": 2}], "after": [1, {"x": "}"}]},
        {"matches": [{"a": 3}], "n": 2},
        {"n": 3, "matches": []},
        {"n": 4, "matches": [{"a": 4}]}
      ],
      "season": "2010/11"
    }"#;
    let seen = read(text, json_at(&["rounds", "*", "matches", "*"]));
    let league = json!({"name": "league", "season": "2010/11"});
    let rounds = [
        json!({"n": 1, "after": [1, {"x": "}"}]}),
        json!({"n": 2}),
        json!({"n": 4}),
    ];
    assert_eq!(seen.values(), [1, 2, 3, 4].map(|a| json!({"a": a})));
    assert_eq!(seen.lines(), [4, 4, 5, 7]);
    assert_eq!(
        seen.scopes,
        [0, 0, 1, 2].map(|at| vec![rounds[at as usize].clone(), league.clone()])
    );
    let alone = read("[{\"a\":1}]", json_at(&["*"]));
    assert_eq!(alone.scopes, [Vec::<Value>::new()]);
    assert_eq!(
        read(
            "{\"m\":[{}],\"id\":12345678901234567890123}",
            json_at(&["m", "*"])
        )
        .scopes[0][0]["id"]
            .to_string(),
        "12345678901234567890123"
    );
}

#[test]
fn a_large_document_is_read_with_every_scope_and_line() {
    let mut text = String::from("{\"teams\":[\n");
    for team in 0..20_000 {
        let comma = if team == 0 { "" } else { "," };
        text.push_str(&format!("{comma}{{\"early\":{team},\"players\":[\n{{\"p\":{team}}},\n{{\"p\":\"é\"}}],\"late\":\"{}\"}}\n", "z".repeat(team % 90)));
    }
    text.push_str("],\"end\":true}");
    let seen = read(&text, json_at(&["teams", "*", "players", "*"]));
    assert_eq!(seen.rows.len(), 40_000);
    for (at, (line, row)) in seen.rows.iter().enumerate() {
        let team = at / 2;
        assert_eq!(*line as usize, 3 + team * 3 + at % 2);
        assert_eq!(
            *row,
            if at % 2 == 0 {
                json!({"p": team})
            } else {
                json!({"p": "é"})
            }
        );
        assert_eq!(
            seen.scopes[at],
            [
                json!({"early": team, "late": "z".repeat(team % 90)}),
                json!({"end": true})
            ]
        );
    }
}

#[test]
fn a_member_that_is_too_large_to_keep_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let large = "x".repeat(reading::MAX_SCOPE_MEMBER);
    for text in [
        format!("{{\"big\":[\"{large}\"],\"k\":1,\"m\":[1]}}"),
        format!("{{\"k\":1,\"m\":[1],\"big\":[\"{large}\"]}}"),
    ] {
        std::fs::write(folder.path().join("f.json"), text).expect("a temporary file");
        let input = reading::open(&source("f.json", json_at(&["m", "*"])), folder.path())
            .expect("fine")
            .remove(0);
        let chunk = input
            .chunks(ONE_BY_ONE)
            .next()
            .expect("a chunk")
            .expect("a good chunk");
        let Rows::Tree(trees) = chunk.rows else {
            panic!("trees were expected")
        };
        let scope = trees[0].parent.as_ref().expect("a scope");
        assert_eq!(
            (&scope.value, scope.omitted.as_slice()),
            (&json!({"k": 1}), ["big".to_owned()].as_slice())
        );
    }
}

#[test]
fn a_path_that_leads_nowhere_is_told_with_what_stands_there() {
    let table = [
        (
            "{\"games\":[1],\"name\":\"x\"}",
            "FILE:1: the path `matches[*]` leads nowhere in the document: no member `matches`; the members there are `games`, `name`",
        ),
        (
            "{}",
            "FILE:1: the path `matches[*]` leads nowhere in the document: no member `matches`; the members there are none",
        ),
        (
            "\n[{\"matches\":[1]}]",
            "FILE:2: the path `matches[*]` leads nowhere in the document: an object with the member `matches` was expected, and an array stands there; `[*]` leads into its elements",
        ),
        (
            "\"text\"",
            "FILE:1: the path `matches[*]` leads nowhere in the document: an object with the member `matches` was expected, and a text stands there",
        ),
    ];
    for (text, message) in table {
        assert_eq!(refused(text, json_at(&["matches", "*"])), message);
    }
    assert_eq!(
        refused(
            "{\"rounds\":[{\"games\":[1]},\n{\"x\":1}]}",
            json_at(&["rounds", "*", "matches", "*"])
        ),
        "FILE:2: the path `rounds[*].matches[*]` leads nowhere in `rounds[*]`: no member `matches`; the members there are `games`"
    );
    assert!(
        try_read(b"{}", source("", json_at(&["m"])))
            .expect_err("nowhere")
            .is_header()
    );
    assert_eq!(
        read("{\"rounds\":[]}", json_at(&["rounds", "*", "matches", "*"])).rows,
        []
    );
}

#[test]
fn a_document_that_ends_too_early_is_truncated_with_its_line() {
    let whole =
        "{\"name\":\"x\",\n\"rounds\":[{\"m\":[{\"a\":\"y\"},\n{\"a\":true}]}],\"z\":{\"k\":[1]}}";
    for end in 0..whole.len() {
        let error = try_read(
            &whole.as_bytes()[..end],
            source("", json_at(&["rounds", "*", "m", "*"])),
        )
        .expect_err("truncated");
        assert!(error.is_truncated(), "{end}: {error}");
        assert!(
            error.to_string().contains("truncated") || end == 0,
            "{end}: {error}"
        );
        assert_eq!(
            error.line(),
            Some(1 + whole[..end].matches('\n').count() as u64),
            "{end}: {error}"
        );
    }
    assert_eq!(
        refused("[{\"a\":1},\n{\"a\":[\n2", json_at(&["*"])),
        "FILE:3: truncated: the document ends inside an object that begins at line 2"
    );
    assert_eq!(
        refused("", json_at(&["*"])),
        "FILE:1: the file is empty; a JSON document was expected"
    );
}

#[test]
fn what_is_no_json_document_is_refused_with_its_line() {
    let table = [
        (
            "[1,2] x",
            "FILE:1: something stands after the end of the document",
        ),
        (
            "{\"a\":1}\n{\"a\":2}",
            "FILE:2: something stands after the end of the document; a file of one value a line is of the format ndjson",
        ),
        ("[1,]", "FILE:1: not JSON: `]` where a value was expected"),
        (
            "[1 2]",
            "FILE:1: not JSON: `2` where `,` or `]` was expected",
        ),
        (
            "[{\"a\":[1}]",
            "FILE:1: not JSON: `}` where another closing bracket was expected",
        ),
        (
            "[\n'x']",
            "FILE:2: not JSON: `'` where a value was expected",
        ),
        ("<html>", "FILE:1: not JSON: `<` where a value was expected"),
    ];
    for (text, message) in table {
        assert_eq!(refused(text, json_at(&["*"])), message, "{text}");
    }
    let table = [
        (
            "{\"m\":[1],}",
            "FILE:1: not JSON: `}` where a key in quotes was expected",
        ),
        (
            "{m:[1]}",
            "FILE:1: not JSON: `m` where a key in quotes was expected",
        ),
        (
            "{\"m\" [1]}",
            "FILE:1: not JSON: `[` where `:` after the key was expected",
        ),
        (
            "{\"m\":[1],\"m\":[2]}",
            "FILE:1: the member `m` stands in the object twice",
        ),
        (
            "{\"k\":[1,\nnul],\"m\":[1]}",
            "FILE:2: not JSON: expected ident in the member `k`",
        ),
    ];
    for (text, message) in table {
        assert_eq!(refused(text, json_at(&["m", "*"])), message, "{text}");
    }
}

#[test]
fn a_row_that_is_no_json_inside_its_brackets_is_bad_and_the_others_are_read() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let seen = read(
        format!("[{{\"a\":1}},\n{{\"a\":\n nul}},\n{{a:1}},{deep},\n1x,{{\"a\":2}}]"),
        json_at(&["*"]),
    );
    assert_eq!(seen.values(), [json!({"a": 1}), json!({"a": 2})]);
    let reasons = [
        (2, "not JSON: expected ident at line 3, column 5"),
        (4, "not JSON: key must be a string at line 4, column 2"),
        (
            4,
            "not JSON: recursion limit exceeded at line 4, column 128",
        ),
        (5, "not JSON: trailing characters at line 5, column 2"),
    ];
    assert_eq!(
        seen.bad,
        reasons.map(|(line, reason)| (line, None, reason.to_owned()))
    );
}

#[test]
fn a_document_of_many_brackets_takes_no_more_memory_than_its_bound() {
    let text = "[".repeat(3 << 20);
    assert!(refused(text, json_at(&["*"])).contains("truncated"));
}
