//! Files that translate values: read once, when the run begins, then only asked.
//!
//! K1. A value that the file translates to two different things is translated to neither.

use super::path::Path;
use super::records::{Entries, ValueSpec};
use super::time::Pattern;
use super::values::{At, Context};
use crate::plan::{LookupPlan, Plan};
use crate::read::{self, Limits, ReadError};
use crate::rows::Chunk;
use bumpalo::Bump;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use oneflight_sql::Fold;
use std::path::Path as FilePath;

/// What the lookups of a plan translate.
#[derive(Debug, Default)]
pub struct Lookups(Vec<Translations>);

#[derive(Debug)]
struct Translations {
    fold: Fold,
    /// By folded value; none is two answers (K1).
    to: HashMap<Box<str>, Option<Box<str>>, RandomState>,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Translated<'l> {
    To(&'l str),
    Unknown,
    Ambiguous,
}

impl Lookups {
    /// Reads the files of all lookups of the plan, relative to `data`. Blocks.
    ///
    /// Rows without the one or the other value are passed over.
    ///
    /// # Errors
    /// A file cannot be read, or a row of it cannot.
    pub fn read(plan: &Plan, data: &FilePath) -> Result<Self, ReadError> {
        plan.lookups
            .iter()
            .map(|lookup| Translations::read(lookup, data))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn translate(&self, lookup: usize, text: &str) -> Translated<'_> {
        let translations = &self.0[lookup];
        match translations.to.get(translations.fold.apply(text).as_ref()) {
            Some(Some(to)) => Translated::To(to),
            Some(None) => Translated::Ambiguous,
            None => Translated::Unknown,
        }
    }
}

impl Translations {
    fn read(lookup: &LookupPlan, data: &FilePath) -> Result<Self, ReadError> {
        let mut translations = Self {
            fold: lookup.entries.fold,
            to: HashMap::default(),
        };
        let reader = Reader::new(&lookup.entries);
        for input in read::open(&lookup.source, data)? {
            let file = input.file.clone();
            for chunk in input.chunks(Limits::default()) {
                let chunk = chunk?;
                if let Some(bad) = chunk.bad.first() {
                    return Err(ReadError::row(&file.name, bad));
                }
                translations.add(&reader, &chunk);
            }
        }
        Ok(translations)
    }

    fn add(&mut self, reader: &Reader<'_>, chunk: &Chunk) {
        let (none, texts) = (Lookups::default(), Bump::new());
        let context = Context::new(chunk, &none, &reader.entries.names, &texts);
        for row in 0..context.rows() {
            let Some((from, to)) = reader.entry(&context, &context.row(row)) else {
                continue;
            };
            let known = self
                .to
                .entry(self.fold.apply(from).as_ref().into())
                .or_insert_with(|| Some(to.into()));
            if known.as_deref().is_some_and(|known| known != to) {
                *known = None;
            }
        }
    }
}

/// Reads entries from rows.
struct Reader<'e> {
    entries: &'e Entries,
    from: ValueSpec,
    to: ValueSpec,
    only: Vec<(ValueSpec, &'e [String])>,
}

impl<'e> Reader<'e> {
    fn new(entries: &'e Entries) -> Self {
        let spec = |path: &Path| ValueSpec::plain(path.clone(), entries.null.clone());
        Self {
            from: spec(&entries.from),
            to: spec(&entries.to),
            only: entries
                .only
                .iter()
                .map(|(path, values)| (spec(path), values.as_slice()))
                .collect(),
            entries,
        }
    }

    /// What a row translates to what; none if a value is null, or the row is not wanted.
    fn entry<'a>(&'a self, context: &Context<'a>, at: &At<'_, 'a>) -> Option<(&'a str, &'a str)> {
        let text = |spec: &'a ValueSpec| context.text(spec, at).ok().flatten();
        let wanted = self
            .only
            .iter()
            .all(|(spec, values)| text(spec).is_some_and(|text| values.iter().any(|v| v == text)));
        if !wanted {
            return None;
        }
        Some((text(&self.from)?, text(&self.to)?))
    }
}

impl ValueSpec {
    /// A value that is taken as it stands.
    pub(crate) fn plain(path: Path, null: std::sync::Arc<[String]>) -> Self {
        Self {
            name: path.text.clone(),
            from: vec![path],
            join: None,
            constant: None,
            default: None,
            null,
            trim: true,
            map: std::collections::HashMap::new(),
            lookup: None,
            pattern: Pattern::Usual,
        }
    }
}
