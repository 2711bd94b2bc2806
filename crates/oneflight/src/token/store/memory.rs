//! A store that lasts as long as the process.

use super::contract::{Keeping, Store};
use crate::sync::Mutex;
use crate::token::pair::{Pair, Stored, Version};

/// Keeps a pair in memory.
///
/// # Examples
/// ```
/// use oneflight::token::{MemoryStore, Pair};
///
/// let empty = MemoryStore::new();
/// let store = MemoryStore::with(Pair::new("access").with_refresh("refresh"));
/// ```
#[derive(Debug)]
pub struct MemoryStore(Mutex<Stored>);

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self(Mutex::new(Stored::default()))
    }

    /// A store that has this pair, as its first version.
    pub fn with(pair: Pair) -> Self {
        Self(Mutex::new(Stored::new(Version::new(1), Some(pair))))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn load(&self) -> Keeping<'_, Stored> {
        Box::pin(async { Ok(self.0.lock().clone()) })
    }

    fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool> {
        Box::pin(async move {
            let mut there = self.0.lock();
            let swaps = there.version == expected;
            let old = swaps.then(|| std::mem::replace(&mut *there, stored.clone()));
            drop(there);
            drop(old);
            Ok(swaps)
        })
    }
}
