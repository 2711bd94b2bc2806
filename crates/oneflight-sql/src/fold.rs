//! Key folding.

/// A set of folding steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fold(u8);
