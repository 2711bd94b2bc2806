//! Models of the core: small programs with a few threads, run under every interleaving that loom can tell apart, with at most so
//! many preemptions as the model says. `cargo xtask loom` builds them, runs them, and holds them to `expected.txt`.
#![cfg(oneflight_loom)]
#![forbid(unsafe_code)]

mod abandon_against_autopilot;
mod end_from_outside;
mod forget_against_landing;
mod hand_over_of_driver;
mod harness;
mod join_against_landing;
mod join_against_last_leave;
mod loader;
mod making;
mod panic_while_others_join;
mod parts;
mod references;
mod scoped;
mod two_waiters;
mod wake_against_changing_wakers;
