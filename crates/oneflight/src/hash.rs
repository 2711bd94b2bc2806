//! The usual hasher of keys: a foreign one in clothes of ours, so that its next major version is no concern of those who use us.

use std::hash::{BuildHasher, Hasher};

/// The usual hashing of keys: fast, and seeded at random for each table.
///
/// It is not made to withstand keys chosen by an attacker who can measure time; `std::hash::RandomState` is, at the price of a
/// slower call ([`Builder::hasher`](crate::Builder::hasher)).
///
/// # Examples
/// ```
/// use oneflight::{Group, RandomState};
///
/// struct Prices {
///     flights: Group<String, u32, std::io::Error, RandomState>, // as without the last one
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RandomState(foldhash::fast::RandomState);

/// What hashes one key for a [`RandomState`].
#[derive(Clone)]
pub struct KeyHasher(foldhash::fast::FoldHasher<'static>);

impl BuildHasher for RandomState {
    type Hasher = KeyHasher;

    #[inline(always)]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(self.0.build_hasher())
    }
}

impl Hasher for KeyHasher {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline(always)]
    fn write_u8(&mut self, number: u8) {
        self.0.write_u8(number);
    }

    #[inline(always)]
    fn write_u16(&mut self, number: u16) {
        self.0.write_u16(number);
    }

    #[inline(always)]
    fn write_u32(&mut self, number: u32) {
        self.0.write_u32(number);
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    #[inline(always)]
    fn write_u128(&mut self, number: u128) {
        self.0.write_u128(number);
    }

    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.0.write_usize(number);
    }
}

impl std::fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}
