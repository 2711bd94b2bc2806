//! Memory: five times the rows over the same keys must not need more of it.

use crate::audit;
use crate::child::Cost;
use crate::league::League;
use crate::load;
use crate::place::{Engine, Place};
use crate::program::{Program, Turn};
use std::path::Path;

/// Peaks of two leagues over the same keys.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Memory {
    pub(crate) engine: Engine,
    /// Distinct keys that rows refer to.
    pub(crate) keys: u64,
    pub(crate) few: Peak,
    pub(crate) many: Peak,
}

/// The most memory of a run.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Peak {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

impl Peak {
    /// What a merge of this league took.
    pub(crate) fn of(league: &League, cost: Cost) -> Self {
        Self {
            rows: league.rows,
            bytes: cost.peak_bytes,
            seconds: cost.seconds,
        }
    }
}

/// Merges both into SQLite, whose own memory is the program's: no server hides it. What is known of the smaller one is not run again.
///
/// # Errors
/// If a run fails, or its database is not what it must be.
pub(crate) fn measure(
    few: &League,
    known: Option<Peak>,
    many: u64,
    program: &Program,
    work: &Path,
) -> Result<Memory, String> {
    let few_peak = match known {
        Some(peak) => peak,
        None => peak(few, program, work)?,
    };
    let many = few.longer(work, many)?;
    Ok(Memory {
        engine: Engine::Sqlite,
        keys: few.expected.keys(),
        few: few_peak,
        many: peak(&many, program, work)?,
    })
}

fn peak(league: &League, program: &Program, work: &Path) -> Result<Peak, String> {
    eprintln!("bench-merge: {} rows, memory", league.rows);
    let place = Place::create(Engine::Sqlite, work)?;
    let run = load::ours(league, program, &place, Turn::First)?;
    audit::contents(&place, &league.expected)?;
    Ok(Peak::of(league, run.cost))
}
