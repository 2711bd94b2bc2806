//! The tests of the layers, in one binary, against a real HTTP server.

#[cfg_attr(
    not(feature = "oauth2"),
    expect(
        dead_code,
        reason = "most faults are for the refresher of that feature"
    )
)]
mod authority;
mod bearer;
mod clients;
mod collapse;
mod identities;
#[cfg(feature = "oauth2")]
mod oauth2;
mod processes;
mod redirects;
mod server;
mod storm;
