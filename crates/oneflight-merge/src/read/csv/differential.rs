//! The parser against the `csv` crate, on all short texts and on many long ones, in one piece and in growing ones.

use super::record::{Dialect, Extent, Found};
use super::run::{Run, Runs};
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

/// Z1: from each record of the text on, the run of that many columns is what its records are one by one. Returns how many rows
/// came in runs.
fn runs(text: &str, width: usize) -> usize {
    let (dialect, mut runs, mut at, mut plain) = (dialect(), Runs::default(), 0, 0);
    while at < text.len() {
        let (mut flat, mut slow) = (Flat::new(width), Flat::new(width));
        let most = Run {
            rows: usize::MAX,
            bytes: usize::MAX,
        };
        let run = runs.run(&dialect, &text[at..], true, most, &mut flat);
        flat.end_lines(1, run.rows);
        let mut bytes = 0;
        for row in 0..run.rows {
            let found = dialect.record(&text[at + bytes..], true, &mut slow);
            let Found::Record(Extent { bytes: more, lines }) = found else {
                panic!("Z1: {found:?} for row {row} of {text:?}");
            };
            assert_eq!(lines, 1, "Z1: row {row} of {text:?}");
            slow.end_row(row as u64 + 1);
            bytes += more;
            for cell in 0..width {
                assert_eq!(flat.cell(row, cell), slow.cell(row, cell), "Z1: {text:?}");
            }
        }
        assert_eq!(
            (bytes, &flat.lines),
            (run.bytes, &slow.lines),
            "Z1: {text:?}"
        );
        plain += run.rows;
        at += run.bytes;
        runs.pass(run.bytes);
        if run.rows == 0 {
            let bytes = match dialect.record(&text[at..], true, &mut slow) {
                Found::Record(extent) | Found::Stray(extent) | Found::Nothing(extent) => {
                    extent.bytes
                }
                Found::More | Found::Unclosed(_) => return plain,
            };
            at += bytes;
            runs.pass(bytes);
        }
    }
    plain
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
    let (mut compared, mut plain) = (0, 0);
    for length in 0..=6 {
        for mut number in 0..LETTERS.len().pow(length) {
            let mut text = String::new();
            for _ in 0..length {
                text.push_str(LETTERS[number % LETTERS.len()]);
                number /= LETTERS.len();
            }
            compared += u32::from(compare(&text));
            plain += runs(&text, 1) + runs(&text, 2) + runs(&text, 3);
        }
    }
    assert!(compared > 80_000, "only {compared} texts were compared");
    assert!(plain > 80_000, "only {plain} rows came in runs");
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
    let (mut compared, mut plain) = (0, 0);
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
        plain += (1..5).map(|width| runs(&text, width)).sum::<usize>();
    }
    assert!(compared > 2_900, "only {compared} texts were compared");
    assert!(plain > 3_000, "only {plain} rows came in runs");
}

#[test]
fn runs_go_on_from_slice_to_slice() {
    for (row, width) in [
        ("ab,c\n", 2),
        ("ab,c\r\n", 2),
        ("\"a,b\",c\r\n", 2),
        ("a\r", 1),
    ] {
        for shift in 0..16 {
            let first = format!("{}{}\n", "x".repeat(shift), ",".repeat(width - 1));
            let text = first + &row.repeat(40_000 / row.len());
            // The first row of one cell is an empty line if nothing stands in it.
            let rows = 40_000 / row.len() + usize::from(shift > 0 || width > 1);
            assert_eq!(runs(&text, width), rows, "{row:?} after {shift}");
        }
    }
}
