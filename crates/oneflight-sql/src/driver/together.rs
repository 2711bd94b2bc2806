//! Statements that are sent together, as one text: one round trip for all that waits for nobody's decision.
//!
//! ```text
//!   [Begin, Run a, Run b │ Run c (binds), Run d, End]      a text ends where a statement binds, and where it grows too long
//!    ╰── one text ────╯   ╰── alone ──╯  ╰─ one text ─╯
//! ```
//!
//! X1. A database stops at the first statement of a text that fails: what comes after it has not been run.
//! X2. Each statement of a text answers, in order; an answer belongs to the message whose statement it is.

use super::pipeline::{Rows, Statement};
use std::collections::VecDeque;

/// A text in the making.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) sql: String,
    pub(super) parts: VecDeque<Part>,
}

/// What one statement of a text is for.
#[derive(Debug)]
pub(super) enum Part {
    /// It begins the transaction.
    Begin,
    /// It brings the rows of a message back.
    Run(Statement, Rows),
    /// It ends the transaction.
    End,
}

impl Text {
    /// Adds a statement.
    pub(super) fn add(&mut self, sql: &str, part: Part) {
        if !self.sql.is_empty() {
            // On a line of its own, lest a comment at the end of the one before swallow it.
            self.sql.push_str("\n; ");
        }
        self.sql.push_str(sql.trim_end().trim_end_matches(';'));
        self.parts.push_back(part);
    }

    /// Adds a statement that binds nothing.
    pub(super) fn run(&mut self, statement: Statement) {
        let rows = Rows {
            width: statement.returns.len(),
            ..Rows::default()
        };
        let sql = statement.sql.clone();
        self.add(&sql, Part::Run(statement, rows));
    }
}
