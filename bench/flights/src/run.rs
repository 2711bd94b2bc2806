//! Runs the tests, each in a process of its own, and gathers their figures.
//!
//! R1. A pass runs every test of every subject once; what is exact, counts of bytes and of wakes, is run in the first pass only.

use crate::floor;
use crate::subject::{self, Kind, NAMES};
use crate::tool;
use reporting::Machine;
use trial::tool::{Callgrind, child};
use trial::{Figures, Samples};

/// The programs whose versions are told.
const TOOLS: [(&str, &str); 4] = [
    ("rustc", "--version"),
    ("go", "version"),
    ("node", "--version"),
    ("valgrind", "--version"),
];

/// The packages whose versions are told.
const PACKAGES: [&str; 12] = [
    "oneflight",
    "uniflight",
    "asyncband",
    "async_singleflight",
    "singleflight-async",
    "futures-util",
    "tokio",
    "moka",
    "quick_cache",
    "foyer-memory",
    "cachet",
    "foldhash",
];

/// A test, and how often it is run.
struct Test {
    name: &'static str,
    often: Often,
    /// False for those that a cache cannot take part in: what it keeps, it does not load.
    caches: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Often {
    Once,
    EachPass,
    /// What threads do to each other varies most.
    TwiceEachPass,
}

const TESTS: [Test; 8] = [
    Test {
        name: "lone",
        often: Often::EachPass,
        caches: true,
    },
    Test {
        name: "yield",
        often: Often::EachPass,
        caches: true,
    },
    Test {
        name: "join",
        often: Often::EachPass,
        caches: true,
    },
    Test {
        name: "leave",
        often: Often::EachPass,
        caches: true,
    },
    Test {
        name: "contend",
        often: Often::TwiceEachPass,
        caches: false,
    },
    Test {
        name: "contend-fresh",
        often: Often::EachPass,
        caches: true,
    },
    Test {
        name: "wake",
        often: Often::Once,
        caches: true,
    },
    Test {
        name: "keep",
        often: Often::Once,
        caches: true,
    },
];

/// Everything that was measured.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) passes: usize,
    /// Tools that are not there, and what is missing without them.
    pub(crate) missing: Vec<String>,
    samples: Samples,
}

impl Results {
    /// The median of a figure.
    pub(crate) fn get(&self, test: &str, subject: &str, figure: &str) -> Option<f64> {
        self.samples.get(test, subject, figure)
    }

    /// The highest of a figure.
    pub(crate) fn highest(&self, test: &str, subject: &str, figure: &str) -> Option<f64> {
        self.samples.highest(test, subject, figure)
    }
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
    let others = tool::others(&mut results.missing);
    for pass in 0..passes {
        for test in &TESTS {
            let times = match test.often {
                Often::Once => usize::from(pass == 0),
                Often::EachPass => 1,
                Often::TwiceEachPass => 2,
            };
            for _ in 0..times {
                eprintln!(
                    "bench-flights: pass {} of {passes}: {}",
                    pass + 1,
                    test.name
                );
                for subject in subjects(test) {
                    results
                        .samples
                        .add(test.name, subject, child(test.name, subject, "full")?);
                }
                for other in &others {
                    if let Some(figures) = other.run(test.name, "full")? {
                        results.samples.add(test.name, other.name(), figures);
                    }
                }
            }
        }
    }
    match Callgrind::find() {
        Some(callgrind) => instructions(&callgrind, &mut results)?,
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
    let mut missing = Vec::new();
    let others = tool::others(&mut missing);
    let mut runs = 0;
    for test in &TESTS {
        for subject in subjects(test) {
            child(test.name, subject, "smoke")?;
            runs += 1;
        }
        for other in &others {
            runs += usize::from(other.run(test.name, "smoke")?.is_some());
        }
    }
    missing
        .iter()
        .for_each(|what| println!("bench-flights: {what}"));
    Ok(runs)
}

/// Who takes part in a test.
fn subjects(test: &Test) -> impl Iterator<Item = &'static str> {
    let floors = (test.name == "lone").then_some([floor::SIP, floor::FOLD]);
    let caches = test.caches;
    let takes_part = move |name: &&str| caches || subject::kind(name) != Some(Kind::Cache);
    floors
        .into_iter()
        .flatten()
        .chain(NAMES.into_iter().filter(takes_part))
}

/// Instructions of the paths that one thread takes: those of a long run less those of a short one.
fn instructions(callgrind: &Callgrind, results: &mut Results) -> Result<(), String> {
    // Rounds of `join` have 1,001 callers each.
    for (test, short, long, each) in [("lone", 2_000, 6_000, 1.0), ("join", 4, 12, 1_001.0)] {
        eprintln!("bench-flights: instructions of {test}");
        let tested = TESTS.iter().filter(|known| known.name == test);
        for subject in tested.flat_map(subjects) {
            let per = callgrind.each(test, subject, short, long)? / each;
            results.samples.add(
                test,
                subject,
                Figures::from([("instructions".to_owned(), per)]),
            );
        }
    }
    Ok(())
}
