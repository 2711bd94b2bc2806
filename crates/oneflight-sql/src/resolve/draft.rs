//! A draft: a record as a caller says it, by name and unfolded.
//!
//!   Draft::new().key("Ada@Example.org").set("name", "Ada")  ──table──▶  Record { key: ["ada@example.org"], attributes: [..] }
//!
//! D1. A record that comes out fits its table: one value a key column, none null, each of the column's kind.

use super::entity::{Entity, KeyRule};
use crate::error::Error;
use crate::record::{External, Record};
use crate::schema::Column;
use crate::value::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Which row is meant, and what is known of it.
///
/// A plain value is a draft already: the key of a table whose key is one column. So is a [`Record`], which is taken as it is,
/// folded by whoever made it.
///
/// # Examples
/// ```
/// use oneflight_sql::Draft;
///
/// let by_key: Draft = "Ada@Example.org".into();
/// let by_two_columns = Draft::new().key(1996).key("monaco");
/// let by_their_id = Draft::new().external("opta", "p17733").key("Ada Lovelace").set("born", 1815);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a draft does nothing until it is resolved"]
pub struct Draft {
    key: Vec<Value>,
    external: Option<External>,
    set: Vec<(Box<str>, Value)>,
    /// The slots of a record that was made elsewhere; its key is folded already.
    ready: Option<Box<[Option<Value>]>>,
}

impl Draft {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of the next key column.
    pub fn key(mut self, value: impl Into<Value>) -> Self {
        self.key.push(value.into());
        self
    }

    /// The id that another system gave, and which system. The table must have a crosswalk.
    pub fn external(mut self, source: impl Into<Arc<str>>, id: impl Into<Box<str>>) -> Self {
        self.external = Some(External {
            source: source.into(),
            id: id.into(),
        });
        self
    }

    /// The value of an attribute, by the name of its column. Null is the same as not said for a row that exists.
    pub fn set(mut self, column: impl Into<Box<str>>, value: impl Into<Value>) -> Self {
        self.set.push((column.into(), value.into()));
        self
    }

    /// The record that this is in `entity` (D1).
    pub(crate) fn into_record(self, entity: &Entity) -> Result<Record, Error> {
        let table = entity.table();
        let is_folded = self.ready.is_some();
        let mut attributes = match self.ready {
            Some(slots) if slots.len() == table.attributes.len() => slots,
            Some(slots) if slots.is_empty() => vec![None; table.attributes.len()].into(),
            Some(slots) => {
                return Err(wrong_width(
                    entity,
                    "attributes",
                    slots.len(),
                    table.attributes.len(),
                ));
            }
            None => vec![None; table.attributes.len()].into(),
        };
        for (name, value) in self.set {
            let slot = table
                .attributes
                .iter()
                .position(|attribute| *attribute.column.name == *name);
            let slot = slot.ok_or_else(|| no_attribute(entity, &name))?;
            attributes[slot] = Some(value);
        }
        for (attribute, value) in table.attributes.iter().zip(&attributes) {
            value
                .iter()
                .try_for_each(|value| check_kind(entity, &attribute.column, value))?;
        }
        if self.external.is_some() && table.crosswalk.is_none() {
            return Err(Error::usage(format!(
                "table `{}` has no crosswalk, so it knows no external ids",
                table.name
            )));
        }
        let key = fold_key(self.key, entity, is_folded, &mut attributes)?;
        if key.is_none() && self.external.is_none() {
            return Err(Error::usage(format!(
                "a record for table `{}` has neither a key nor an external id",
                table.name
            )));
        }
        Ok(Record {
            key,
            external: self.external,
            attributes,
        })
    }
}

impl From<Record> for Draft {
    fn from(record: Record) -> Self {
        Self {
            key: record.key.map(Vec::from).unwrap_or_default(),
            external: record.external,
            set: Vec::new(),
            ready: Some(record.attributes),
        }
    }
}

impl From<External> for Draft {
    fn from(external: External) -> Self {
        Self {
            external: Some(external),
            ..Self::default()
        }
    }
}

macro_rules! key_from {
    ($($kind:ty),+) => {$(
        impl From<$kind> for Draft {
            fn from(key: $kind) -> Self {
                Self::new().key(key)
            }
        }
    )+};
}

key_from!(Value, &str, String, Box<str>, i32, i64, u32, [u8; 16]);

impl From<&String> for Draft {
    fn from(key: &String) -> Self {
        Self::new().key(key.as_str())
    }
}

/// Folds the key, and puts its spelling beside it unless the caller has said another.
fn fold_key(
    key: Vec<Value>,
    entity: &Entity,
    is_folded: bool,
    attributes: &mut [Option<Value>],
) -> Result<Option<Box<[Value]>>, Error> {
    let columns = &entity.table().key;
    if key.is_empty() {
        return Ok(None);
    }
    if key.len() != columns.len() {
        return Err(wrong_width(entity, "key columns", key.len(), columns.len()));
    }
    let mut folded = Vec::with_capacity(key.len());
    for ((value, column), rule) in key.into_iter().zip(columns).zip(entity.rules()) {
        check_kind(entity, column, &value)?;
        let value = match value {
            Value::Text(text) if !is_folded => fold_text(text, rule, attributes),
            value => value,
        };
        folded.push(if is_no_key(&value, is_folded) {
            stand_in(entity, column, rule)?
        } else {
            value
        });
    }
    Ok(Some(folded.into()))
}

fn fold_text(text: Box<str>, rule: &KeyRule, attributes: &mut [Option<Value>]) -> Value {
    if let Some(shown) = rule.shown
        && attributes[shown].is_none()
    {
        attributes[shown] = Some(Value::Text(rule.fold.shown(&text).into()));
    }
    match rule.fold.apply(&text) {
        Cow::Borrowed(same) if same.len() == text.len() => Value::Text(text),
        folded => Value::Text(folded.into()),
    }
}

/// A blank text is what feeds write for null. Who makes records by hand means what they say.
fn is_no_key(value: &Value, is_folded: bool) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty() && !is_folded,
        _ => false,
    }
}

fn stand_in(entity: &Entity, column: &Column, rule: &KeyRule) -> Result<Value, Error> {
    rule.null_as.clone().ok_or_else(|| {
        let (table, column) = (&entity.table().name, &column.name);
        Error::usage(format!(
            "key column `{column}` of table `{table}` is null or empty, and that is no key"
        ))
    })
}

fn check_kind(entity: &Entity, column: &Column, value: &Value) -> Result<(), Error> {
    if value.kind().is_none_or(|kind| kind == column.kind) {
        return Ok(());
    }
    let (table, name, kind) = (&entity.table().name, &column.name, column.kind);
    Err(Error::usage(format!(
        "column `{name}` of table `{table}` is {kind}, and {} is not",
        value.told()
    )))
}

fn no_attribute(entity: &Entity, name: &str) -> Error {
    let table = entity.table();
    let known = table
        .attributes
        .iter()
        .map(|attribute| &*attribute.column.name)
        .collect::<Vec<_>>();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Error::usage(format!(
        "table `{}` has no attribute `{name}`: it has {known}",
        table.name
    ))
}

fn wrong_width(entity: &Entity, what: &str, found: usize, expected: usize) -> Error {
    Error::usage(format!(
        "a record for table `{}` has {found} {what}, expected {expected}",
        entity.table().name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fold, Kind, Table};

    fn clubs() -> Entity {
        Table::builder("club")
            .id("id")
            .key("country", Kind::Int)
            .key_text("name_key", Fold::FULL)
            .null_as("(none)")
            .shown("name")
            .attribute("founded", Kind::Int)
            .crosswalk("club_xref")
            .build()
            .unwrap()
    }

    fn debug(record: &Record) -> String {
        format!("{record:?}")
    }

    #[track_caller]
    fn refused(draft: Draft, why: &str) {
        let message = draft.into_record(&clubs()).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }

    #[test]
    fn a_key_is_folded_and_its_spelling_kept_beside_it() {
        let record = Draft::new()
            .key(44)
            .key(" ARSENAL  fc")
            .into_record(&clubs())
            .unwrap();
        assert!(
            debug(&record).contains(r#"key: Some([Int(44), Text("arsenal fc")])"#),
            "{record:?}"
        );
        assert!(
            debug(&record).contains(r#"attributes: [Some(Text("ARSENAL fc")), None]"#),
            "{record:?}"
        );
    }

    #[test]
    fn a_spelling_that_the_caller_says_is_kept() {
        let record = Draft::new()
            .key(44)
            .key("ARSENAL")
            .set("name", "Arsenal F.C.")
            .into_record(&clubs())
            .unwrap();
        assert!(
            debug(&record).contains(r#"attributes: [Some(Text("Arsenal F.C.")), None]"#),
            "{record:?}"
        );
    }

    #[test]
    fn a_null_part_is_refused_or_has_a_stand_in() {
        refused(
            Draft::new().key(Value::Null).key("x"),
            "key column `country` of table `club` is null or empty",
        );
        for null in [Value::Null, "".into(), " \u{a0}".into()] {
            let record = Draft::new()
                .key(44)
                .key(null)
                .into_record(&clubs())
                .unwrap();
            assert!(
                debug(&record).contains(r#"key: Some([Int(44), Text("(none)")])"#),
                "{record:?}"
            );
        }
    }

    #[test]
    fn a_ready_record_is_taken_as_it_is() {
        let key = Some(Box::from([Value::Int(44), Value::Text("AS IS".into())]));
        let record = Record {
            key,
            external: None,
            attributes: Box::from([None, Some(Value::Int(1886))]),
        };
        let taken = Draft::from(record.clone()).into_record(&clubs()).unwrap();
        assert_eq!(debug(&taken), debug(&record));
        let bare = Record {
            attributes: Box::default(),
            ..record
        };
        assert_eq!(
            Draft::from(bare)
                .into_record(&clubs())
                .unwrap()
                .attributes
                .len(),
            2
        );
    }

    #[test]
    fn a_draft_that_does_not_fit_the_table_is_refused_with_the_reason() {
        refused(Draft::new(), "neither a key nor an external id");
        refused("just one".into(), "has 1 key columns, expected 2");
        refused(
            Draft::new().key("44").key("x"),
            "column `country` of table `club` is integer, and the text `44` is not",
        );
        refused(
            Draft::new().key(44).key("x").set("colour", "red"),
            "no attribute `colour`: it has name, founded",
        );
        refused(
            Draft::new().key(44).key("x").set("founded", "1886"),
            "column `founded` of table `club` is integer, and the text `1886` is not",
        );
        let without = Entity::from(Table {
            crosswalk: None,
            ..clubs().table().clone()
        });
        let error = Draft::new()
            .external("opta", "1")
            .into_record(&without)
            .unwrap_err();
        assert!(error.to_string().contains("has no crosswalk"), "{error}");
    }
}
