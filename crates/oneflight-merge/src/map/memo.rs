//! References by a single text that have been committed: for each kind of reference, text → record. Saves the fold and the look-up of
//! the identity for all but the first of them.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hasher};

/// What references have come to.
#[derive(Debug)]
pub(crate) struct Memo<'a> {
    hasher: RandomState,
    kinds: Vec<HashTable<Known<'a>>>,
}

#[derive(Clone, Copy, Debug)]
struct Known<'a> {
    text: &'a str,
    rec: u32,
    /// Half of the text's hash, so that a table that grows reads no text.
    half: u32,
}

/// What is known of one kind of references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'m, 'a> {
    hasher: &'m RandomState,
    known: &'m HashTable<Known<'a>>,
}

impl<'a> Memo<'a> {
    /// Knows nothing of so many kinds of references.
    pub(crate) fn new(kinds: usize, hasher: RandomState) -> Self {
        Self {
            hasher,
            kinds: (0..kinds).map(|_| HashTable::new()).collect(),
        }
    }

    /// One kind of references.
    #[inline]
    pub(crate) fn look(&self, kind: usize) -> Look<'_, 'a> {
        Look {
            hasher: &self.hasher,
            known: &self.kinds[kind],
        }
    }

    /// The record that a reference by this text has come to.
    pub(crate) fn get(&self, kind: usize, text: &str) -> Option<u32> {
        let look = self.look(kind);
        look.find(look.hash(text.as_bytes()), text.as_bytes())
    }

    /// Remembers what a reference by this text has come to.
    pub(crate) fn insert(&mut self, kind: usize, text: &'a str, rec: u32) {
        let hash = hash(&self.hasher, text.as_bytes());
        match self.entry(kind, text, hash) {
            Entry::Occupied(mut known) => known.get_mut().rec = rec,
            Entry::Vacant(new) => {
                new.insert(Known::new(text, rec, hash));
            }
        }
    }

    /// The record that a reference by this text, which has this hash, has come to, or comes to now.
    pub(crate) fn get_or_insert(
        &mut self,
        kind: usize,
        (text, hash): (&'a str, u64),
        rec: impl FnOnce() -> u32,
    ) -> u32 {
        match self.entry(kind, text, hash) {
            Entry::Occupied(known) => known.get().rec,
            Entry::Vacant(new) => new.insert(Known::new(text, rec(), hash)).get().rec,
        }
    }

    #[inline]
    fn entry(&mut self, kind: usize, text: &str, hash: u64) -> Entry<'_, Known<'a>> {
        self.kinds[kind].entry(
            hash,
            |known| same(known.text.as_bytes(), text.as_bytes()),
            |known| whole(known.half),
        )
    }
}

impl<'a> Known<'a> {
    fn new(text: &'a str, rec: u32, hash: u64) -> Self {
        let half = hash as u32;
        Self { text, rec, half }
    }
}

impl Look<'_, '_> {
    #[inline]
    pub(crate) fn hash(&self, text: &[u8]) -> u64 {
        hash(self.hasher, text)
    }

    /// The record that a reference by this text, which has this hash, has come to.
    #[inline]
    pub(crate) fn find(&self, hash: u64, text: &[u8]) -> Option<u32> {
        let known = self
            .known
            .find(hash, |known| same(known.text.as_bytes(), text))?;
        Some(known.rec)
    }
}

#[inline]
fn hash(hasher: &RandomState, text: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(text);
    whole(hasher.finish() as u32)
}

/// A hash of 64 bits of which one half tells all: a table takes its places from the lower bits, and its tags from the highest ones.
#[inline]
fn whole(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

/// True if the texts are one. Those of up to 16 bytes, which most are, are compared without a call.
#[inline]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        (Some(first_a), Some(first_b)) if a.len() <= 16 => {
            first_a == first_b && a.last_chunk::<8>() == b.last_chunk::<8>()
        }
        (Some(_), Some(_)) => a == b,
        _ => a.iter().eq(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_if_all_their_bytes_are() {
        for length in 0..40 {
            let text: Vec<u8> = (0..length).map(|at| b'a' + at).collect();
            assert!(same(&text, &text.clone()));
            assert!(!same(&text, &[&text[..], b"x"].concat()));
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] = b'#';
                assert!(!same(&text, &other), "{length}, byte {at}");
            }
        }
    }

    #[test]
    fn what_is_remembered_is_found_by_its_text_and_kind() {
        let texts: Vec<String> = (0..1_000).map(|nth| format!("text {nth}")).collect();
        let mut memo = Memo::new(2, RandomState::default());
        for (nth, text) in (0..).zip(&texts) {
            assert_eq!(memo.get(0, text), None);
            memo.insert(0, text, nth);
        }
        memo.insert(0, &texts[7], 7_000);
        for (nth, text) in (0..).zip(&texts) {
            let expected = if nth == 7 { 7_000 } else { nth };
            assert_eq!(
                (memo.get(0, text), memo.get(1, text)),
                (Some(expected), None)
            );
        }
    }
}
