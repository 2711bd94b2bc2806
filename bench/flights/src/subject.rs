//! What is measured: everything that can run work for a key once for all who ask.
//!
//! U1. A subject is called the way its authors say; its own future is the caller's future, with nothing around it where the
//!     types allow.
//! U2. Subjects live as long as the process: what they cost to drop is not measured.

mod cache;
mod idiom;
mod ours;
mod peer;

pub(crate) use cache::{Cachet, Foyer, Moka, QuickCache};
pub(crate) use idiom::{OnceCells, Shareds};
pub(crate) use ours::{Autopilot, Lent, Plain};
pub(crate) use peer::{
    AsyncSingleflight, AsyncSingleflightUnary, Asyncband, SingleflightAsync, Uniflight,
};

use crate::work::Work;
use std::future::Future;

/// A way to run work once for a key.
pub(crate) trait Subject: Send + Sync + Sized + 'static {
    /// What it is called in tables, and on the command line.
    const NAME: &'static str;
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
pub(crate) enum Kind {
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

/// Runs `$body` with `$S` as the subject of that name; `None` if there is none.
macro_rules! with_subject {
    ($name:expr, $S:ident => $body:expr) => {
        $crate::subject::with_subject!(@ $name, $S => $body;
            Plain, Autopilot, Lent, Uniflight, Asyncband, AsyncSingleflight, AsyncSingleflightUnary, SingleflightAsync,
            Shareds, OnceCells, Moka, QuickCache, Foyer, Cachet)
    };
    (@ $name:expr, $S:ident => $body:expr; $($Type:ident),*) => {{
        let name = $name;
        $(if name == <$crate::subject::$Type as $crate::subject::Subject>::NAME {
            type $S = $crate::subject::$Type;
            Some($body)
        } else)* {
            None
        }
    }};
}
pub(crate) use with_subject;

/// The names of all subjects, in the order of the tables.
pub(crate) const NAMES: [&str; 14] = [
    Plain::NAME,
    Autopilot::NAME,
    Lent::NAME,
    Uniflight::NAME,
    Asyncband::NAME,
    AsyncSingleflight::NAME,
    AsyncSingleflightUnary::NAME,
    SingleflightAsync::NAME,
    Shareds::NAME,
    OnceCells::NAME,
    Moka::NAME,
    QuickCache::NAME,
    Foyer::NAME,
    Cachet::NAME,
];

/// The sort of the subject of that name.
pub(crate) fn kind(name: &str) -> Option<Kind> {
    with_subject!(name, S => S::KIND)
}
