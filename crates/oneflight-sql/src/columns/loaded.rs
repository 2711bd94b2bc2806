//! What became of loaded rows.

use crate::error::Error;
use crate::record::{Applied, Effect};

/// What became of the rows that were loaded: what most of them came to, and those that came to something else.
#[derive(Clone, Debug)]
#[must_use = "a row may have failed"]
pub struct Loaded {
    len: usize,
    usual: Effect,
    /// Sorted by row.
    others: Vec<(usize, Result<Applied, Error>)>,
}

impl Loaded {
    /// All rows alike, without a conflict.
    pub(crate) fn all(len: usize, usual: Effect) -> Self {
        Self {
            len,
            usual,
            others: Vec::new(),
        }
    }

    /// One outcome each; what the first one came to is taken for the usual.
    pub(crate) fn each(outcomes: impl ExactSizeIterator<Item = Result<Applied, Error>>) -> Self {
        let len = outcomes.len();
        let mut others: Vec<_> = outcomes.enumerate().collect();
        let effect = |outcome: &Result<Applied, Error>| outcome.as_ref().ok().map(|a| a.effect);
        let usual = others.first().and_then(|(_, first)| effect(first));
        let usual = usual.unwrap_or(Effect::Found);
        others.retain(|(_, outcome)| !is_plain(outcome, usual));
        Self { len, usual, others }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The effect that all rows had, without a conflict and without an error; none if they differ.
    pub fn alike(&self) -> Option<Effect> {
        self.others.is_empty().then_some(self.usual)
    }

    /// What became of one row.
    ///
    /// # Errors
    /// As for [`Store::merge`](crate::Store::merge).
    ///
    /// # Panics
    /// There is no such row.
    pub fn get(&self, row: usize) -> Result<Applied, &Error> {
        assert!(row < self.len, "row {row} of {}", self.len);
        match self.others.binary_search_by_key(&row, |(row, _)| *row) {
            Ok(at) => self.others[at].1.as_ref().copied(),
            Err(_) => Ok(Applied::plain(self.usual)),
        }
    }

    /// What became of each row, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Applied, &Error>> {
        let mut others = self.others.iter().peekable();
        (0..self.len).map(
            move |row| match others.next_if(|(other, _)| *other == row) {
                Some((_, outcome)) => outcome.as_ref().copied(),
                None => Ok(Applied::plain(self.usual)),
            },
        )
    }
}

fn is_plain(outcome: &Result<Applied, Error>, effect: Effect) -> bool {
    matches!(outcome, Ok(applied) if *applied == Applied::plain(effect))
}
