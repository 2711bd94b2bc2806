//! Reading a value: from a place in a row to the text that the mapping means.
//!
//!   At ──path──▶ Raw ──▶ text ──trim──▶ ──null?──▶ ──map──▶ ──lookup──▶ text, or null
//!
//! L1. A JSON number keeps its digits; one that is integral has one text, however it was written (`42`, `42.0`, `4.2e1`).

use super::lookup::{Lookups, Translated};
use super::number;
use super::path::{Path, Special, Step, To};
use super::records::{Unknown, ValueSpec};
use crate::rows::{Chunk, Flat, Rows, Scope};
use bumpalo::Bump;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// What all rows of a chunk have in common.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) lookups: &'a Lookups,
    /// In a flat file: where the column of each name is.
    columns: Vec<Option<usize>>,
    /// Holds the texts that do not stand in the chunk as they are meant.
    pub(super) texts: &'a Bump,
}

/// A place in a row: what stands here, and what encloses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'u, 'a> {
    pub(crate) line: u64,
    pub(super) here: Here<'a>,
    pub(super) up: Up<'u, 'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Here<'a> {
    Flat(&'a Flat, usize),
    Json(&'a Json),
    /// What encloses rows.
    Scope(&'a Scope),
    Text(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Up<'u, 'a> {
    Scope(Option<&'a Arc<Scope>>),
    At(&'u At<'u, 'a>),
}

/// Why a value, or a record, cannot be had.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) column: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
}

pub(super) enum Raw<'a> {
    Null,
    Text(Cow<'a, str>),
    /// Something that has no text: an array or an object.
    Compound(&'a Json),
    /// Something that was, or may stand in, a member of this name that was too large to be kept.
    Omitted(&'a str),
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        chunk: &'a Chunk,
        lookups: &'a Lookups,
        names: &[String],
        texts: &'a Bump,
    ) -> Self {
        let columns = names
            .iter()
            .map(|name| chunk.file.columns.iter().position(|column| column == name))
            .collect();
        Self {
            chunk,
            lookups,
            columns,
            texts,
        }
    }

    /// How many rows the chunk has.
    pub(crate) fn rows(&self) -> usize {
        match &self.chunk.rows {
            Rows::Flat(flat) => flat.len(),
            Rows::Tree(trees) => trees.len(),
        }
    }

    /// The row with this number.
    pub(crate) fn row(&self, row: usize) -> At<'a, 'a> {
        match &self.chunk.rows {
            Rows::Flat(flat) => At {
                line: flat.lines[row],
                here: Here::Flat(flat, row),
                up: Up::Scope(None),
            },
            Rows::Tree(trees) => {
                let tree = &trees[row];
                At {
                    line: tree.line,
                    here: Here::Json(&tree.value),
                    up: Up::Scope(tree.parent.as_ref()),
                }
            }
        }
    }

    /// The text of a value as the mapping means it; none if it is null.
    #[inline]
    pub(crate) fn text(
        &self,
        spec: &'a ValueSpec,
        at: &At<'_, 'a>,
    ) -> Result<Option<&'a str>, Fault> {
        // Most values are the text of one column, taken as it stands.
        if let (Here::Flat(flat, row), Some(name)) = (at.here, spec.column())
            && let Some(column) = self.columns[name]
        {
            return Ok(plain(spec, flat.cell(row, column)));
        }
        Ok(self.any_text(spec, at)?.map(|text| kept(text, self.texts)))
    }

    /// Where in a flat row the value stands, if it is the text of one column, taken as it stands.
    pub(super) fn column(&self, spec: &ValueSpec) -> Option<usize> {
        self.columns[spec.column()?]
    }

    fn any_text(
        &self,
        spec: &'a ValueSpec,
        at: &At<'_, 'a>,
    ) -> Result<Option<Cow<'a, str>>, Fault> {
        let text = match &spec.constant {
            Some(constant) => Some(Cow::Borrowed(constant.as_str())),
            None => self.first(spec, at)?,
        };
        let Some(text) = text else {
            return Ok(spec.default.as_deref().map(Cow::Borrowed));
        };
        let text = match spec.map.get(text.as_ref()) {
            Some(mapped) => Cow::Borrowed(mapped.as_str()),
            None => text,
        };
        self.translate(spec, text)
    }

    /// True if each of these values is one of its texts.
    pub(crate) fn holds(
        &self,
        when: &'a [(ValueSpec, Vec<String>)],
        at: &At<'_, 'a>,
    ) -> Result<bool, Fault> {
        for (spec, texts) in when {
            let text = self.text(spec, at)?;
            if !text.is_some_and(|text| texts.iter().any(|wanted| wanted == text)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn first(&self, spec: &'a ValueSpec, at: &At<'_, 'a>) -> Result<Option<Cow<'a, str>>, Fault> {
        if let Some(join) = &spec.join {
            return self.joined(spec, join, at);
        }
        for path in &spec.from {
            let text = self.one(spec, path, at)?;
            if text.is_some() {
                return Ok(text);
            }
        }
        if !self.is_there(spec) {
            let reason = format!("expected a column `{}` in the file", spec.name);
            return Err(Fault {
                column: Some(spec.name.clone()),
                value: None,
                reason,
            });
        }
        Ok(None)
    }

    fn joined(
        &self,
        spec: &'a ValueSpec,
        join: &str,
        at: &At<'_, 'a>,
    ) -> Result<Option<Cow<'a, str>>, Fault> {
        let mut joined = String::new();
        for (nth, path) in spec.from.iter().enumerate() {
            let Some(text) = self.one(spec, path, at)? else {
                return Ok(None);
            };
            if nth > 0 {
                joined.push_str(join);
            }
            joined.push_str(&text);
        }
        Ok(Some(Cow::Owned(joined)))
    }

    fn one(
        &self,
        spec: &'a ValueSpec,
        path: &'a Path,
        at: &At<'_, 'a>,
    ) -> Result<Option<Cow<'a, str>>, Fault> {
        let text = match self.raw(path, at) {
            Raw::Null => return Ok(None),
            Raw::Text(text) => text,
            Raw::Omitted(member) => return Err(omitted(&spec.name, member)),
            Raw::Compound(json) => {
                return Err(spec.fault(
                    &json.to_string(),
                    "expected one value, not a list or an object",
                ));
            }
        };
        let trimmed = trimmed(&text);
        if is_null(trimmed, &spec.null) {
            return Ok(None);
        }
        Ok(Some(if spec.trim && trimmed.len() != text.len() {
            trim(text)
        } else {
            text
        }))
    }

    /// True unless the file is flat and has none of the columns.
    fn is_there(&self, spec: &ValueSpec) -> bool {
        let flat = matches!(self.chunk.rows, Rows::Flat(_));
        !flat
            || spec.from.iter().any(
                |path| !matches!(path.to, To::Within { name, .. } if self.columns[name].is_none()),
            )
    }

    fn translate(
        &self,
        spec: &'a ValueSpec,
        text: Cow<'a, str>,
    ) -> Result<Option<Cow<'a, str>>, Fault> {
        let Some((lookup, unknown)) = spec.lookup else {
            return Ok(Some(text));
        };
        match (self.lookups.translate(lookup, &text), unknown) {
            (Translated::To(to), _) => Ok(Some(Cow::Borrowed(to))),
            (_, Unknown::Keep) => Ok(Some(text)),
            (_, Unknown::Null) => Ok(None),
            (Translated::Unknown, Unknown::Reject) => {
                Err(spec.fault(&text, "expected a value that the lookup knows"))
            }
            (Translated::Ambiguous, Unknown::Reject) => Err(spec.fault(
                &text,
                "expected a value that the lookup translates to one thing, not to several",
            )),
        }
    }

    pub(super) fn raw(&self, path: &'a Path, at: &At<'_, 'a>) -> Raw<'a> {
        let steps = match &path.to {
            To::Special(special) => return self.special(special, at),
            To::Here => None,
            To::Within { name, steps } => Some((*name, steps)),
        };
        match (at.climb(path.up), steps) {
            (None, _) | (Some(Here::Flat(..)), None) | (Some(Here::Text(_)), Some(_)) => Raw::Null,
            (Some(Here::Flat(flat, row)), Some((name, _))) => {
                match self.columns[name].and_then(|column| flat.cell(row, column)) {
                    Some(cell) => Raw::Text(Cow::Borrowed(cell)),
                    None => Raw::Null,
                }
            }
            (Some(Here::Text(text)), None) => Raw::Text(Cow::Borrowed(text)),
            (Some(Here::Scope(scope)), Some((_, steps))) => match omitted_member(scope, steps) {
                Some(member) => Raw::Omitted(member),
                None => walk(&scope.value, steps).map_or(Raw::Null, raw_json),
            },
            (Some(Here::Scope(scope)), None) => raw_json(&scope.value),
            (Some(Here::Json(json)), None) => raw_json(json),
            (Some(Here::Json(json)), Some((_, steps))) => {
                walk(json, steps).map_or(Raw::Null, raw_json)
            }
        }
    }

    fn special(&self, special: &'a Special, at: &At<'_, 'a>) -> Raw<'a> {
        let file = &self.chunk.file;
        Raw::Text(match special {
            Special::File => Cow::Borrowed(file.name.as_str()),
            Special::Stem => Cow::Borrowed(file.stem.as_str()),
            Special::Line => Cow::Owned(at.line.to_string()),
            Special::Source(source) => Cow::Borrowed(source.as_str()),
            Special::Capture(name) => match file.captures.iter().find(|(known, _)| known == name) {
                Some((_, value)) => Cow::Borrowed(value.as_str()),
                None => return Raw::Null,
            },
        })
    }
}

impl<'u, 'a> At<'u, 'a> {
    /// What stands `levels` up from here.
    pub(super) fn climb(&self, levels: usize) -> Option<Here<'a>> {
        let (mut here, mut up) = (self.here, self.up);
        for _ in 0..levels {
            (here, up) = match up {
                Up::At(at) => (at.here, at.up),
                Up::Scope(scope) => {
                    let scope = scope?;
                    (Here::Scope(scope), Up::Scope(scope.parent.as_ref()))
                }
            };
        }
        Some(here)
    }
}

impl ValueSpec {
    /// The name of the column that the value is the text of, if nothing else is done with it.
    #[inline]
    fn column(&self) -> Option<usize> {
        let [path] = &self.from[..] else { return None };
        let as_it_is = path.up == 0
            && self.join.is_none()
            && self.constant.is_none()
            && self.default.is_none()
            && self.lookup.is_none()
            && self.map.is_empty();
        match path.to {
            To::Within { name, .. } if as_it_is => Some(name),
            _ => None,
        }
    }

    /// Says what is wrong with this value.
    pub(crate) fn fault(&self, value: &str, reason: impl Into<String>) -> Fault {
        Fault {
            column: Some(self.name.clone()),
            value: Some(shorten(value)),
            reason: reason.into(),
        }
    }
}

/// The member that these steps lead into, or may lead into, if it was too large to be kept.
pub(super) fn omitted_member<'a>(scope: &'a Scope, steps: &[Step]) -> Option<&'a str> {
    let mut omitted = scope.omitted.iter();
    let member = match steps.split_first()? {
        (Step::Member(name), _) => omitted.find(|omitted| *omitted == name),
        // What is looked for at any depth may stand in each of them.
        (Step::Deep(_), _) => omitted.next(),
        // An object counts as a list of itself.
        (Step::All, rest) => return omitted_member(scope, rest),
        (Step::Index(_), _) => None,
    };
    member.map(String::as_str)
}

pub(super) fn omitted(path: &str, member: &str) -> Fault {
    Fault {
        column: Some(path.to_owned()),
        value: None,
        reason: format!(
            "expected a member of at most {} bytes: `{member}` encloses the rows, and is too large to be kept",
            crate::read::MAX_SCOPE_MEMBER
        ),
    }
}

fn walk<'a>(json: &'a Json, steps: &[Step]) -> Option<&'a Json> {
    steps
        .iter()
        .try_fold(json, |json, step| match (step, json) {
            (Step::Member(name), Json::Object(members)) => members.get(name),
            (Step::Index(index), Json::Array(array)) => array.get(*index),
            _ => None,
        })
}

fn raw_json(json: &Json) -> Raw<'_> {
    Raw::Text(match json {
        Json::Null => return Raw::Null,
        Json::String(text) => Cow::Borrowed(text),
        Json::Number(number) => number::json_text(number),
        Json::Bool(true) => Cow::Borrowed("true"),
        Json::Bool(false) => Cow::Borrowed("false"),
        Json::Array(_) | Json::Object(_) => return Raw::Compound(json),
    })
}

/// The text of a value for this text of its column; none if it is null.
#[inline]
pub(super) fn plain<'t>(spec: &ValueSpec, text: Option<&'t str>) -> Option<&'t str> {
    let text = text?;
    let trimmed = trimmed(text);
    match is_null(trimmed, &spec.null) {
        true => None,
        false if spec.trim => Some(trimmed),
        false => Some(text),
    }
}

/// The text, put where it stays if it does not stand anywhere yet.
pub(super) fn kept<'a>(text: Cow<'a, str>, texts: &'a Bump) -> &'a str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => texts.alloc_str(&text),
    }
}

pub(super) fn is_null(text: &str, null: &[String]) -> bool {
    null.iter().any(|token| token == text)
}

/// The text without white space at its ends; one look at each end is enough for most.
#[inline]
pub(super) fn trimmed(text: &str) -> &str {
    match text.is_empty() || is_trimmed(text.as_bytes()) {
        true => text,
        false => text.trim(),
    }
}

/// True for a text that begins and ends with a visible character of ASCII, so that there is nothing to be cut off.
#[inline]
pub(super) fn is_trimmed(text: &[u8]) -> bool {
    let is_visible = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    is_visible(text.first()) && is_visible(text.last())
}

fn trim(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// At most 200 characters, as a reject shows them.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
