//! The rows: a script each, for a mode that is made anew.

pub(super) mod all;
pub(super) mod groups;
mod hurried;
pub(super) mod limits;
