//! Tokens: one refresh, whoever asks. Time, tasks and the server are moved by hand, unless a test says otherwise.

mod authority;
mod desk;
mod doubt;
mod events;
mod identities;
mod login;
mod model;
mod overtaken;
mod processes;
mod refresh;
mod rest;
mod rotation;
mod secrets;
mod store;
mod stores;
mod storm;
mod wiped;
