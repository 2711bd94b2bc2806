//! The tables of a mapping, as they are written: `[table.NAME]`.

use super::error::Problems;
use super::section::{Entry, Section, Text};
use oneflight_sql::{Fold, Kind, Policy, SameSource};

/// A table as it is written. What it comes to in the database is `layout`'s affair.
#[derive(Debug)]
pub(crate) struct TableDraft {
    pub(crate) name: String,
    pub(crate) at: usize,
    /// The columns: those of the key first, in its order.
    pub(crate) columns: Vec<ColumnDraft>,
    /// True if a null in the key is a value of its own.
    pub(crate) null_is_value: bool,
    pub(crate) newest_by: Option<String>,
    pub(crate) crosswalk: Option<CrosswalkDraft>,
}

/// A column as it is written.
#[derive(Debug)]
pub(crate) struct ColumnDraft {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) kind: KindDraft,
    pub(crate) key: bool,
    pub(crate) fold: Option<Fold>,
    pub(crate) max: Option<u32>,
    pub(crate) required: bool,
    pub(crate) policy: Policy,
}

/// A type as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KindDraft {
    Scalar(Kind),
    Ref(String),
}

/// A crosswalk as it is written; what is not said has a default.
#[derive(Debug)]
pub(crate) struct CrosswalkDraft {
    pub(crate) table: Option<String>,
    pub(crate) source: String,
    pub(crate) external_id: String,
    pub(crate) id: Option<String>,
    pub(crate) same_source: SameSource,
}

/// What holds for all tables unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableDefaults {
    pub(crate) fold: Fold,
    pub(crate) policy: Policy,
}

const TABLE_KEYS: [&str; 6] = ["key", "columns", "fold", "null_key", "policy", "crosswalk"];
const COLUMN_KEYS: [&str; 4] = ["type", "policy", "required", "max"];
const CROSSWALK_KEYS: [&str; 5] = ["table", "source", "external_id", "id", "same_source"];
const POLICIES: &str = "fill, keep, take, newest:COLUMN, error";
/// Names that a record of a feed uses for other things, or that the database table has already.
const RESERVED: [&str; 7] = [
    "id",
    "row_key",
    "external_id",
    "table",
    "when",
    "each",
    "create",
];

/// Reads `[table.NAME]`.
pub(crate) fn table(entry: Entry<'_>, defaults: TableDefaults) -> Option<TableDraft> {
    let section = entry.section("a table such as [table.country]")?;
    section.only("key of a table", &TABLE_KEYS);
    check_name(section.problems, "table", entry.key, entry.at);
    let mut newest = None;
    let policy = section
        .text("policy")
        .and_then(|text| policy(section.problems, text, &mut newest))
        .unwrap_or(defaults.policy);
    let key = section.texts("key").unwrap_or_default();
    let mut columns = match section.section("columns") {
        Some(columns) => columns
            .entries()
            .into_iter()
            .filter_map(|entry| column(entry, policy, &mut newest))
            .collect(),
        None => Vec::new(),
    };
    mark_key(section, &key, &mut columns);
    let null_is_value = null_key(section);
    let crosswalk = section.get("crosswalk").and_then(crosswalk);
    if key.is_empty() && crosswalk.is_none() {
        section.problems.note(
            entry.at,
            format!("`{}` has no `key`: name the columns that identify a row, such as key = \"name\"; or give it a crosswalk", entry.key),
        );
    }
    set_folds(section, defaults.fold, &mut columns);
    let newest_by = newest.map(|text: Text<'_>| date_rows(section.problems, text, &mut columns));
    Some(TableDraft {
        name: entry.key.to_owned(),
        at: entry.at,
        columns,
        null_is_value,
        newest_by,
        crosswalk,
    })
}

fn column<'t>(
    entry: Entry<'t>,
    policy: Policy,
    newest: &mut Option<Text<'t>>,
) -> Option<ColumnDraft> {
    let problems = entry.problems;
    check_name(problems, "column", entry.key, entry.at);
    let draft = |kind| ColumnDraft {
        name: entry.key.to_owned(),
        at: entry.at,
        kind,
        key: false,
        fold: None,
        max: None,
        required: false,
        policy,
    };
    if entry.item.is_str() {
        return Some(draft(kind(problems, entry.text()?)));
    }
    let section = entry.section("a type such as \"text\", or { type = \"text\", … }")?;
    section.only("key of a column", &COLUMN_KEYS);
    let Some(written) = section.text("type") else {
        if !section.has("type") {
            problems.note(
                entry.at,
                format!(
                    "column `{}` has no `type`, such as type = \"text\"",
                    entry.key
                ),
            );
        }
        return None;
    };
    let mut column = draft(kind(problems, written));
    column.required = section.flag("required").unwrap_or(false);
    if let Some(text) = section.text("policy") {
        column.policy = self::policy(problems, text, newest).unwrap_or(column.policy);
    }
    if let Some(max) = section.get("max") {
        column.max = max.number().and_then(|number| match u32::try_from(number) {
            Ok(number @ 1..) => Some(number),
            _ => max.expected("a number of characters, at least 1"),
        });
        if column.kind != KindDraft::Scalar(Kind::Text) {
            problems.note(
                max.at,
                "`max` is for texts: it is the most characters that one may have",
            );
        }
    }
    Some(column)
}

/// Reads a type. One that is not known is told, and taken for a text, so that what else is wrong can be told too.
fn kind(problems: &Problems<'_>, written: Text<'_>) -> KindDraft {
    let text = written.text.trim();
    if let Some(table) = text.strip_prefix("ref ") {
        return KindDraft::Ref(table.trim().to_owned());
    }
    let kind = match text {
        "text" => Kind::Text,
        "integer" => Kind::Int,
        "real" => Kind::Real,
        "decimal" => Kind::Decimal,
        "boolean" => Kind::Bool,
        "date" => Kind::Date,
        "timestamp" => Kind::Timestamp,
        "uuid" => Kind::Uuid,
        "bytes" => Kind::Bytes,
        _ => {
            let possible = [
                "text",
                "integer",
                "real",
                "decimal",
                "boolean",
                "date",
                "timestamp",
                "uuid",
                "bytes",
                "ref TABLE",
            ];
            problems.unknown(written.at, "type", text, &possible);
            Kind::Text
        }
    };
    KindDraft::Scalar(kind)
}

/// Puts the columns of the key first, in its order; one that is not declared is a text.
fn mark_key(section: Section<'_>, key: &[Text<'_>], columns: &mut Vec<ColumnDraft>) {
    for (place, part) in key.iter().enumerate() {
        if key[..place].iter().any(|other| other.text == part.text) {
            section
                .problems
                .note(part.at, format!("`{}` stands twice in the key", part.text));
            continue;
        }
        let mut column = match columns.iter().position(|column| column.name == part.text) {
            Some(at) => columns.remove(at),
            None => {
                check_name(section.problems, "column", part.text, part.at);
                ColumnDraft {
                    name: part.text.to_owned(),
                    at: part.at,
                    kind: KindDraft::Scalar(Kind::Text),
                    key: true,
                    fold: None,
                    max: None,
                    required: false,
                    policy: Policy::Once,
                }
            }
        };
        if column.kind == KindDraft::Scalar(Kind::Real) {
            section.problems.note(
                column.at,
                format!("`{}` is a real and cannot be part of a key: 0.1 has many spellings; make it a decimal", column.name),
            );
        }
        column.key = true;
        let place = place.min(columns.len());
        columns.insert(place, column);
    }
}

fn null_key(section: Section<'_>) -> bool {
    let Some(text) = section.text("null_key") else {
        return false;
    };
    match text.text {
        "reject" => false,
        "value" => true,
        other => {
            section
                .problems
                .unknown(text.at, "null_key", other, &["reject", "value"]);
            false
        }
    }
}

/// Sets the folds of the texts in the key.
fn set_folds(section: Section<'_>, default: Fold, columns: &mut [ColumnDraft]) {
    let is_text = |column: &ColumnDraft| column.key && column.kind == KindDraft::Scalar(Kind::Text);
    let mut set = |fold: Fold, name: Option<&str>| {
        let of_name = |column: &ColumnDraft| name.is_none_or(|name| column.name == name);
        let wanted = columns
            .iter_mut()
            .filter(|column| is_text(column) && of_name(column));
        wanted
            .map(|column| column.fold = (fold != Fold::EXACT).then_some(fold))
            .count()
    };
    set(default, None);
    let Some(entry) = section.get("fold") else {
        return;
    };
    if entry.item.is_str() {
        if let Some(fold) = entry.text().and_then(|text| fold(section.problems, text)) {
            set(fold, None);
        }
        return;
    }
    let Some(folds) =
        entry.section("a fold such as \"full\", or one for each column: { name = \"full\" }")
    else {
        return;
    };
    for entry in folds.entries() {
        if let Some(fold) = entry.text().and_then(|text| fold(section.problems, text))
            && set(fold, Some(entry.key)) == 0
        {
            section.problems.note(
                entry.at,
                format!(
                    "`{}` is no text of the key; only those are folded",
                    entry.key
                ),
            );
        }
    }
}

/// Reads a fold.
pub(crate) fn fold(problems: &Problems<'_>, text: Text<'_>) -> Option<Fold> {
    Fold::parse(text.text)
        .map_err(|error| problems.note(text.at, error.to_string()))
        .ok()
}

/// Reads a policy; the column of `newest:COLUMN` goes to `newest`.
pub(crate) fn policy<'t>(
    problems: &Problems<'_>,
    text: Text<'t>,
    newest: &mut Option<Text<'t>>,
) -> Option<Policy> {
    match text.text {
        "fill" => Some(Policy::Fill),
        "keep" => Some(Policy::Keep),
        "take" => Some(Policy::Take),
        "error" => Some(Policy::Error),
        other => {
            let Some(column) = other.strip_prefix("newest:").map(str::trim) else {
                problems.unknown(
                    text.at,
                    "policy",
                    other,
                    &POLICIES.split(", ").collect::<Vec<_>>(),
                );
                return None;
            };
            match newest {
                Some(other) if other.text != column => problems.note(
                    text.at,
                    format!("the rows of a table are dated by one column, here by `{}` and by `{column}`", other.text),
                ),
                _ => *newest = Some(Text { text: column, at: text.at }),
            }
            Some(Policy::Newest)
        }
    }
}

/// Checks the column that dates the rows; it is the newest one, too.
fn date_rows(problems: &Problems<'_>, newest: Text<'_>, columns: &mut [ColumnDraft]) -> String {
    let dated = [
        KindDraft::Scalar(Kind::Date),
        KindDraft::Scalar(Kind::Timestamp),
        KindDraft::Scalar(Kind::Int),
    ];
    match columns
        .iter_mut()
        .find(|column| column.name == newest.text && !column.key)
    {
        Some(column) if dated.contains(&column.kind) => column.policy = Policy::Newest,
        Some(column) => problems.note(
            newest.at,
            format!(
                "`{}` cannot date a row: expected a column of type date, timestamp or integer",
                column.name
            ),
        ),
        None => {
            let others: Vec<&str> = columns
                .iter()
                .filter(|column| !column.key)
                .map(|column| column.name.as_str())
                .collect();
            problems.unknown(newest.at, "column", newest.text, &others);
        }
    }
    newest.text.to_owned()
}

fn crosswalk(entry: Entry<'_>) -> Option<CrosswalkDraft> {
    let mut draft = CrosswalkDraft {
        table: None,
        source: "source".into(),
        external_id: "external_id".into(),
        id: None,
        same_source: SameSource::default(),
    };
    if entry.item.is_bool() {
        return entry.flag()?.then_some(draft);
    }
    let section = entry.section("true, or { table = \"…\", same_source = \"…\" }")?;
    section.only("key of a crosswalk", &CROSSWALK_KEYS);
    let name = |key: &str| {
        let text = section.text(key)?;
        check_identifier(section.problems, key, text.text, text.at);
        Some(text.text.to_owned())
    };
    draft.table = name("table");
    draft.id = name("id");
    draft.source = name("source").unwrap_or(draft.source);
    draft.external_id = name("external_id").unwrap_or(draft.external_id);
    if let Some(text) = section.text("same_source") {
        draft.same_source = match text.text {
            "split" => SameSource::Split,
            "link" => SameSource::Link,
            "error" => SameSource::Error,
            other => {
                section.problems.unknown(
                    text.at,
                    "same_source",
                    other,
                    &["split", "link", "error"],
                );
                return None;
            }
        };
    }
    Some(draft)
}

fn check_name(problems: &Problems<'_>, what: &str, name: &str, at: usize) {
    check_identifier(problems, what, name, at);
    if what == "column" && RESERVED.contains(&name.to_lowercase().as_str()) {
        problems.note(
            at,
            format!("a column cannot be called `{name}`: that name has a meaning of its own ({}); call it, say, `code`", RESERVED.join(", ")),
        );
    }
}

/// Checks a name that the database has to bear: 63 bytes in PostgreSQL, with a suffix that we may add.
fn check_identifier(problems: &Problems<'_>, what: &str, name: &str, at: usize) {
    if name.trim().is_empty() || name.trim() != name || name.chars().any(char::is_control) {
        problems.note(at, format!("{name:?} cannot name a {what}: expected a name without space at its ends and without control characters"));
    } else if name.len() > 58 {
        problems.note(
            at,
            format!(
                "`{name}` is too long for a {what}: expected at most 58 bytes, found {}",
                name.len()
            ),
        );
    }
}
