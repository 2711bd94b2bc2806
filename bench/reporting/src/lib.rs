//! How the benches tell what they found: the same tables, bars and charts for all of them, and the machine beside them.
//!
//!   figures ──▶ Table, Bar ──▶ text ──▶ page: BENCHMARKS.md between two marks
//!           ──▶ Panel      ──▶ SVG  ──▶ docs/
//!
//! Q1. No figure without the machine, the day and the versions.   Q2. A bar that was not run is told, never passed over.
#![forbid(unsafe_code)]

pub mod bars;
pub mod chart;
pub mod machine;
pub mod page;
pub mod table;

pub use bars::{Bar, Better};
pub use machine::{Machine, version};
pub use table::{Table, number, times};

/// The middle of some figures; of two, the lower one.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get(sorted.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(f64::NAN)
}
