//! A table as its database has it: quoted names, column types, collations.

use super::{Dialect, Room};
use crate::schema::Table;
use crate::value::Kind;
use std::sync::Arc;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Col {
    /// Its name, as described.
    pub(crate) name: String,
    /// Its name, quoted.
    pub(crate) quoted: String,
    /// Its kind, as described.
    pub(crate) kind: Kind,
    /// Its type, as the database has it: on PostgreSQL what a cast takes, elsewhere the lower-case name.
    pub(crate) db_type: String,
    /// Its type as it was declared, in lower case, with what stands in brackets.
    pub(crate) full_type: String,
    /// MySQL: its collation.
    pub(crate) collation: Option<String>,
    /// What it keeps of a value.
    pub(crate) room: Room,
}

impl Col {
    /// True if the collation takes no account of spaces at the end.
    pub(crate) fn pads(&self) -> bool {
        self.collation.as_deref().is_some_and(|name| {
            !name.contains("nopad") && !name.contains("0900") && name != "binary"
        })
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The database's SQL.
    pub(crate) dialect: Dialect,
    /// The table, as described.
    pub(crate) table: Arc<Table>,
    /// Its name, quoted.
    pub(crate) name: String,
    /// The id column.
    pub(crate) id: Option<Col>,
    /// PostgreSQL: the expression that gives the next id.
    pub(crate) next_id: Option<String>,
    /// The key columns.
    pub(crate) key: Vec<Col>,
    /// The attributes.
    pub(crate) attributes: Vec<Col>,
    /// True if no unique index stands on the table but those of its id and its key.
    pub(crate) is_keyed_alone: bool,
    /// The crosswalk.
    pub(crate) links: Option<Links>,
    /// PostgreSQL: the class of the advisory locks of this table.
    pub(crate) class: i32,
    /// MySQL: the lock of the database.
    pub(crate) lock: Option<Arc<str>>,
}

impl Layout {
    /// What names a row in statements that change it: the id, or the key where there is none.
    pub(crate) fn handle(&self) -> &[Col] {
        match &self.id {
            Some(id) => std::slice::from_ref(id),
            None => &self.key,
        }
    }
}

/// A crosswalk.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// Its name, quoted.
    pub(crate) name: String,
    /// The source.
    pub(crate) source: Col,
    /// The external id.
    pub(crate) external_id: Col,
    /// The id of the row.
    pub(crate) id: Col,
}
