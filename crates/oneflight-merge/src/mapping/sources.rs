//! Where and how to read: what a feed and a lookup have in common.

use super::error::Problems;
use super::section::{Entry, Section, Text};
use crate::plan::{Compression, Csv, Format, Source, Step};

/// The keys of a source, to be listed with those of what it is part of.
pub(crate) const SOURCE_KEYS: [&str; 11] = [
    "path",
    "format",
    "header",
    "columns",
    "delimiter",
    "quote",
    "escape",
    "comment",
    "encoding",
    "compression",
    "rows",
];
const FORMATS: [&str; 5] = ["csv", "tsv", "ndjson", "json", "parquet"];
/// Keys that only delimited text knows.
const CSV_KEYS: [&str; 6] = [
    "header",
    "columns",
    "delimiter",
    "quote",
    "escape",
    "comment",
];

/// A source, and what is known of its rows.
#[derive(Debug)]
pub(crate) struct SourceDraft {
    pub(crate) source: Source,
    /// The placeholders of its path.
    pub(crate) captures: Vec<String>,
}

impl SourceDraft {
    /// True if its rows are flat for sure.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.source.format, Format::Csv(_))
    }

    /// The names of its columns, where the mapping gives them.
    pub(crate) fn columns(&self) -> Option<&[String]> {
        match &self.source.format {
            Format::Csv(csv) => csv.columns.as_deref(),
            _ => None,
        }
    }

    /// The source, with the columns that must be there.
    pub(crate) fn into_source(mut self, needed: Vec<String>) -> Source {
        match &mut self.source.format {
            Format::Csv(csv) => csv.needs = needed,
            Format::Parquet { needs } => *needs = needed,
            Format::Ndjson | Format::Json { .. } => {}
        }
        self.source
    }
}

/// Reads the keys of a source.
pub(crate) fn source(section: Section<'_>) -> Option<SourceDraft> {
    let problems = section.problems;
    let Some(path) = section.text("path") else {
        if !section.has("path") {
            problems.note(
                section.at,
                "`path` is missing: where the file is, such as path = \"matches.csv\"",
            );
        }
        return None;
    };
    let captures = captures(problems, path);
    let name = match section.get("format") {
        Some(entry) => known_format(problems, entry.text()?)?,
        None => format_of(problems, path)?,
    };
    let is_csv = matches!(name, "csv" | "tsv");
    for key in CSV_KEYS.iter().filter(|_| !is_csv) {
        if let Some(entry) = section.get(key) {
            problems.note(
                entry.at,
                format!("`{key}` is for csv and tsv; the format here is {name}"),
            );
        }
    }
    if let Some(entry) = section.get("rows").filter(|_| name != "json") {
        problems.note(
            entry.at,
            format!("`rows` is for json; the format here is {name}"),
        );
    }
    let format = match name {
        "json" => Format::Json {
            rows: rows(section)?,
        },
        "ndjson" => Format::Ndjson,
        "parquet" => Format::Parquet { needs: Vec::new() },
        _ => Format::Csv(csv(section, name == "tsv")),
    };
    let source = Source {
        path: path.text.to_owned(),
        format,
        encoding: section.text("encoding").map(|text| text.text.to_owned()),
        compression: section
            .text("compression")
            .and_then(|text| compression(problems, text)),
        at: problems.place(section.at),
    };
    Some(SourceDraft { source, captures })
}

/// The names of the placeholders in a path.
fn captures(problems: &Problems<'_>, path: Text<'_>) -> Vec<String> {
    let mut captures: Vec<String> = Vec::new();
    let mut rest = path.text;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            problems.note(
                path.at,
                format!("`{}`: a `}}` is missing after `{{`", path.text),
            );
            break;
        };
        let plain = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if !plain || ["file", "stem", "line", "source"].contains(&name) {
            problems.note(path.at, format!("`{{{name}}}` cannot be a placeholder: expected a name of letters and digits, other than file, stem, line and source"));
        } else if captures.iter().any(|other| other == name) {
            problems.note(
                path.at,
                format!("the placeholder `{{{name}}}` stands twice in the path"),
            );
        }
        captures.push(name.to_owned());
        rest = after;
    }
    captures
}

fn known_format<'t>(problems: &Problems<'_>, text: Text<'t>) -> Option<&'t str> {
    if FORMATS.contains(&text.text) {
        return Some(text.text);
    }
    problems.unknown(text.at, "format", text.text, &FORMATS);
    None
}

fn format_of(problems: &Problems<'_>, path: Text<'_>) -> Option<&'static str> {
    let lower = path.text.to_lowercase();
    let plain = [".gz", ".zst"]
        .iter()
        .find_map(|end| lower.strip_suffix(end))
        .unwrap_or(&lower);
    let extensions = [
        (".csv", "csv"),
        (".tsv", "tsv"),
        (".tab", "tsv"),
        (".ndjson", "ndjson"),
        (".jsonl", "ndjson"),
        (".json", "json"),
        (".parquet", "parquet"),
    ];
    let format = extensions
        .iter()
        .find(|(end, _)| plain.ends_with(end))
        .map(|(_, format)| *format);
    if format.is_none() {
        problems.note(
            path.at,
            format!(
                "the name `{}` does not tell the format: say format = one of {}",
                path.text,
                FORMATS.join(", ")
            ),
        );
    }
    format
}

fn csv(section: Section<'_>, tabs: bool) -> Csv {
    let byte = |key: &str| section.get(key).and_then(one_byte);
    let header = section.get("header");
    let columns = section.texts("columns").map(|texts| {
        texts
            .iter()
            .map(|text| text.text.to_owned())
            .collect::<Vec<_>>()
    });
    match header.map(|entry| (entry.at, entry.flag())) {
        Some((at, Some(false))) if columns.is_none() => section.problems.note(
            at,
            "a file without a header needs `columns`: the names of its columns in order, such as columns = [\"id\", \"name\"]",
        ),
        Some((at, Some(true))) if columns.is_some() => section
            .problems
            .note(at, "`columns` names the columns of a file without a header; leave out either of `header = true` and `columns`"),
        _ => {}
    }
    if let Some(columns) = &columns {
        let twice = columns
            .iter()
            .enumerate()
            .find(|(at, name)| columns[..*at].contains(name));
        if let (Some((_, name)), Some(entry)) = (twice, section.get("columns")) {
            section.problems.note(
                entry.at,
                format!("the column `{name}` stands twice in `columns`"),
            );
        }
    }
    let quote = match section.get("quote") {
        Some(entry) if entry.item.is_bool() => match entry.flag() {
            Some(false) => None,
            _ => entry.expected("a character, or false for none"),
        },
        Some(entry) => one_byte(entry),
        None => Some(b'"'),
    };
    Csv {
        delimiter: byte("delimiter").unwrap_or(if tabs { b'\t' } else { b',' }),
        quote,
        escape: byte("escape"),
        comment: byte("comment"),
        columns,
        needs: Vec::new(),
    }
}

fn one_byte(entry: Entry<'_>) -> Option<u8> {
    match entry.text()?.text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n' | 0) => Some(*byte),
        _ => entry.expected("one ASCII character, such as \";\" or \"\\t\""),
    }
}

fn compression(problems: &Problems<'_>, text: Text<'_>) -> Option<Compression> {
    match text.text {
        "none" => Some(Compression::None),
        "gzip" => Some(Compression::Gzip),
        "zstd" => Some(Compression::Zstd),
        other => {
            problems.unknown(text.at, "compression", other, &["none", "gzip", "zstd"]);
            None
        }
    }
}

/// The path to the rows of a JSON document; a document that is one array has its rows at `[*]`.
fn rows(section: Section<'_>) -> Option<Vec<Step>> {
    let Some(entry) = section.get("rows") else {
        return Some(vec![Step::Each]);
    };
    let text = entry.text()?;
    let wrong = || {
        section.problems.note(text.at, format!("`{}` is no path to rows: expected something like \"[*]\", \"matches[*]\" or \"rounds[*].matches[*]\"", text.text))
    };
    let mut steps = Vec::new();
    let mut rest = if text.text == "." { "" } else { text.text };
    let mut first = true;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(Step::Each);
            (rest, first) = (after, false);
            continue;
        }
        let name = if first {
            rest
        } else {
            rest.strip_prefix('.').or_else(|| {
                wrong();
                None
            })?
        };
        let (name, after) = match name.strip_prefix('"').and_then(|name| name.split_once('"')) {
            Some(quoted) => quoted,
            None => name.split_at(name.find(['.', '[']).unwrap_or(name.len())),
        };
        if name.is_empty() {
            wrong();
            return None;
        }
        steps.push(Step::Member(name.to_owned()));
        (rest, first) = (after, false);
    }
    // A value that is no array counts as an array of itself, so a last `[*]` that was forgotten does no harm.
    if steps.last() != Some(&Step::Each) {
        steps.push(Step::Each);
    }
    Some(steps)
}
