//! A loader, step by step: every interleaving is written down, and nothing sleeps.

mod edges;
mod many;
mod model;
mod nested;
mod panics;
mod script;
mod sharing;
mod window;
