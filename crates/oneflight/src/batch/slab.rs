//! Numbered places that are used again, and chains of them: everything that a window holds, without an allocation for each.
//!
//! Y1. A number is given to one value at a time. Y2. A place is in one chain at most, and leaves it before it is given up.

use std::ops::{Index, IndexMut};

const NONE: u32 = u32::MAX;

/// Values in numbered places.
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The first free place; each free place names the next in `next`.
    free: u32,
    len: usize,
}

struct Place<T> {
    value: Option<T>,
    previous: u32,
    next: u32,
}

/// Some places of one slab, in the order in which they were added.
pub(super) struct Chain {
    head: u32,
    tail: u32,
    len: usize,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many values there is room for without asking for memory.
    pub(super) fn capacity(&self) -> usize {
        self.places.capacity()
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.places
            .reserve(more.saturating_sub(self.places.len() - self.len));
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        let place = Place {
            value: Some(value),
            previous: NONE,
            next: NONE,
        };
        if self.free == NONE {
            let at = u32::try_from(self.places.len()).unwrap_or(NONE);
            assert!(at != NONE, "more than four billion keys wait at once");
            self.places.push(place);
            return at;
        }
        let at = self.free;
        let old = std::mem::replace(&mut self.places[at as usize], place);
        debug_assert!(old.value.is_none(), "S1: a free place holds a value");
        self.free = old.next;
        at
    }

    /// Takes a value out of its place, if there is one.
    pub(super) fn remove(&mut self, at: u32) -> Option<T> {
        let place = self.places.get_mut(at as usize)?;
        let value = place.value.take()?;
        (place.previous, place.next) = (NONE, self.free);
        self.free = at;
        self.len -= 1;
        Some(value)
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)?.value.as_mut()
    }

    /// Adds a place to the end of a chain.
    pub(super) fn link(&mut self, chain: &mut Chain, at: u32) {
        let previous = std::mem::replace(&mut chain.tail, at);
        match previous {
            NONE => chain.head = at,
            previous => self.places[previous as usize].next = at,
        }
        let place = &mut self.places[at as usize];
        (place.previous, place.next) = (previous, NONE);
        chain.len += 1;
    }

    /// Takes a place out of the chain that it is in.
    pub(super) fn unlink(&mut self, chain: &mut Chain, at: u32) {
        let Place { previous, next, .. } = self.places[at as usize];
        match previous {
            NONE => chain.head = next,
            previous => self.places[previous as usize].next = next,
        }
        match next {
            NONE => chain.tail = previous,
            next => self.places[next as usize].previous = previous,
        }
        let place = &mut self.places[at as usize];
        (place.previous, place.next) = (NONE, NONE);
        chain.len -= 1;
    }

    /// The places of a chain, first to last.
    pub(super) fn walk(&self, chain: &Chain) -> impl Iterator<Item = u32> {
        std::iter::successors(some(chain.head), |&at| some(self.places[at as usize].next))
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        let value = self.places[at as usize].value.as_ref();
        value.expect("S1: a place in use holds a value")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        let value = self.places[at as usize].value.as_mut();
        value.expect("S1: a place in use holds a value")
    }
}

impl Chain {
    pub(super) const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn first(&self) -> Option<u32> {
        some(self.head)
    }

    pub(super) fn last(&self) -> Option<u32> {
        some(self.tail)
    }
}

fn some(at: u32) -> Option<u32> {
    (at != NONE).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_its_order_when_places_leave_and_are_used_again() {
        let (mut slab, mut chain) = (Slab::new(), Chain::new());
        let [a, b, c] = ["a", "b", "c"].map(|text| slab.insert(text));
        for at in [a, b, c] {
            slab.link(&mut chain, at);
        }
        slab.unlink(&mut chain, b);
        assert_eq!(slab.remove(b), Some("b"));
        assert_eq!(slab.remove(b), None);
        let d = slab.insert("d");
        assert_eq!(d, b, "the place is used again");
        slab.link(&mut chain, d);
        let order: Vec<_> = slab.walk(&chain).map(|at| slab[at]).collect();
        assert_eq!(order, ["a", "c", "d"]);
        for at in [a, d, c] {
            slab.unlink(&mut chain, at);
            slab.remove(at);
        }
        assert!(chain.is_empty() && chain.first().is_none() && chain.last().is_none());
        assert_eq!(slab.len(), 0);
    }
}
