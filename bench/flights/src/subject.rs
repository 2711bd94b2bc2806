//! What is measured: everything that can run work for a key once for all who ask. The caches, and this crate's plain group, are in
//! `trial`.

mod idiom;
mod ours;
mod peer;

pub(crate) use idiom::{OnceCells, Shareds};
pub(crate) use ours::{Autopilot, Lent};
pub(crate) use peer::{
    AsyncSingleflight, AsyncSingleflightUnary, Asyncband, SingleflightAsync, Uniflight,
};
pub(crate) use trial::{Cachet, Foyer, Kind, Moka, Plain, QuickCache, Subject};

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
