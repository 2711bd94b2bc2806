//! From rows to records.

/// How rows become records.
#[derive(Debug)]
pub struct Records;
