//! Room in MariaDB's memory and log for a whole league (A3 of [`super`]).

use crate::place::Place;

/// What it wants, in bytes: with the 64 MB of a test server, loading two million rows by hand took minutes of paging.
const WANTED: [(&str, u64); 2] = [
    ("innodb_buffer_pool_size", 1 << 30),
    ("innodb_log_file_size", 256 << 20),
];

/// What a server was set to before.
pub(super) struct Room {
    place: Place,
    before: Vec<(&'static str, u64)>,
}

impl Room {
    /// Makes room, where there is less.
    ///
    /// # Errors
    /// If the user may not set it.
    pub(super) fn make(place: Place) -> Result<Self, String> {
        let mut before = Vec::new();
        for (name, wanted) in WANTED {
            let is = read(&place, name)?;
            if is < wanted {
                set(&place, name, wanted)?;
                before.push((name, is));
            }
        }
        Ok(Self { place, before })
    }

    /// Sets all as it was.
    ///
    /// # Errors
    /// As [`Room::make`].
    pub(super) fn give_back(self) -> Result<(), String> {
        let Self { place, before } = self;
        before
            .into_iter()
            .try_for_each(|(name, bytes)| set(&place, name, bytes))
    }
}

fn read(place: &Place, name: &str) -> Result<u64, String> {
    let said = place.ask(&format!("SELECT @@{name};"))?;
    said.trim()
        .parse()
        .map_err(|_| format!("MariaDB says that {name} is {}", said.trim()))
}

fn set(place: &Place, name: &str, bytes: u64) -> Result<(), String> {
    place
        .script(&format!("SET GLOBAL {name} = {bytes};"))
        .map(drop)
}
