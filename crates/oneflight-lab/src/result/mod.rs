//! What a lab brings back: figures, each with the counts that say whether it is worth anything. Plain data, for JSON and back.
//!
//!   Results ─┬─ Figure { way, order, round trip ─▶ seconds, round trips, Audit { rows, duplicates, orphans, … } }
//!            └─ Skipped { way, why }
//!
//! U1. A figure is not without its audit: a fast way that leaves duplicates is reported as wrong, not as fast.
//! U2. What was not measured to its end says so: [`Figure::scaled_from`].

mod figure;
mod way;

pub use figure::{Audit, Figure, Lag, Results, Skipped};
pub use way::{Case, Way};
