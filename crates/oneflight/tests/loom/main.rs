//! Models of the core: small programs with a few threads, run under every interleaving that loom can tell apart, or under all
//! with at most so many preemptions (`Bound`). `cargo xtask loom` builds them, runs them, and holds them to `expected.txt`.
//!
//! That they can fail was tried: each of these mistakes was put into the core, one at a time, and a model found it.
//!
//! | mistake | found by |
//! |---|---|
//! | a waiter does not look once more under the lock (S2); lands after the queue was taken | `join_against_landing` and ten others |
//! | WANTED is not set, or publishing wakes nobody | `waiting_for_the_work_to_be_made` |
//! | a poll that ends forgets that the work was woken meanwhile; puts the phase to Idle before the lock | `wake_against_changing_wakers` |
//! | who leaves does not pass a wake on | `hand_over_of_driver`, `wake_against_leaving` |
//! | a step of the word is Relaxed, or only Acquire; reading it is Relaxed | `join_against_landing` |
//! | a step of the word is only Release | `two_wait_for_the_work_to_be_made` |
//! | two may begin at once (S1); joining while it lands (S3); the answer is put after landing (N3) | `join_against_landing` |
//! | the last one drops work that another has in hand (N1) | `abandon_against_autopilot` |
//! | an end from outside drops work that another has in hand (N1) | `end_from_outside_against_wake` |
//! | the last one to leave does not say so | `join_against_last_leave` |
//! | the leader takes the answer though there is a pilot (S4) | `leave_against_autopilot` |
//! | a pilot is not told that all have left | `abandon_against_waiting_autopilot` |
//! | references are counted down Relaxed, only Acquire or only Release | `answers_are_read_before_they_are_freed` |
//! | two references are dropped at once Relaxed, or while there is a third (N4) | `answers_are_read_before_they_are_freed` |
//! | a waker has no reference of its own | `references_end_on_three_threads` |
//! | the work outlives the landing (V1) | `answers_are_read_before_they_are_freed` |
//! | a flight is taken out of the table by key (G2) | `forget_against_landing` |
//! | a mark is ignored; its order is Relaxed on either side | `run_since_against_landing`; `run_since_against_start` |
//! | a batch forgets that it was woken; a caller parks, or a batch is given up, and nobody is woken | `loader_left_against_wake` |
//! | a caller of a loader leaves, and nobody is woken in its place (B3) | `loader_crowd_leaves_against_wake` |
//! | a scoped leader or candidate leaves and wakes nobody (P2), or lets others join what is over (P3) | `scoped_hand_over_against_leaving` |
//!
//! One was not found: waking nobody when a wake was not answered yet. No waiter that is polled when woken can tell; it is for
//! those that are kept and never polled, of which a model with fair threads has none.
#![cfg(oneflight_loom)]
#![forbid(unsafe_code)]

mod abandon_against_autopilot;
mod cache;
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
