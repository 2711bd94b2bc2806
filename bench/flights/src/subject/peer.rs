//! The crates for single flight.

use async_singleflight::{Group, UnaryGroup};
use std::convert::Infallible;
use std::future::Future;
use trial::{Kind, Subject, Work};

/// uniflight, merging over the whole process.
pub(crate) struct Uniflight(uniflight::Merger<u64, u64>);

impl Subject for Uniflight {
    const NAME: &'static str = "uniflight";
    const KIND: Kind = Kind::Crate;
    type Answer = Result<u64, uniflight::LeaderPanicked>;

    fn new() -> Self {
        Self(uniflight::Merger::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.execute(key, || work)
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.unwrap_or(u64::MAX)
    }
}

/// asyncband's group.
pub(crate) struct Asyncband(asyncband::singleflight::Group<u64, u64>);

impl Subject for Asyncband {
    const NAME: &'static str = "asyncband";
    const KIND: Kind = Kind::Crate;
    type Answer = u64;

    fn new() -> Self {
        Self(asyncband::singleflight::Group::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = u64> + Send + 'static {
        self.0.work(*key, || work)
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}

/// The group of async_singleflight whose work may fail.
pub(crate) struct AsyncSingleflight(Group<u64, u64, Infallible>);

impl Subject for AsyncSingleflight {
    const NAME: &'static str = "async_singleflight";
    const KIND: Kind = Kind::Crate;
    type Answer = Result<u64, Option<Infallible>>;

    fn new() -> Self {
        Self(Group::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = Self::Answer> + Send + 'static {
        self.0.work(key, work.fallible())
    }

    fn value(answer: Self::Answer) -> u64 {
        answer.unwrap_or(u64::MAX)
    }
}

/// The group of async_singleflight whose work cannot fail.
pub(crate) struct AsyncSingleflightUnary(UnaryGroup<u64, u64>);

impl Subject for AsyncSingleflightUnary {
    const NAME: &'static str = "async_singleflight, unary";
    const KIND: Kind = Kind::Crate;
    type Answer = u64;

    fn new() -> Self {
        Self(UnaryGroup::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = u64> + Send + 'static {
        self.0.work(key, work)
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}

/// singleflight-async.
pub(crate) struct SingleflightAsync(singleflight_async::SingleFlight<u64, u64>);

impl Subject for SingleflightAsync {
    const NAME: &'static str = "singleflight-async";
    const KIND: Kind = Kind::Crate;
    type Answer = u64;

    fn new() -> Self {
        Self(singleflight_async::SingleFlight::new())
    }

    fn call(
        &'static self,
        key: &'static u64,
        work: Work,
    ) -> impl Future<Output = u64> + Send + 'static {
        self.0.work(*key, || work)
    }

    fn value(answer: u64) -> u64 {
        answer
    }
}
