//! Runs the tests, each in a process of its own, and gathers their figures.
//!
//! R1. A pass runs every test of every subject once; what is exact, bytes and instructions, is run once.

use crate::subject::{NAMES, has_ttl};
use reporting::Machine;
use trial::tool::{Callgrind, child};
use trial::{Figures, Samples};

/// The programs whose versions are told.
const TOOLS: [(&str, &str); 2] = [("rustc", "--version"), ("valgrind", "--version")];

/// The packages whose versions are told.
const PACKAGES: [&str; 6] = [
    "oneflight",
    "moka",
    "quick_cache",
    "foyer-memory",
    "cachet",
    "tokio",
];

/// A test, how often it is run, and who takes part.
struct Test {
    name: &'static str,
    often: Often,
    who: Who,
    /// Operations of a short run and of a long one, if instructions are counted, and what each operation counts as.
    counted: Option<(usize, usize, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Often {
    Once,
    EachPass,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The group alone too, which keeps nothing.
    All,
    Caches,
    /// Those whose values can have a lifetime.
    WithTtl,
}

const TESTS: [Test; 8] = [
    test("get", Often::EachPass, Who::Caches, HITS),
    test("get-ttl", Often::EachPass, Who::WithTtl, HITS),
    test("hit", Often::EachPass, Who::Caches, HITS),
    test("hit-ttl", Often::EachPass, Who::WithTtl, HITS),
    test("lone", Often::EachPass, Who::All, Some((2_000, 6_000, 1.0))),
    // Rounds have 1,001 callers each.
    test("join", Often::EachPass, Who::All, Some((4, 12, 1_001.0))),
    test("threads", Often::EachPass, Who::Caches, None),
    test("full", Often::Once, Who::Caches, None),
];

const HITS: Option<(usize, usize, f64)> = Some((2_000, 10_000, 1.0));

const fn test(
    name: &'static str,
    often: Often,
    who: Who,
    counted: Option<(usize, usize, f64)>,
) -> Test {
    Test {
        name,
        often,
        who,
        counted,
    }
}

impl Test {
    fn subjects(&self) -> impl Iterator<Item = &'static str> {
        let who = self.who;
        NAMES.into_iter().filter(move |name| match who {
            Who::All => true,
            Who::Caches => has_ttl(name).is_some(),
            Who::WithTtl => has_ttl(name) == Some(true),
        })
    }
}

/// Everything that was measured.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) passes: usize,
    /// Tools that are not there, and what is missing without them.
    pub(crate) missing: Vec<String>,
    pub(crate) samples: Samples,
}

/// Runs everything, and tells on stderr how far it is.
///
/// # Errors
/// The first test that fails; a tool that is missing is no failure.
pub(crate) fn measure(passes: usize) -> Result<Results, String> {
    let mut results = Results {
        machine: Machine::this(&TOOLS, &PACKAGES),
        passes,
        missing: Vec::new(),
        samples: Samples::default(),
    };
    for pass in 0..passes {
        for test in &TESTS {
            if test.often == Often::Once && pass > 0 {
                continue;
            }
            eprintln!("bench-cache: pass {} of {passes}: {}", pass + 1, test.name);
            for subject in test.subjects() {
                let figures = child(test.name, subject, "full")?;
                results.samples.add(test.name, subject, figures);
            }
        }
    }
    match Callgrind::find() {
        Some(callgrind) => instructions(&callgrind, &mut results.samples)?,
        None => results
            .missing
            .push("valgrind is not installed: instructions are not counted".to_owned()),
    }
    Ok(results)
}

/// Runs every test in little; how many there were.
///
/// # Errors
/// The first test that fails.
pub(crate) fn smoke() -> Result<usize, String> {
    let mut runs = 0;
    for test in &TESTS {
        for subject in test.subjects() {
            child(test.name, subject, "smoke")?;
            runs += 1;
        }
    }
    Ok(runs)
}

/// Instructions of the paths that one thread takes.
fn instructions(callgrind: &Callgrind, samples: &mut Samples) -> Result<(), String> {
    for test in &TESTS {
        let Some((short, long, each)) = test.counted else {
            continue;
        };
        eprintln!("bench-cache: instructions of {}", test.name);
        for subject in test.subjects() {
            let per = callgrind.each(test.name, subject, short, long)? / each;
            let figures = Figures::from([("instructions".to_owned(), per)]);
            samples.add(test.name, subject, figures);
        }
    }
    Ok(())
}
