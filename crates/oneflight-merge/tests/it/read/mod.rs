//! Reading: tables of small hostile files, each read from a file and from standard input, in one chunk and row by row.

mod blocks;
mod compressed;
mod csv;
mod encodings;
mod json;
mod ndjson;
mod parquet;
mod paths;
mod real;
mod walks;

use oneflight_merge::plan::{Csv, Format, Source, Step};
use oneflight_merge::read::{self, Limits, ReadError};
use oneflight_merge::rows::{Bad, Chunk, Rows, Scope};
use serde_json::Value;
use std::io::Cursor;
use std::path::Path;

fn source(path: &str, format: Format) -> Source {
    Source {
        path: path.to_owned(),
        format,
        encoding: None,
        compression: None,
        at: "map.toml:1".to_owned(),
    }
}

fn comma() -> Csv {
    Csv {
        delimiter: b',',
        quote: Some(b'"'),
        escape: None,
        comment: None,
        columns: None,
        needs: Vec::new(),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn json_at(path: &[&str]) -> Format {
    let step = |part: &&str| {
        if *part == "*" {
            Step::Each
        } else {
            Step::Member((*part).to_owned())
        }
    };
    Format::Json {
        rows: path.iter().map(step).collect(),
    }
}

/// What was read, in a form that is easy to compare.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    columns: Vec<String>,
    /// Line, and the row as JSON: an array of cells, or the tree.
    rows: Vec<(u64, Value)>,
    /// What encloses each row, innermost first.
    scopes: Vec<Vec<Value>>,
    /// Line, column, reason.
    bad: Vec<(u64, Option<String>, String)>,
}

impl Seen {
    fn values(&self) -> Vec<Value> {
        self.rows.iter().map(|(_, value)| value.clone()).collect()
    }

    fn lines(&self) -> Vec<u64> {
        self.rows.iter().map(|(line, _)| *line).collect()
    }

    fn add(&mut self, chunk: Chunk) {
        match chunk.rows {
            Rows::Flat(flat) => {
                for row in 0..flat.len() {
                    let cells = (0..flat.width)
                        .map(|at| flat.cell(row, at).map_or(Value::Null, Value::from))
                        .collect();
                    self.rows.push((flat.lines[row], cells));
                }
            }
            Rows::Tree(trees) => {
                for tree in trees {
                    let mut around = Vec::new();
                    let mut scope: Option<&Scope> = tree.parent.as_deref();
                    while let Some(inner) = scope {
                        around.push(inner.value.clone());
                        scope = inner.parent.as_deref();
                    }
                    self.rows.push((tree.line, tree.value));
                    self.scopes.push(around);
                }
            }
        }
        self.bad.extend(chunk.bad.into_iter().map(
            |Bad {
                 line,
                 column,
                 reason,
                 ..
             }| (line, column, reason),
        ));
    }
}

const ONE_BY_ONE: Limits = Limits { rows: 1, bytes: 1 };

fn all(inputs: Vec<read::Input>, limits: Limits) -> Result<Seen, ReadError> {
    let mut seen = Seen::default();
    for input in inputs {
        seen.columns = input.file.columns.clone();
        for chunk in input.chunks(limits) {
            let chunk = chunk?;
            let rows = match &chunk.rows {
                Rows::Flat(flat) => flat.len(),
                Rows::Tree(trees) => trees.len(),
            };
            assert!(
                rows + chunk.bad.len() <= limits.rows,
                "a chunk has more rows than its limit"
            );
            assert!(rows + chunk.bad.len() > 0, "a chunk is empty");
            seen.add(chunk);
        }
    }
    Ok(seen)
}

/// Reads these bytes in every way that there is, which must all see the same.
fn try_read(bytes: &[u8], mut source: Source) -> Result<Seen, ReadError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    source.path = "file.data".to_owned();
    std::fs::write(folder.path().join("file.data"), bytes).expect("a temporary file");
    let from_file =
        |limits| read::open(&source, folder.path()).and_then(|inputs| all(inputs, limits));
    let whole = from_file(Limits::default());
    let single = from_file(ONE_BY_ONE);
    let stdin = Source {
        path: "-".to_owned(),
        ..source.clone()
    };
    let piped = read::open_with_stdin(
        &stdin,
        Path::new("nowhere"),
        Box::new(Cursor::new(bytes.to_vec())),
    );
    let piped = piped.and_then(|inputs| all(inputs, Limits::default()));
    match (&whole, &single, &piped) {
        (Ok(whole), Ok(single), Ok(piped)) => {
            assert_eq!(whole, single, "row by row");
            assert_eq!(whole, piped, "from standard input");
        }
        (Err(whole), Err(single), Err(piped)) => {
            let text = |error: &ReadError| error.to_string().replacen(error.file(), "FILE", 1);
            assert_eq!(
                (text(whole), whole.line()),
                (text(single), single.line()),
                "row by row"
            );
            assert_eq!(text(whole), text(piped), "from standard input");
            assert_eq!(piped.file(), "<stdin>");
        }
        other => panic!("the ways of reading disagree: {other:?}"),
    }
    whole
}

#[track_caller]
fn read(bytes: impl AsRef<[u8]>, format: Format) -> Seen {
    try_read(bytes.as_ref(), source("", format)).expect("the file is fine")
}

/// The message without the name of the file.
#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, format: Format) -> String {
    refused_from(bytes, source("", format))
}

#[track_caller]
fn refused_from(bytes: impl AsRef<[u8]>, source: Source) -> String {
    let error = try_read(bytes.as_ref(), source).expect_err("the file is not fine");
    let text = error.to_string();
    assert!(!text.contains('\n'), "an error is one line: {text}");
    text.replacen(error.file(), "FILE", 1)
}

#[test]
fn chunks_end_at_the_row_that_reaches_a_limit_and_tell_how_far_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = String::from("a,b\n");
    for row in 0..10_000 {
        text.push_str(&format!("{row},{}\n", "x".repeat(90)));
    }
    std::fs::write(folder.path().join("file.csv"), &text).expect("a temporary file");
    let source = source("file.csv", Format::Csv(comma()));
    let sizes = |limits| -> (Vec<usize>, u64) {
        let input = read::open(&source, folder.path())
            .expect("the file is fine")
            .remove(0);
        assert_eq!(input.file.bytes, Some(text.len() as u64));
        let chunks: Vec<Chunk> = input
            .chunks(limits)
            .collect::<Result<_, _>>()
            .expect("the file is fine");
        let rows = |chunk: &Chunk| match &chunk.rows {
            Rows::Flat(flat) => flat.len(),
            Rows::Tree(_) => unreachable!("a CSV file is flat"),
        };
        assert!(chunks.is_sorted_by_key(|chunk| chunk.bytes_read));
        (
            chunks.iter().map(rows).collect(),
            chunks[chunks.len() - 1].bytes_read,
        )
    };
    assert_eq!(
        sizes(Limits {
            rows: 4_000,
            bytes: 1 << 30
        }),
        (vec![4_000, 4_000, 2_000], text.len() as u64)
    );
    let (by_bytes, _) = sizes(Limits {
        rows: usize::MAX,
        bytes: 100_000,
    });
    assert_eq!(by_bytes.len(), 10);
    assert_eq!(by_bytes.iter().sum::<usize>(), 10_000);
}

#[test]
fn there_are_no_chunks_after_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("f.ndjson"), "{\"a\":1}\n{\"a\":").expect("a temporary file");
    let input = read::open(&source("f.ndjson", Format::Ndjson), folder.path())
        .expect("the file is fine")
        .remove(0);
    let mut chunks = input.chunks(ONE_BY_ONE);
    assert!(matches!(chunks.next(), Some(Ok(_))));
    assert!(matches!(chunks.next(), Some(Err(error)) if error.is_truncated()));
    assert!(chunks.next().is_none());
    assert!(chunks.next().is_none());
}

#[test]
fn a_reader_can_be_sent_to_another_thread() {
    fn sent<T: Send + 'static>() {}
    sent::<read::Input>();
    sent::<read::Chunks>();
    sent::<Chunk>();
    sent::<ReadError>();
}
