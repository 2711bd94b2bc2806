//! A cache, step by step: every interleaving is written down, and time moves when a test says so.

mod drops;
mod fences;
mod limits;
mod many;
mod model;
mod refresh;
mod room;
mod script;
mod sizes;
mod stale;
mod threads;
