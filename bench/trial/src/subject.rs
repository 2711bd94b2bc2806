//! Whatever can run work for a key once for all who ask.
//!
//! U1. A subject is called the way its authors say; its own future is the caller's future, with nothing around it where the
//!     types allow.
//! U2. Subjects live as long as the process: what they cost to drop is not measured.

use crate::work::Work;
use oneflight::{Error, Group};
use std::convert::Infallible;
use std::future::Future;

/// A way to run work once for a key.
pub trait Subject: Send + Sync + Sized + 'static {
    /// What it is called in tables, and on the command line.
    const NAME: &'static str;
    /// What sort of thing it is.
    const KIND: Kind;
    /// What a call ends in.
    type Answer: Send;

    /// A new one; inside a runtime.
    fn new() -> Self;

    /// One call.
    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static;

    /// The value that a call got.
    fn value(answer: Self::Answer) -> u64;

    /// One that lives as long as the process (U2).
    fn leaked() -> &'static Self {
        Box::leak(Box::new(Self::new()))
    }
}

/// What sort of thing a subject is; the bars compare with some sorts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Kind {
    /// The floor: a table and an allocation, and no flight.
    Floor,
    /// This crate.
    Ours,
    /// A crate for single flight.
    Crate,
    /// What people write themselves.
    Idiom,
    /// A cache that loads once; it keeps the value too.
    Cache,
    /// Another language.
    Other,
}

/// This crate's group, as `Group::new` makes it.
#[derive(Debug)]
pub struct Plain(Group<u64, u64>);

impl Subject for Plain {
    const NAME: &'static str = "oneflight";
    const KIND: Kind = Kind::Ours;
    type Answer = Result<u64, Error<Infallible>>;

    fn new() -> Self {
        Self(Group::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.run(key, || work.fallible())
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.unwrap_or(u64::MAX)
    }
}
