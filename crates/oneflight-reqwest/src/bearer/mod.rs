//! One refresh for all requests: the layer that sends a bearer token along.
//!
//! ```text
//!   request ─▶ token() ─▶ Authorization ─▶ next ─┬─ anything else ──────────────────────────────▶ response
//!                                                └─ 401 that asks for another token
//!                                                     └─▶ rejected(&token) ─▶ next, once more ──▶ response
//! ```
//!
//! `layer` decides, `whose` has the sources, `challenge` reads what a 401 asks for, `refusals` knows, for each holder, when there is
//! no use in asking.
//!
//! A1. A token goes to an origin that it is meant for, and to no other. What comes from another one, by way of a redirect, says
//!     nothing about it; what comes from another URL says little, since the way there may have led elsewhere.
//! A2. A request is sent twice at most, and a second time only whole; not if it changes something and can be seen to have been led on.
//!     What was led back to its own URL cannot be.
//! A3. What the caller has set stays: an `Authorization`, and the mark [`NoBearer`].
//! A4. A token that is refused when it is new is no reason to ask for another one, for a while; and 401s that are not
//!     put to the test renew one token in that time.

mod challenge;
mod layer;
mod refusals;
mod whose;

pub use layer::{Bearer, NoBearer};
pub use whose::Whose;
