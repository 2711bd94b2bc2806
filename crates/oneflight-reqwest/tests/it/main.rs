//! The tests of the layers, in one binary, against a real HTTP server.

#[expect(dead_code, reason = "most faults are for a refresher of this crate")]
mod authority;
mod bearer;
mod clients;
mod collapse;
mod identities;
mod redirects;
mod server;
mod storm;
