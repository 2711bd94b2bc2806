//! Feeds that nobody had to record: generated, seeded, and so the same every time.
//!
//!   Shape { references, keys, order, seed } ──▶ References      20,000 mentions of 2,000 things, a few of them far more often
//!   League { rows, … , seed }               ──▶ CSV and its map  rows with three references each, for a whole merge
//!
//! D1. Every key comes at least once, so that the number of distinct keys is known.
//! D2. Beyond that, keys come as Zipf's law has it (s = 1): the second half as often as the first, the third a third.
//! D3. The order of the keys themselves says nothing: neither names nor ids are sorted by how often they come.

mod league;
mod random;
mod references;

pub use league::{League, Row};
pub use references::{Order, References, Shape};
