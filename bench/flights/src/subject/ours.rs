//! This crate, but for its plain group.

use oneflight::{Error, Group, Scoped, Tokio};
use std::convert::Infallible;
use std::future::Future;
use trial::{Kind, Subject, Work};

/// A group whose flights are polled by a task too, once a second caller has come.
pub(crate) struct Autopilot(Group<u64, u64>);

impl Subject for Autopilot {
    const NAME: &'static str = "oneflight, autopilot";
    const KIND: Kind = Kind::Ours;
    type Answer = Result<u64, Error<Infallible>>;

    fn new() -> Self {
        Self(Group::builder().autopilot(Tokio).build())
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

/// Scoped calls: the leader's own future is the work.
pub(crate) struct Lent(Scoped<u64, u64>);

impl Subject for Lent {
    const NAME: &'static str = "oneflight, scoped";
    const KIND: Kind = Kind::Ours;
    type Answer = Result<u64, Error<Infallible>>;

    fn new() -> Self {
        Self(Scoped::new())
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
