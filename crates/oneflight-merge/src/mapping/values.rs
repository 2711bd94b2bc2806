//! Values as they are written: `"path"`, or `{ from = "path", null = […], … }`.

use super::feeds::Feed;
use super::section::{Entry, Section, Text};
use crate::map::{
    Each, Marks, Path, Pattern, Unknown, ValueSpec, Want, check_value, pattern_fields,
};
use oneflight_sql::Kind;
use std::collections::HashMap;
use std::sync::Arc;

const VALUE_KEYS: [&str; 10] = [
    "from", "join", "const", "default", "null", "trim", "map", "lookup", "unknown", "format",
];
/// Where paths stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a row.
    Row,
    /// In an element of a list in a row.
    Element,
}

impl Feed<'_> {
    /// Reads a value for a column that wants this; `more` are keys that may stand beside the usual ones.
    pub(crate) fn value(
        &self,
        entry: Entry<'_>,
        want: &Want,
        place: Place,
        more: &[&str],
    ) -> Option<ValueSpec> {
        if entry.item.is_str() {
            let path = self.path(entry.text()?, place, true)?;
            return Some(ValueSpec {
                trim: self.trim,
                ..ValueSpec::plain(path, self.null.clone())
            });
        }
        let section = entry.section("a path such as \"name\", or { from = \"name\", … }")?;
        let possible: Vec<&str> = VALUE_KEYS.iter().chain(more).copied().collect();
        section.only("key of a value", &possible);
        let constant = section.get("const").and_then(|entry| entry.scalar());
        let from = match (section.texts("from"), section.has("const")) {
            (Some(_), true) => {
                self.problems.note(section.at, "`from` and `const` exclude each other: a value comes from the row, or is the same for all rows");
                return None;
            }
            (Some(texts), false) => {
                // Of several paths, one that is there is enough, unless all are joined.
                let alone = texts.len() == 1 || section.has("join");
                texts
                    .into_iter()
                    .map(|text| self.path(text, place, alone))
                    .collect::<Option<Vec<_>>>()?
            }
            (None, true) => Vec::new(),
            (None, false) => {
                if !section.has("from") {
                    self.problems.note(entry.at, format!("`{}`: `from` is missing: the path of the value, such as from = \"name\"", entry.key));
                }
                return None;
            }
        };
        let names: Vec<&str> = from.iter().map(|path| path.text.as_str()).collect();
        let name = if names.is_empty() {
            entry.key.to_owned()
        } else {
            names.join(", ")
        };
        let spec = ValueSpec {
            name,
            from,
            join: section.text("join").map(|text| text.text.to_owned()),
            constant,
            default: section.get("default").and_then(|entry| entry.scalar()),
            null: section
                .texts("null")
                .map_or_else(|| self.null.clone(), |texts| tokens(&texts)),
            trim: section.flag("trim").unwrap_or(self.trim),
            map: section.section("map").map(map).unwrap_or_default(),
            lookup: self.lookup(section),
            pattern: section
                .text("format")
                .and_then(|text| self.pattern(text, want.kind))
                .unwrap_or_default(),
        };
        self.check_texts(section, &spec, want);
        Some(spec)
    }

    /// Reads a path; `needed` if the file is refused without its column.
    pub(crate) fn path(&self, text: Text<'_>, place: Place, needed: bool) -> Option<Path> {
        let path = self.any_path(text, place, needed)?;
        if !path.is_single() {
            self.problems.note(
                text.at,
                format!(
                    "`{}` leads to several values; a list is gone through by `each`",
                    text.text
                ),
            );
            return None;
        }
        Some(path)
    }

    fn any_path(&self, text: Text<'_>, place: Place, needed: bool) -> Option<Path> {
        let mut state = self.state.borrow_mut();
        let path = match Path::parse(text.text, self.grammar(), &mut state.names) {
            Ok(path) => path,
            Err(error) => {
                self.problems.note(text.at, error.to_string());
                return None;
            }
        };
        if place == Place::Row && path.up == 0 {
            state.members |= path.first_name().is_some();
            state.whole |= path.first_name().is_none() && !path.is_special();
        }
        // What stands above an element is the row; above that, what encloses the row.
        let levels = match place {
            Place::Row => path.up,
            Place::Element => path.up.saturating_sub(1),
        };
        let of_row = path.up == usize::from(place == Place::Element);
        if self.flat {
            let message = match (levels, of_row, path.first_name()) {
                (1.., _, _) => Some(format!(
                    "`{}` climbs out of the row; a flat file has nothing there",
                    text.text
                )),
                (_, false, Some(name)) => Some(format!(
                    "an element of a list in a cell has no member `{name}`; the row's column is `^.{name}`, the element itself `.`"
                )),
                _ if of_row && path.is_here() => {
                    Some("a row of a flat file is no value; name a column".to_owned())
                }
                _ => None,
            };
            if let Some(message) = message {
                self.problems.note(text.at, message);
                return None;
            }
        }
        if let (Some(name), true) = (path.first_name(), of_row) {
            if let Some(columns) = self.columns {
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                if !columns.contains(&name) {
                    self.problems.unknown(text.at, "column", name, &columns);
                    return None;
                }
            }
            if needed && !state.needs.iter().any(|other| other == name) {
                state.needs.push(name.to_owned());
            }
        }
        Some(path)
    }

    /// Reads `each`: a path, or `{ from = "path", split = " ", null = […] }`.
    pub(crate) fn each(&self, entry: Entry<'_>) -> Option<(Each, Arc<[String]>)> {
        if entry.item.is_str() {
            let path = self.any_path(entry.text()?, Place::Row, true)?;
            return Some((Each { path, split: None }, self.null.clone()));
        }
        let section = entry.section("a path to a list, or { from = \"planes\", split = \" \" }")?;
        section.only("key of `each`", &["from", "split", "null"]);
        let Some(from) = section.text("from") else {
            if !section.has("from") {
                self.problems
                    .note(entry.at, "`each`: `from` is missing: the path to the list");
            }
            return None;
        };
        let path = self.any_path(from, Place::Row, true)?;
        let split = section.text("split");
        if let Some(text) = split.filter(|text| text.text.is_empty()) {
            self.problems.note(
                text.at,
                "`split` is empty: expected what stands between the elements, such as \",\"",
            );
            return None;
        }
        let null = section
            .texts("null")
            .map_or_else(|| self.null.clone(), |texts| tokens(&texts));
        Some((
            Each {
                path,
                split: split.map(|text| text.text.to_owned()),
            },
            null,
        ))
    }

    fn lookup(&self, section: Section<'_>) -> Option<(usize, Unknown)> {
        let unknown = match section.text("unknown") {
            None => Unknown::default(),
            Some(text) => match text.text {
                "keep" => Unknown::Keep,
                "null" => Unknown::Null,
                "reject" => Unknown::Reject,
                other => {
                    self.problems.unknown(
                        text.at,
                        "value of `unknown`",
                        other,
                        &["keep", "null", "reject"],
                    );
                    return None;
                }
            },
        };
        let Some(text) = section.text("lookup") else {
            if let Some(entry) = section.get("unknown").filter(|_| !section.has("lookup")) {
                self.problems.note(entry.at, "`unknown` says what happens to a value that a `lookup` does not know; there is no `lookup` here");
            }
            return None;
        };
        match self.lookups.iter().position(|name| name == text.text) {
            Some(lookup) => Some((lookup, unknown)),
            None => {
                let names: Vec<&str> = self.lookups.iter().map(String::as_str).collect();
                self.problems.unknown(text.at, "lookup", text.text, &names);
                None
            }
        }
    }

    fn pattern(&self, text: Text<'_>, kind: Kind) -> Option<Pattern> {
        match (kind, text.text) {
            (Kind::Bytes, "hex") => Some(Pattern::Usual),
            (Kind::Bytes, "base64") => Some(Pattern::Base64),
            (Kind::Bytes, other) => {
                self.problems
                    .unknown(text.at, "format of bytes", other, &["hex", "base64"]);
                None
            }
            (Kind::Date | Kind::Timestamp, "unix") => Some(Pattern::UnixSeconds),
            (Kind::Date | Kind::Timestamp, "unix_ms") => Some(Pattern::UnixMillis),
            (Kind::Date | Kind::Timestamp, pattern) => match pattern_fields(pattern) {
                Ok(fields) => Some(Pattern::Fields(fields)),
                Err(error) => {
                    self.problems.note(
                        text.at,
                        format!("`format`: {error}; or \"unix\", \"unix_ms\""),
                    );
                    None
                }
            },
            (Kind::Int | Kind::Real | Kind::Decimal, example) => {
                let marks = Marks::by_example(example);
                if marks.is_none() {
                    self.problems
                        .unknown(text.at, "format of a number", example, &Marks::EXAMPLES);
                }
                marks.map(Pattern::Number)
            }
            _ => {
                self.problems.note(text.at, "`format` is for numbers, dates, timestamps and bytes; the column is of another type");
                None
            }
        }
    }

    /// Checks that what the mapping itself puts in the place of a value is of the column's type.
    fn check_texts(&self, section: Section<'_>, spec: &ValueSpec, want: &Want) {
        // What a lookup makes of them is known only when its file has been read.
        if spec.lookup.is_some() {
            return;
        }
        let check = |at: usize, text: &str| {
            if let Err(reason) = check_value(text, spec, want) {
                self.problems
                    .note(at, format!("`{text}` does not fit the column: {reason}"));
            }
        };
        for key in ["const", "default"] {
            if let Some(entry) = section.get(key)
                && let Some(text) = entry.item.as_value().and_then(|_| entry.scalar())
                && !spec.map.contains_key(&text)
            {
                check(entry.value_at(), &text);
            }
        }
        for entry in section
            .section("map")
            .map(|map| map.entries())
            .unwrap_or_default()
        {
            if let Some(text) = entry.item.as_value().and_then(|_| entry.scalar()) {
                check(entry.value_at(), &text);
            }
        }
    }
}

/// Texts that mean null; they are compared without white space at the ends.
pub(crate) fn tokens(texts: &[Text<'_>]) -> Arc<[String]> {
    texts
        .iter()
        .map(|text| text.text.trim().to_owned())
        .collect()
}

fn map(section: Section<'_>) -> HashMap<String, String> {
    section
        .entries()
        .into_iter()
        .filter_map(|entry| Some((entry.key.to_owned(), entry.scalar()?)))
        .collect()
}
