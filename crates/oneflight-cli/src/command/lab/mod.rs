//! `oneflight lab`: experiments, each a command of its own. `merge` is the first; others come with what they measure.

mod experiment;
mod merge;

pub(crate) use experiment::command;
