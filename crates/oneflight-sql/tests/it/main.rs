//! The promises of `oneflight-sql`, kept by every driver. `./test` at the root starts the databases.

mod contract;
mod drivers;
mod gate;
mod load;
mod place;
mod processes;
mod races;
mod resolver;
mod rooms;
mod tables;
