//! The parser against the `csv` crate, on all short texts and on many long ones, in one piece and in growing ones.

use super::record::{Dialect, Found};
use crate::plan::Csv;
use crate::rows::Flat;

fn dialect() -> Dialect {
    Dialect::new(&Csv {
        delimiter: b',',
        quote: Some(b'"'),
        escape: None,
        comment: None,
        columns: None,
        needs: Vec::new(),
    })
}

/// Records by our parser; none if it refuses the text, which the `csv` crate never does.
fn ours(text: &str, growing: bool) -> Option<Vec<Vec<String>>> {
    let (dialect, mut records, mut at) = (dialect(), Vec::new(), 0);
    while at < text.len() {
        let mut seen = if growing { at + 1 } else { text.len() };
        let mut flat = Flat::default();
        let extent = loop {
            let ended = seen >= text.len();
            if !text.is_char_boundary(seen) {
                seen += 1;
                continue;
            }
            match dialect.record(&text[at..seen], ended, &mut flat) {
                Found::Record(extent) => {
                    flat.width = flat.spans.len();
                    records.push(
                        (0..flat.width)
                            .map(|cell| flat.cell(0, cell).unwrap_or_default().to_owned())
                            .collect(),
                    );
                    break extent;
                }
                Found::Nothing(extent) => break extent,
                Found::More => {
                    assert!(!ended, "more was asked for at the end of {text:?}");
                    assert!(
                        flat.text.is_empty() && flat.spans.is_empty(),
                        "V2: {text:?}"
                    );
                    seen += 1;
                }
                Found::Stray(_) | Found::Unclosed(_) => return None,
            }
        };
        at += extent.bytes;
    }
    Some(records)
}

fn theirs(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let records = reader.records().map(|record| record.expect("valid text"));
    records
        .map(|record| record.iter().map(str::to_owned).collect())
        .collect()
}

/// Returns whether the text was compared.
fn compare(text: &str) -> bool {
    let Some(records) = ours(text, false) else {
        return false;
    };
    assert_eq!(records, theirs(text), "{text:?}");
    assert_eq!(
        Some(records),
        ours(text, true),
        "in growing pieces: {text:?}"
    );
    true
}

#[test]
fn all_short_texts_are_read_as_the_csv_crate_reads_them() {
    const LETTERS: [&str; 7] = ["a", ",", "\"", "\n", "\r", "é", ";"];
    let mut compared = 0;
    for length in 0..=6 {
        for mut number in 0..LETTERS.len().pow(length) {
            let mut text = String::new();
            for _ in 0..length {
                text.push_str(LETTERS[number % LETTERS.len()]);
                number /= LETTERS.len();
            }
            compared += u32::from(compare(&text));
        }
    }
    assert!(compared > 80_000, "only {compared} texts were compared");
}

#[test]
fn long_texts_are_read_as_the_csv_crate_reads_them() {
    const PIECES: [&str; 10] = [
        "a",
        "bc",
        ",",
        ",",
        "\n",
        "\r\n",
        "\"x\"\"y\"",
        "\"p,q\nr\"",
        "日本",
        "\"\"",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut compared = 0;
    for _ in 0..3_000 {
        let mut text = String::new();
        let mut after_quote = false;
        for _ in 0..40 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let piece = PIECES[(state % 10) as usize];
            // A cell that follows a quote at once would be stray text, which is refused, so that little were compared.
            if after_quote && !matches!(piece, "," | "\n" | "\r\n") {
                text.push(',');
            }
            after_quote = piece.starts_with('"') || !matches!(piece, "," | "\n" | "\r\n");
            text.push_str(piece);
        }
        compared += u32::from(compare(&text));
    }
    assert!(compared > 2_900, "only {compared} texts were compared");
}
