//! An entity: a table, and how the keys of its rows are folded.
//!
//!   Table::builder("users").id("id").key_text("email_key", Fold::FULL).shown("email").build()
//!     key     "  Ada@Example.ORG "  ──fold──▶  email_key = "ada@example.org"      (unique)
//!     shown                         ──────▶  email     = "Ada@Example.ORG"      (once, when the row is made)
//!
//! N1. There is one rule for each key column, in the order of the key.

use crate::Fold;
use crate::error::Error;
use crate::schema::{Attribute, Column, Crosswalk, Policy, Reference, SameSource, Table};
use crate::value::{Kind, Value};

/// A table whose rows a [`Resolver`](crate::Resolver) finds or creates, and the way from what a caller says to the key that is
/// stored. Made by [`Table::builder`], or from a plain [`Table`]: then every key is exact.
#[derive(Clone, Debug)]
pub struct Entity {
    table: Table,
    rules: Box<[KeyRule]>,
}

impl Entity {
    /// The table, for [`Store`](crate::Store) and [`ddl`](crate::ddl).
    pub fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn rules(&self) -> &[KeyRule] {
        &self.rules
    }
}

impl From<Table> for Entity {
    fn from(table: Table) -> Self {
        let rules = table.key.iter().map(|_| KeyRule::default()).collect();
        Self { table, rules }
    }
}

/// How one key column is filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRule {
    /// What is done to a text.
    pub(crate) fold: Fold,
    /// The attribute that keeps the spelling.
    pub(crate) shown: Option<usize>,
    /// What stands for null.
    pub(crate) null_as: Option<Value>,
}

impl Table {
    /// Describes a table by naming its columns, one after the other.
    ///
    /// The key columns come in the order of the unique index that covers them. Methods such as [`EntityBuilder::shown`] or
    /// [`EntityBuilder::references`] say more of the column that was named last.
    ///
    /// # Examples
    /// ```
    /// use oneflight_sql::{Fold, Kind, Policy, Table};
    ///
    /// let users = Table::builder("users")
    ///     .id("id")
    ///     .key_text("email_key", Fold::FULL)
    ///     .shown("email")
    ///     .attribute("name", Kind::Text)
    ///     .attribute("last_seen", Kind::Timestamp)
    ///     .policy(Policy::Take)
    ///     .build()?;
    /// assert_eq!(users.table().key[0].name, "email_key");
    /// # Ok::<(), oneflight_sql::Error>(())
    /// ```
    pub fn builder(name: impl Into<String>) -> EntityBuilder {
        EntityBuilder {
            table: Table {
                name: name.into(),
                id: None,
                key: Vec::new(),
                attributes: Vec::new(),
                newest_by: None,
                crosswalk: None,
            },
            rules: Vec::new(),
            last: Last::Nothing,
            wrong: None,
        }
    }
}

/// A table that is being described: see [`Table::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is described until `build` is called"]
pub struct EntityBuilder {
    table: Table,
    rules: Vec<KeyRule>,
    last: Last,
    wrong: Option<String>,
}

/// Which column was named last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Key,
    Attribute,
    Shown,
}

impl EntityBuilder {
    /// The column with the row's id: the one that the database fills when a row is made.
    pub fn id(mut self, column: impl Into<String>) -> Self {
        self.table.id = Some(column.into());
        self.last = Last::Nothing;
        self
    }

    /// A key column that is no text, or an exact one. It must be NOT NULL and of the kind that is said.
    pub fn key(self, column: impl Into<String>, kind: Kind) -> Self {
        let fold = Fold::EXACT;
        self.push_key(column.into(), kind, fold)
    }

    /// A key column of text, folded. It holds at most 255 characters unless [`EntityBuilder::max_chars`] says otherwise.
    pub fn key_text(self, column: impl Into<String>, fold: Fold) -> Self {
        self.push_key(column.into(), Kind::Text, fold)
            .max_chars(255)
    }

    /// An attribute: a column outside the key that a record may set. [`Policy::Fill`] unless [`EntityBuilder::policy`] says otherwise.
    pub fn attribute(mut self, column: impl Into<String>, kind: Kind) -> Self {
        self.push_attribute(column.into(), kind, Policy::Fill);
        self.last = Last::Attribute;
        self
    }

    /// The text column that keeps, for people, the key that was named last as it was spelled when the row was made.
    pub fn shown(mut self, column: impl Into<String>) -> Self {
        let column = column.into();
        let shown = self.table.attributes.len();
        match (self.last, self.rules.last_mut(), self.table.key.last()) {
            (Last::Key, Some(rule), Some(key)) if key.kind == Kind::Text => {
                rule.shown = Some(shown)
            }
            _ => {
                return self.mistaken(format!(
                    "`shown({column:?})` does not follow a key column of text"
                ));
            }
        }
        self.push_attribute(column, Kind::Text, Policy::Once);
        self.last = Last::Shown;
        self
    }

    /// What is stored in the key column named last for a key part that is null, or a text that is empty once it is folded.
    /// Without it, a key with such a part is refused: a unique index lets any number of nulls in, so null can't be a key.
    pub fn null_as(mut self, value: impl Into<Value>) -> Self {
        match (self.last, self.rules.last_mut()) {
            (Last::Key | Last::Shown, Some(rule)) => rule.null_as = Some(value.into()),
            _ => return self.mistaken("`null_as` does not follow a key column"),
        }
        self
    }

    /// The most characters that the column named last may hold.
    pub fn max_chars(mut self, max_chars: u32) -> Self {
        match self.last_column() {
            Some(column) => column.max_chars = Some(max_chars),
            None => return self.mistaken("`max_chars` does not follow a column"),
        }
        self
    }

    /// The column named last holds ids of rows of another table: a foreign key where we create the table.
    pub fn references(mut self, table: impl Into<String>, column: impl Into<String>) -> Self {
        let reference = Reference {
            table: table.into(),
            column: column.into(),
        };
        match self.last_column() {
            Some(column) => column.references = Some(reference),
            None => return self.mistaken("`references` does not follow a column"),
        }
        self
    }

    /// What happens when a row exists and its value in the attribute named last differs.
    pub fn policy(mut self, policy: Policy) -> Self {
        match (self.last, self.table.attributes.last_mut()) {
            (Last::Attribute, Some(attribute)) => attribute.policy = policy,
            _ => return self.mistaken("`policy` does not follow an attribute"),
        }
        self
    }

    /// The attribute named last is NOT NULL where we create the table: a row can't be made without it.
    pub fn required(mut self) -> Self {
        match (self.last, self.table.attributes.last_mut()) {
            (Last::Attribute, Some(attribute)) => attribute.required = true,
            _ => return self.mistaken("`required` does not follow an attribute"),
        }
        self
    }

    /// The attribute that dates a row, for [`Policy::Newest`].
    pub fn newest_by(mut self, attribute: impl Into<String>) -> Self {
        self.table.newest_by = Some(attribute.into());
        self
    }

    /// The table with the external ids of the rows, unique on `(source, external_id)`. Its columns are called `source`,
    /// `external_id` and `entity_id` unless [`EntityBuilder::crosswalk_columns`] says otherwise.
    pub fn crosswalk(mut self, table: impl Into<String>) -> Self {
        self.table.crosswalk = Some(Crosswalk {
            table: table.into(),
            source: "source".into(),
            external_id: "external_id".into(),
            id: "entity_id".into(),
            same_source: SameSource::default(),
        });
        self.last = Last::Nothing;
        self
    }

    /// The columns of the crosswalk: who gave the id, the id, and the id of the row.
    pub fn crosswalk_columns(
        mut self,
        source: impl Into<String>,
        external_id: impl Into<String>,
        id: impl Into<String>,
    ) -> Self {
        match &mut self.table.crosswalk {
            Some(crosswalk) => {
                crosswalk.source = source.into();
                crosswalk.external_id = external_id.into();
                crosswalk.id = id.into();
            }
            None => return self.mistaken("`crosswalk_columns` does not follow `crosswalk`"),
        }
        self
    }

    /// What is made of a second external id of one source under one key.
    pub fn same_source(mut self, same_source: SameSource) -> Self {
        match &mut self.table.crosswalk {
            Some(crosswalk) => crosswalk.same_source = same_source,
            None => return self.mistaken("`same_source` does not follow `crosswalk`"),
        }
        self
    }

    /// Ends the description.
    ///
    /// # Errors
    /// What was described is no table whose rows can be told apart: no key and no crosswalk, a column named twice, a
    /// [`EntityBuilder::newest_by`] that is no attribute, or a method that followed the wrong column.
    pub fn build(self) -> Result<Entity, Error> {
        match self.first_mistake() {
            Some(mistake) => Err(Error::usage(format!(
                "table `{}`: {mistake}",
                self.table.name
            ))),
            None => Ok(Entity {
                table: self.table,
                rules: self.rules.into(),
            }),
        }
    }

    fn push_key(mut self, column: String, kind: Kind, fold: Fold) -> Self {
        self.table.key.push(Column {
            name: column,
            kind,
            max_chars: None,
            references: None,
        });
        self.rules.push(KeyRule {
            fold,
            shown: None,
            null_as: None,
        });
        self.last = Last::Key;
        self
    }

    fn push_attribute(&mut self, column: String, kind: Kind, policy: Policy) {
        let column = Column {
            name: column,
            kind,
            max_chars: None,
            references: None,
        };
        self.table.attributes.push(Attribute {
            column,
            required: false,
            policy,
        });
    }

    fn last_column(&mut self) -> Option<&mut Column> {
        match self.last {
            Last::Nothing => None,
            Last::Key => self.table.key.last_mut(),
            Last::Attribute | Last::Shown => self
                .table
                .attributes
                .last_mut()
                .map(|attribute| &mut attribute.column),
        }
    }

    /// Keeps the first mistake; `build` tells it.
    fn mistaken(mut self, what: impl Into<String>) -> Self {
        self.wrong.get_or_insert_with(|| what.into());
        self
    }

    fn first_mistake(&self) -> Option<String> {
        let table = &self.table;
        if let Some(wrong) = &self.wrong {
            return Some(wrong.clone());
        }
        if table.key.is_empty() && table.crosswalk.is_none() {
            return Some(
                "it has neither a key nor a crosswalk, so no row can be told from another".into(),
            );
        }
        if table.crosswalk.is_some() && table.id.is_none() {
            return Some(
                "it has a crosswalk but no id column that the crosswalk could refer to".into(),
            );
        }
        let attributes = table.attributes.iter().map(|attribute| &attribute.column);
        let names: Vec<&String> = table
            .id
            .iter()
            .chain(table.key.iter().chain(attributes).map(|c| &c.name))
            .collect();
        if let Some((_, name)) = names
            .iter()
            .enumerate()
            .find(|(at, name)| names[..*at].contains(name))
        {
            return Some(format!("column `{name}` is named twice"));
        }
        if let Some(key) = table.key.iter().find(|key| key.kind == Kind::Real) {
            return Some(format!(
                "key column `{}` is a float, and floats are not equal when they look it",
                key.name
            ));
        }
        self.newest_by_mistake()
    }

    fn newest_by_mistake(&self) -> Option<String> {
        let by_date = self
            .table
            .attributes
            .iter()
            .find(|attribute| attribute.policy == Policy::Newest);
        match (&self.table.newest_by, by_date) {
            (None, Some(attribute)) => Some(format!(
                "`{}` is kept newest, but `newest_by` does not say by what",
                attribute.column.name
            )),
            (Some(by), _)
                if !self
                    .table
                    .attributes
                    .iter()
                    .any(|attribute| attribute.column.name == *by) =>
            {
                Some(format!("`newest_by({by:?})` is no attribute"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(builder: EntityBuilder, why: &str) {
        let message = builder.build().unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }

    #[test]
    fn a_table_is_described_by_naming_its_columns() {
        let entity = Table::builder("app.club")
            .id("id")
            .key("country_id", Kind::Int)
            .references("app.country", "id")
            .key_text("name_key", Fold::FULL)
            .max_chars(80)
            .shown("name")
            .attribute("founded", Kind::Int)
            .policy(Policy::Newest)
            .attribute("seen_at", Kind::Timestamp)
            .required()
            .newest_by("seen_at")
            .crosswalk("app.club_xref")
            .crosswalk_columns("provider", "their_id", "club_id")
            .same_source(SameSource::Link)
            .build()
            .unwrap();
        let table = entity.table();
        assert_eq!(
            table.key[0].references.as_ref().map(|r| &*r.table),
            Some("app.country")
        );
        assert_eq!(
            (table.key[1].max_chars, entity.rules()[1].shown),
            (Some(80), Some(0))
        );
        assert_eq!(table.attributes[0].policy, Policy::Once);
        assert_eq!(table.attributes[1].policy, Policy::Newest);
        assert!(table.attributes[2].required);
        assert_eq!(
            table.crosswalk.as_ref().map(|x| (&*x.id, x.same_source)),
            Some(("club_id", SameSource::Link))
        );
    }

    #[test]
    fn a_description_that_makes_no_sense_is_refused_with_the_reason() {
        let table = || Table::builder("t").id("id");
        refused(table(), "neither a key nor a crosswalk");
        refused(table().key("id", Kind::Int), "`id` is named twice");
        refused(
            table().key("k", Kind::Int).shown("s"),
            "does not follow a key column of text",
        );
        refused(table().key("k", Kind::Real), "is a float");
        refused(
            table().key("k", Kind::Int).policy(Policy::Take),
            "`policy` does not follow",
        );
        refused(
            table()
                .key("k", Kind::Int)
                .attribute("a", Kind::Int)
                .policy(Policy::Newest),
            "does not say by what",
        );
        refused(
            table().key("k", Kind::Int).newest_by("a"),
            "is no attribute",
        );
        refused(Table::builder("t").crosswalk("x"), "no id column");
    }
}
