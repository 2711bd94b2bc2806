//! The program `oneflight`: where it is, and a merge by it.
//!
//! O1. What is measured is the program as users get it, built from this tree in the same profile as this bench.
//! O2. A run counts only if the program says that it read every row, rejected none, and found or made what it must.

use crate::child::{self, Cost};
use crate::league::League;
use crate::place::Place;
use reporting::page;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program.
#[derive(Debug)]
pub(crate) struct Program(PathBuf);

/// Which run of the same feed it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Again,
}

impl Program {
    /// The one at `path`; else it is built (O1).
    ///
    /// # Errors
    /// If it cannot be built.
    pub(crate) fn find(path: Option<&str>) -> Result<Self, String> {
        if let Some(path) = path {
            return Ok(Self(PathBuf::from(path)));
        }
        eprintln!("bench-merge: building oneflight");
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--quiet", "-p", "oneflight-cli"])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(page::root());
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let said = child::run(&mut cargo, None)?.said;
        let built = said.lines().find_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let is_program =
                message["target"]["name"] == "oneflight" && message["target"]["kind"][0] == "bin";
            let path = is_program.then(|| message["executable"].as_str())??;
            Some(Self(PathBuf::from(path)))
        });
        built.ok_or_else(|| "cargo has built no program oneflight".to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Merges a league (O2).
    ///
    /// # Errors
    /// If the program fails, or says that it did something else.
    pub(crate) fn merge(&self, league: &League, place: &Place, turn: Turn) -> Result<Cost, String> {
        let ran = child::run(
            Command::new(&self.0).arg("merge").arg(league.map()).args([
                "--into",
                &place.url(),
                "--format",
                "json",
                "--quiet",
            ]),
            None,
        )?;
        let said: Value = serde_json::from_str(&ran.said)
            .map_err(|why| format!("oneflight printed no summary: {why}"))?;
        let feed = &said["feeds"][0];
        let (fresh, old) = match turn {
            Turn::First => (league.rows, 0),
            Turn::Again => (0, league.rows),
        };
        let wants = [
            ("read", league.rows),
            ("inserted", fresh),
            ("existing", old),
            ("updated", 0),
            ("rejected", 0),
        ];
        for (what, rows) in wants {
            if feed[what] != rows {
                return Err(format!(
                    "oneflight: {what} is {}, and not {rows}",
                    feed[what]
                ));
            }
        }
        Ok(ran.cost)
    }
}
