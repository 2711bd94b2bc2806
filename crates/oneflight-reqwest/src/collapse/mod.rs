//! One request for all who send the same: the layer that collapses identical requests in flight.
//!
//! ```text
//!   request ─▶ key ─┬─ none: it changes something, or nobody knows what it depends on ─▶ client ─▶ response
//!                   └─ flight (one for all of the same key) ─▶ client ─▶ answer ─┬─ whole: a response for each
//!                                                                                └─ single: for one; the others go alone
//! ```
//!
//! `layer` flies, `key` tells which requests are the same, `answer` what can be given to many, `built` how it is made.
//!
//! C1. Two requests are the same only if everything is that the layer can see, but for what it was told to pass over: method, URL,
//!     all headers, limits, and what stands in the extensions. What it does not know makes a request go alone.
//! C2. A flight is flown by a client that the layer owns, so that what follows it is the same for all who share.
//! C3. A response is shared only whole: read to its end, within the bound. What is broken off is an error for all.
//! C4. Nothing is remembered: who comes after the landing sends a request of its own.
//! C5. Who comes after the end of a request that may have written something joins no flight that began before it.

mod answer;
mod built;
mod key;
mod layer;

pub use answer::Part;
pub use built::Builder;
pub use key::Alone;
pub use layer::Collapse;
