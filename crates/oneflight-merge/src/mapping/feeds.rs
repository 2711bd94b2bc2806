//! The feeds of a mapping as they are written: `[feed.NAME]`, or `[[feed]]` with a `name`.

use super::error::Problems;
use super::records::{Label, labels};
use super::section::{Entry, Section};
use super::sources::{SOURCE_KEYS, SourceDraft, source};
use super::values::tokens;
use crate::map::{Declared, Fill, Grammar, RecordSpec, Records};
use crate::plan::{FeedPlan, TablePlan};
use std::cell::RefCell;
use std::sync::Arc;

/// What the records of one feed are read by.
#[derive(Debug)]
pub(crate) struct Feed<'t> {
    pub(crate) problems: &'t Problems<'t>,
    pub(crate) tables: &'t [TablePlan],
    pub(crate) lookups: &'t [String],
    pub(crate) labels: Vec<Label<'t>>,
    pub(crate) source: &'t str,
    pub(crate) captures: &'t [String],
    /// The names of the columns, where the mapping gives them.
    pub(crate) columns: Option<&'t [String]>,
    pub(crate) flat: bool,
    pub(crate) null: Arc<[String]>,
    pub(crate) trim: bool,
    pub(crate) state: RefCell<State>,
}

/// What comes together while paths are read.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) names: Vec<String>,
    pub(crate) needs: Vec<String>,
    pub(crate) memos: usize,
    /// True if some path leads into a member of the row.
    pub(crate) members: bool,
    /// True if some path leads elsewhere: to the row itself, or into a list that it is.
    pub(crate) whole: bool,
}

/// What holds for all feeds unless they say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct FeedDefaults<'t> {
    pub(crate) source: &'t str,
    pub(crate) null: Arc<[String]>,
    pub(crate) trim: bool,
}

impl Feed<'_> {
    pub(crate) fn grammar(&self) -> Grammar<'_> {
        Grammar {
            source: self.source,
            captures: self.captures,
            flat: self.flat,
        }
    }
}

/// Reads the section of a feed; only what does not depend on the tables, if there are none.
pub(crate) fn feed<'t>(
    section: Section<'t>,
    name: &str,
    defaults: &FeedDefaults<'t>,
    tables: Option<&'t [TablePlan]>,
    lookups: &'t [String],
) -> Option<FeedPlan> {
    let problems = section.problems;
    let possible: Vec<&str> = SOURCE_KEYS
        .iter()
        .chain(&["name", "into", "null", "trim", "source"])
        .copied()
        .collect();
    section.only("key of a feed", &possible);
    let draft = source(section);
    let Some(into) = section.section("into") else {
        if !section.has("into") {
            problems.note(
                section.at,
                format!(
                    "the feed fills no table: expected a section such as [feed.{name}.into.TABLE]"
                ),
            );
        }
        return None;
    };
    let (draft, tables) = (draft?, tables?);
    let feed = Feed {
        state: RefCell::default(),
        problems,
        tables,
        lookups,
        labels: labels(into, tables),
        source: section
            .text("source")
            .map_or(defaults.source, |text| text.text),
        captures: &draft.captures,
        columns: draft.columns(),
        flat: draft.is_flat(),
        null: section
            .texts("null")
            .map_or_else(|| defaults.null.clone(), |texts| tokens(&texts)),
        trim: section.flag("trim").unwrap_or(defaults.trim),
    };
    let (records, needs) = records(feed, into)?;
    Some(FeedPlan {
        name: name.to_owned(),
        source: SourceDraft::into_source(draft, needs),
        records,
    })
}

/// Reads all records of a feed, and the columns that they need.
fn records(feed: Feed<'_>, into: Section<'_>) -> Option<(Records, Vec<String>)> {
    let entries = into.entries();
    if entries.is_empty() {
        feed.problems.note(
            into.at,
            "`into` is empty: expected the records that each row declares",
        );
    }
    // All are read before the first that is wrong ends it, so that each error is told.
    let declared: Vec<Option<Declared>> =
        entries.iter().map(|entry| feed.declared(*entry)).collect();
    let declared = declared.into_iter().collect::<Option<_>>()?;
    let declared = sort(&feed, &entries, declared)?;
    let State {
        names,
        needs,
        memos,
        members,
        whole,
    } = feed.state.into_inner();
    Some((
        Records {
            declared,
            names,
            memos,
            objects: members && !whole,
        },
        needs,
    ))
}

/// Puts every record after those that it refers to by label.
fn sort(feed: &Feed<'_>, entries: &[Entry<'_>], declared: Vec<Declared>) -> Option<Vec<Declared>> {
    let needs: Vec<Vec<usize>> = declared
        .iter()
        .map(|declared| labels_of(&declared.record))
        .collect();
    let mut order: Vec<usize> = Vec::with_capacity(declared.len());
    while order.len() < declared.len() {
        let mut left = (0..declared.len()).filter(|at| !order.contains(at));
        let next = left
            .clone()
            .find(|at| needs[*at].iter().all(|need| order.contains(need)));
        match (next, left.next()) {
            (Some(next), _) => order.push(next),
            (None, stuck) => {
                let entry = entries[stuck.unwrap_or_default()];
                feed.problems.note(
                    entry.at,
                    format!(
                        "`{}` refers to itself by the labels of this row: a circle",
                        entry.key
                    ),
                );
                return None;
            }
        }
    }
    let mut declared: Vec<Option<Declared>> = declared.into_iter().map(Some).collect();
    let mut sorted: Vec<Declared> = order.iter().filter_map(|at| declared[*at].take()).collect();
    for declared in &mut sorted {
        renumber(&mut declared.record, &order);
    }
    Some(sorted)
}

fn labels_of(record: &RecordSpec) -> Vec<usize> {
    let mut labels = Vec::new();
    for cell in &record.cells {
        match &cell.fill {
            Fill::Label(label) => labels.push(*label),
            Fill::Record(record) => labels.extend(labels_of(record)),
            Fill::Value(..) => {}
        }
    }
    labels
}

fn renumber(record: &mut RecordSpec, order: &[usize]) {
    for cell in &mut record.cells {
        match &mut cell.fill {
            Fill::Label(label) => {
                *label = order.iter().position(|at| at == label).unwrap_or_default()
            }
            Fill::Record(record) => renumber(record, order),
            Fill::Value(..) => {}
        }
    }
}
