//! Members that stand after the rows that their object encloses: written by the survey, read back by the second walk.
//!
//!   survey:  object closes ──put──▶ level 0 │ level 1 │ …  ──take──▶ second walk: object is entered
//!
//! K1. Objects of one level are never nested in each other, so they close in the order in which they are entered: a queue for
//!     each level is enough, and it lives in a file once it is large.

use crate::rows::Scope;
use serde_json::{Map, Value};
use std::io::{self, Read, Seek, Write};
use tempfile::SpooledTempFile;

/// The most bytes that a member of an enclosing object may have to be kept; one that is larger is in [`Scope::omitted`].
pub const MAX_SCOPE_MEMBER: usize = 1 << 20;

/// Members of one object.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) values: Map<String, Value>,
    pub(super) omitted: Vec<String>,
}

impl Members {
    /// Adds members that come later, which win over earlier ones of the same name.
    pub(super) fn extend(&mut self, later: Self) {
        self.values.extend(later.values);
        self.omitted.extend(later.omitted);
    }

    pub(super) fn into_scope(self, parent: Option<std::sync::Arc<Scope>>) -> Scope {
        Scope {
            value: Value::Object(self.values),
            omitted: self.omitted,
            parent,
        }
    }
}

/// The queues.
#[derive(Debug, Default)]
pub(super) struct Late {
    levels: Vec<SpooledTempFile>,
}

impl Late {
    const IN_MEMORY: usize = 1 << 20;

    /// Appends what an object of this level had after its rows.
    pub(super) fn put(&mut self, level: usize, members: &Members) -> io::Result<()> {
        while self.levels.len() <= level {
            self.levels.push(SpooledTempFile::new(Self::IN_MEMORY));
        }
        let bytes = match members.values.is_empty() && members.omitted.is_empty() {
            true => Vec::new(),
            false => serde_json::to_vec(&(&members.values, &members.omitted))?,
        };
        self.levels[level].write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.levels[level].write_all(&bytes)
    }

    /// Ends the writing.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.levels.iter_mut().try_for_each(Seek::rewind)
    }

    /// Takes what the next object of this level has after its rows.
    pub(super) fn take(&mut self, level: usize) -> io::Result<Members> {
        let Some(queue) = self.levels.get_mut(level) else {
            return Ok(Members::default());
        };
        let mut length = [0; 8];
        queue.read_exact(&mut length)?;
        let mut bytes = Vec::new();
        queue
            .take(u64::from_le_bytes(length))
            .read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(Members::default());
        }
        let (values, omitted) = serde_json::from_slice(&bytes)?;
        Ok(Members { values, omitted })
    }
}
