//! What a store promises.

use crate::sync::Arc;
use crate::token::pair::{Stored, Version};
use std::error::Error as StdError;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

/// Why a store failed: whatever its back end says.
pub type StoreError = Box<dyn StdError + Send + Sync>;

/// What a store does, as a future.
pub type Keeping<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps the pair of one identity.
///
/// A pair is put there before anybody gets its access token, and only in place of the version that it was made from: so a refresh
/// that comes late, here or in another process, never overwrites a newer pair. And before a refresh token is sent, it is put there that
/// it is ([`Stored::sent`]): so of two processes one sends it, and whoever comes after a process that died meanwhile knows.
///
/// An implementation keeps all that is in a [`Stored`]; times may be rounded to a second. It promises that a swap is one
/// atomic step for all who share the store, and that what was swapped in survives what the store is to survive before the swap is
/// ready. It is told secrets, and shows them to nobody.
///
/// # Examples
/// On a row of a database, `compare_and_swap` is one statement:
/// ```text
/// UPDATE token SET version = $new, access = …, refresh = …, expires = …, sent = … WHERE identity = $1 AND version = $expected
/// ```
/// A store that says what is done with it:
/// ```
/// use oneflight::token::store::Keeping;
/// use oneflight::token::{MemoryStore, Store, Stored, Version};
///
/// #[derive(Debug, Default)]
/// struct Told(MemoryStore);
///
/// impl Store for Told {
///     fn load(&self) -> Keeping<'_, Stored> {
///         self.0.load()
///     }
///
///     fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool> {
///         println!("{expected:?} is replaced by {:?}", stored.version);
///         self.0.compare_and_swap(expected, stored)
///     }
/// }
/// ```
pub trait Store: Debug + Send + Sync + 'static {
    /// What is stored. A store that was never written to has [`Stored::default`].
    ///
    /// # Errors
    /// What the back end says; also that what is there can't be read.
    fn load(&self) -> Keeping<'_, Stored>;

    /// Puts `stored` in place of what is there, if that has the version `expected`. True if it did; false if there is another
    /// version.
    ///
    /// # Errors
    /// What the back end says. It may have been stored all the same: who is told so looks what is there.
    fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool>;
}

impl<T: Store + ?Sized> Store for Arc<T> {
    fn load(&self) -> Keeping<'_, Stored> {
        (**self).load()
    }

    fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool> {
        (**self).compare_and_swap(expected, stored)
    }
}
