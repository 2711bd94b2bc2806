//! The connections of a [`PgDriver`](super::PgDriver), and who sends on which.
//!
//! ```text
//!   pipeline ─▶ a line that carries nothing ─▶ else a new one is sent for, if there may be more, and meanwhile
//!               behind what another carries already ─▶ unless the new one will be there sooner than that is answered
//!
//!   line:   BEGIN a b COMMIT · BEGIN c COMMIT · d ───▶ server      written one behind the other, answered in that order
//! ```
//!
//! A pipeline that decides nothing on the way is written in one go, and the next one may be written behind it before it is answered:
//! on a slow link nobody waits for a connection, only for the server.
//!
//! A1. Connections are together never more than were allowed: each has a seat, from before it is opened until its socket is closed.
//! A2. The messages of two pipelines never mix: who writes holds the line's `pen`, to the end if he decides something on the way.
//! A3. Nobody writes on a line that may have a transaction open which nobody will end.
//! A4. Answers are believed in the order of their questions, up to the first that is out of step.
//! A5. A connection that cannot be had is an error only for those who have no other line to go behind.
//! A6. Nobody is on a line that is held for good but who holds it: it was idle when he took it, and nobody goes behind him.

mod choose;
#[cfg(test)]
mod fake;
mod line;
mod pool;
mod seat;
#[cfg(test)]
mod tests;

pub(super) use choose::{A_DECISION, FOR_GOOD};
pub(super) use line::Place;
pub(super) use pool::Lines;
