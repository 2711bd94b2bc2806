//! The lookups of a mapping as they are written: `[lookup.NAME]`.

use super::error::Problems;
use super::section::{Entry, Section, Text};
use super::sources::{SOURCE_KEYS, SourceDraft, source};
use super::tables::fold;
use super::values::tokens;
use crate::map::{Entries, Grammar, Path};
use crate::plan::LookupPlan;
use oneflight_sql::Fold;
use std::sync::Arc;

/// Reads `[lookup.NAME]`.
pub(crate) fn lookup(entry: Entry<'_>, null: &Arc<[String]>) -> Option<LookupPlan> {
    let section = entry.section("a table such as [lookup.aliases]")?;
    let problems = section.problems;
    let possible: Vec<&str> = SOURCE_KEYS
        .iter()
        .chain(&["from", "to", "where", "fold", "null"])
        .copied()
        .collect();
    section.only("key of a lookup", &possible);
    let draft = source(section);
    let written = [
        ("from", "the column of the value that is translated"),
        ("to", "the column of what it becomes"),
    ];
    let [from, to] = written.map(|(key, what)| {
        let text = section.text(key);
        if !section.has(key) {
            problems.note(entry.at, format!("`{key}` is missing: {what}"));
        }
        text
    });
    let only = conditions(section);
    let fold = section
        .text("fold")
        .and_then(|text| fold(problems, text))
        .unwrap_or(Fold::EXACT);
    let null = section
        .texts("null")
        .map_or_else(|| null.clone(), |texts| tokens(&texts));
    let draft = draft?;
    let mut paths = Paths {
        problems,
        draft: &draft,
        names: Vec::new(),
    };
    let (from, to) = (paths.path(from?)?, paths.path(to?)?);
    let only = only
        .into_iter()
        .map(|(path, values)| Some((paths.path(path)?, values)))
        .collect::<Option<_>>()?;
    let names = paths.names;
    let entries = Entries {
        names: names.clone(),
        from,
        to,
        only,
        null,
        fold,
    };
    Some(LookupPlan {
        name: entry.key.to_owned(),
        source: SourceDraft::into_source(draft, names),
        entries,
    })
}

/// Reads `where = { column = "value", other = ["a", "b"] }`.
fn conditions<'t>(section: Section<'t>) -> Vec<(Text<'t>, Vec<String>)> {
    let Some(conditions) = section.section("where") else {
        return Vec::new();
    };
    let condition = |entry: Entry<'t>| {
        let values = entry
            .texts()?
            .into_iter()
            .map(|text| text.text.to_owned())
            .collect();
        Some((
            Text {
                text: entry.key,
                at: entry.at,
            },
            values,
        ))
    };
    conditions
        .entries()
        .into_iter()
        .filter_map(condition)
        .collect()
}

struct Paths<'p> {
    problems: &'p Problems<'p>,
    draft: &'p SourceDraft,
    names: Vec<String>,
}

impl Paths<'_> {
    fn path(&mut self, text: Text<'_>) -> Option<Path> {
        let grammar = Grammar {
            source: "",
            captures: &self.draft.captures,
            flat: self.draft.is_flat(),
        };
        let path = match Path::parse(text.text, grammar, &mut self.names) {
            Ok(path) => path,
            Err(error) => {
                self.problems.note(text.at, error.to_string());
                return None;
            }
        };
        if let (Some(columns), Some(name)) = (self.draft.columns(), path.first_name()) {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            if !columns.contains(&name) {
                self.problems.unknown(text.at, "column", name, &columns);
                return None;
            }
        }
        Some(path)
    }
}
