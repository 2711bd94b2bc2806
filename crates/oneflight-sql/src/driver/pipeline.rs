//! A pipeline: statements that belong together, and what they bring back.
//!
//! P1. Only text, integers, floats, booleans and bytes travel. What else there is (days, times, decimals, UUIDs) is put into one
//!     of these, and taken out again, by the dialect, so that every driver is a thin one.

use super::error::DriverError;
use crate::columns::{Cells, Columns};
use crate::value::{Kind, Value};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One statement: its text, what is bound to it, and the kinds of the columns that it returns.
#[derive(Clone, Debug)]
#[must_use = "a statement does nothing until it is run"]
pub struct Statement {
    pub(crate) sql: Arc<str>,
    pub(crate) binds: Vec<Bind>,
    pub(crate) returns: Vec<Kind>,
}

impl Statement {
    /// A statement that binds nothing and returns nothing.
    pub fn new(sql: impl Into<Arc<str>>) -> Self {
        Self {
            sql: sql.into(),
            binds: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// Binds the next parameter.
    pub fn bind(mut self, bind: Bind) -> Self {
        self.binds.push(bind);
        self
    }

    /// Binds a text.
    pub fn text(self, text: impl Into<Box<str>>) -> Self {
        self.bind(Bind::One(Kind::Text, Value::Text(text.into())))
    }

    /// Binds an integer.
    pub fn int(self, int: i64) -> Self {
        self.bind(Bind::One(Kind::Int, Value::Int(int)))
    }

    /// Says what the columns of its rows are: text, integers, floats, booleans, or bytes (P1).
    pub fn returns(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        self.returns = kinds.into_iter().collect();
        self
    }

    /// Its text.
    pub fn sql(&self) -> &str {
        &self.sql
    }
}

/// What is bound to a parameter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Bind {
    /// One value, of this kind even if it is null.
    One(Kind, Value),
    /// An array, on PostgreSQL only.
    Many(Kind, Vec<Value>),
    /// Cells of rows that are kept by the column, one parameter a cell, row by row; on SQLite only.
    Rows(BindRows),
    /// A column as an array, on PostgreSQL only.
    Column(BindColumn),
}

/// A column that is bound as an array: the one with this number, those of the key first.
#[derive(Clone, Debug)]
pub struct BindColumn {
    pub(crate) columns: Arc<Columns>,
    pub(crate) at: usize,
}

impl BindColumn {
    /// Its cells; none of an attribute that nobody says.
    pub(crate) fn cells(&self) -> Option<&Cells> {
        let key = self.columns.key();
        match self.at.checked_sub(key.len()) {
            None => key.get(self.at),
            Some(at) => self.columns.attributes().get(at)?.as_ref(),
        }
    }
}

/// Rows that are bound cell by cell: those of `rows`, of each the columns of the key, then the attributes of `said`.
#[derive(Clone, Debug)]
pub struct BindRows {
    pub(crate) columns: Arc<Columns>,
    pub(crate) said: Arc<[usize]>,
    pub(crate) rows: Range<usize>,
}

/// Rows that a statement returned.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(crate) width: usize,
    pub(crate) cells: Vec<Value>,
    pub(crate) affected: u64,
}

impl Rows {
    /// The rows, one slice of values each.
    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        self.cells.chunks_exact(self.width.max(1))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// How many rows the statement changed, as the database counts them.
    pub fn affected(&self) -> u64 {
        self.affected
    }
}

/// Statements that are run in order.
#[derive(Debug)]
#[must_use = "a pipeline does nothing until it is run"]
pub struct Pipeline {
    pub(crate) mode: Mode,
    pub(crate) steps: Vec<Step>,
    pub(crate) after: Vec<Statement>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            steps: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Adds a statement.
    pub fn step(mut self, statement: Statement) -> Self {
        self.steps.push(Step::Run(statement));
        self
    }

    /// Adds statements that depend on the rows of all those before. The transaction stays open while `decide` runs, so that
    /// must be quick; with a pipelining driver it costs one more round trip.
    pub fn then<F>(mut self, decide: F) -> Self
    where
        F: FnOnce(&[Rows]) -> Result<Vec<Statement>, DriverError> + Send + 'static,
    {
        self.steps.push(Step::Then(Decide(Box::new(decide))));
        self
    }

    /// Adds a statement that runs after the commit, and so in a new snapshot.
    pub fn after(mut self, statement: Statement) -> Self {
        self.after.push(statement);
        self
    }
}

/// What holds the statements of a pipeline together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing: each statement is on its own.
    Plain,
    /// A short transaction that may write: READ COMMITTED, on SQLite IMMEDIATE.
    Write {
        /// MySQL and MariaDB: name of the lock that is taken before it begins and given back after it ends. Letters, digits
        /// and `:` only.
        lock: Option<Arc<str>>,
    },
}

/// A step of a pipeline.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// Run this.
    Run(Statement),
    /// Decide what to run next.
    Then(Decide),
}

/// A decision that waits for rows.
pub struct Decide(pub(crate) Deciding);

type Deciding = Box<dyn FnOnce(&[Rows]) -> Result<Vec<Statement>, DriverError> + Send>;

impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decide(..)")
    }
}
