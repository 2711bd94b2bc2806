//! Scoped calls, step by step: every interleaving is written down, and nothing sleeps.

mod borrowed;
mod ends;
mod handover;
mod model;
mod nested;
mod script;
mod sizes;
mod threads;
mod timed;
