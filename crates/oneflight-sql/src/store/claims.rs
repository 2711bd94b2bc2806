//! Who takes part in a round, and who waits for the next one: H1 and H2 of the [batch](super::batch).
//!
//! ```text
//!   records, in their order ──▶ takes part     its key and its external id are its own
//!                               waits          somebody before it has one of them: he waits himself, or makes the row
//! ```

use super::batch::Need;
use crate::dialect::{Ask, Layout};
use crate::schema::SameSource;
use crate::value::Value;
use std::collections::{HashMap, HashSet};

/// What the records of a round have claimed so far.
pub(super) struct Claims<'b> {
    /// True if one source links one id to a key.
    is_exclusive: bool,
    is_keyed: bool,
    owners: HashMap<&'b [Value; 2], Option<&'b [Value]>>,
    sources: HashMap<(&'b [Value], &'b Value), &'b Value>,
    /// Of what those speak who wait.
    waiting_keys: HashSet<&'b [Value]>,
    waiting_externals: HashSet<&'b [Value; 2]>,
}

/// The part that a record takes.
pub(super) struct Part {
    /// True if it is the one to link its external id.
    pub(super) links: bool,
}

impl<'b> Claims<'b> {
    pub(super) fn new(layout: &Layout) -> Self {
        let crosswalk = layout.table.crosswalk.as_ref();
        let (owners, sources, waiting_keys, waiting_externals) = Default::default();
        Self {
            is_exclusive: crosswalk
                .is_some_and(|crosswalk| crosswalk.same_source != SameSource::Link),
            is_keyed: !layout.key.is_empty(),
            owners,
            sources,
            waiting_keys,
            waiting_externals,
        }
    }

    /// The part of the next record, if it takes one.
    pub(super) fn part(&mut self, ask: &'b Ask, need: &Need) -> Option<Part> {
        let may_take_part = match need {
            Need::Row(_) | Need::Never(_) => return None,
            // It comes back with a key of its own.
            Need::Split => false,
            // Without a key there is nothing to make a row of: the look that follows finds one, or refuses the record.
            Need::Link | Need::Create => ask.key.is_some() || !self.is_keyed,
        };
        let part = match may_take_part && !self.is_waited_for(ask) {
            true => self.claim(ask),
            false => None,
        };
        if part.is_none() {
            self.waiting_keys.extend(ask.key.as_deref());
            self.waiting_externals.extend(&ask.external);
        }
        part
    }

    fn is_waited_for(&self, Ask { external, key }: &Ask) -> bool {
        let waits = |key| self.waiting_keys.contains(key);
        let is_waited_for = |external| self.waiting_externals.contains(external);
        key.as_deref().is_some_and(waits) || external.as_ref().is_some_and(is_waited_for)
    }

    fn claim(&mut self, Ask { external, key }: &'b Ask) -> Option<Part> {
        let key = key.as_deref();
        let Some(external) = external else {
            return Some(Part { links: false });
        };
        let mut is_first = false;
        let owner = self.owners.entry(external).or_insert_with(|| {
            is_first = true;
            key
        });
        if *owner != key {
            return None;
        }
        if let (true, Some(key)) = (self.is_exclusive, key) {
            let [source, id] = external;
            if *self.sources.entry((key, source)).or_insert(id) != id {
                return None;
            }
        }
        Some(Part {
            links: is_first && key.is_some(),
        })
    }
}

/// The external ids of which those who came first speak with a key, where others speak of one without.
pub(super) struct Makers<'b>(Option<HashSet<&'b [Value; 2]>>);

impl<'b> Makers<'b> {
    pub(super) fn new(layout: &Layout, mut asks: impl Iterator<Item = &'b Ask>) -> Self {
        let is_needed = !layout.key.is_empty() && asks.any(|ask| ask.key.is_none());
        Self(is_needed.then(HashSet::new))
    }

    /// True if the next record has no key, and somebody before it may still make, or link, what its external id leads to.
    pub(super) fn promise(&mut self, ask: &'b Ask) -> bool {
        let (Some(makers), Some(external)) = (&mut self.0, &ask.external) else {
            return false;
        };
        if ask.key.is_some() {
            makers.insert(external);
            return false;
        }
        makers.contains(external)
    }
}
