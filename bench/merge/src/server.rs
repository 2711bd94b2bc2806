//! What the processes of PostgreSQL's server use of the processor, from /proc.
//!
//!   postmaster ── its children that have ended: counted in the postmaster's own figures
//!       └──────── its children that live: their own figures
//!
//! V1. The sum never falls, so that a difference is what was used between.
//! V2. A child that ends while it is summed up is counted once: the sum is taken again until none has ended meanwhile.

use crate::place::Place;
use std::fs;

/// Ticks of /proc a second; the kernel's interface fixes it.
const TICKS: f64 = 100.0;

/// How often the sum is taken before it is given up (V2).
const ATTEMPTS: usize = 100;

/// The server of a database, if it runs on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    postmaster: u32,
}

impl Server {
    /// The server of PostgreSQL; `None` if its processes cannot be seen from here.
    pub(crate) fn find(place: &Place) -> Option<Self> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer';";
        let child = place.ask(sql).ok()?.trim().parse().ok()?;
        let process = Process::read(child)?;
        // The number may be one of another machine, and here somebody else's.
        let is_server = process.name.starts_with("postgres") && process.parent > 1;
        is_server.then_some(Self {
            postmaster: process.parent,
        })
    }

    /// Seconds that its processes have used until now (V1).
    pub(crate) fn cpu_seconds(self) -> Option<f64> {
        let mut before = Process::read(self.postmaster)?;
        for _ in 0..ATTEMPTS {
            let living = self.used_by_living()?;
            let after = Process::read(self.postmaster)?;
            if after.used_by_children == before.used_by_children {
                let ticks = after.used + after.used_by_children + living;
                return Some(ticks as f64 / TICKS);
            }
            before = after;
        }
        None
    }

    fn used_by_living(self) -> Option<u64> {
        let children = fs::read_dir("/proc").ok()?.filter_map(|entry| {
            let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Process::read(number).filter(|process| process.parent == self.postmaster)
        });
        Some(children.map(|process| process.used).sum())
    }
}

struct Process {
    name: String,
    parent: u32,
    used: u64,
    used_by_children: u64,
}

impl Process {
    fn read(number: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)
    }

    /// `pid (name) state ppid …`, where the name may contain anything.
    fn parse(stat: &str) -> Option<Self> {
        let (head, rest) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            used: number(11)? + number(12)?,
            used_by_children: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 50 60 700 800 20 0 1";
        let process = Process::parse(stat).unwrap();
        assert_eq!(process.name, "a) b");
        assert_eq!(
            (process.parent, process.used, process.used_by_children),
            (3, 110, 1500)
        );
    }
}
