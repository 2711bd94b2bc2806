//! The guide: what is to be known before a table is entrusted to a [`Resolver`](crate::Resolver).
//!
//! | page | answers |
//! |---|---|
//! | [`keys`] | What is a key? What of null, of spellings, of other people's ids? |
//! | [`attributes`] | What happens to what a record says of a row that is there already? |
//! | [`running`] | Which connections, poolers, isolation levels? What does it cost? What if it is cancelled, or the database dies? |

#[doc = include_str!("keys.md")]
pub mod keys {}

#[doc = include_str!("attributes.md")]
pub mod attributes {}

#[doc = include_str!("running.md")]
pub mod running {}
