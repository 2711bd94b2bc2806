//! The ways of reading a file: the `csv` crate's loop, and ours on one thread and on two.

use super::Failure;
use oneflight_merge::map::{Lookups, Mapper};
use oneflight_merge::mapping;
use oneflight_merge::plan::{Format, Plan};
use oneflight_merge::read::{self, Limits, ReadError};
use oneflight_merge::rows::Chunk;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A way of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `csv::Reader::read_byte_record`, and nothing else.
    Csv,
    /// Parse, map and fold, on one thread.
    One,
    /// The same on two: each takes the next chunk under a lock, and maps it beside the other.
    Two,
}

impl Way {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "one" => Some(Self::One),
            "two" => Some(Self::Two),
            _ => None,
        }
    }
}

/// A file and the mapping of its rows.
pub(super) struct Job {
    file: PathBuf,
    plan: Plan,
    lookups: Lookups,
}

impl Job {
    /// The first feed of the mapping, with this file in the place of its own.
    pub(super) fn new(file: &Path, map: &str) -> Result<Self, Failure> {
        let mut plan = mapping::parse(map, "reading.toml")?;
        let file = file.canonicalize()?;
        let feed = plan.feeds.first_mut().ok_or("the mapping has no feed")?;
        feed.source.path = file.display().to_string();
        let lookups = Lookups::read(&plan, Path::new("."))?;
        Ok(Self {
            file,
            plan,
            lookups,
        })
    }

    pub(super) fn is_csv(&self) -> bool {
        matches!(self.plan.feeds[0].source.format, Format::Csv(_))
    }

    /// Reads the whole file; returns how many rows it has.
    pub(super) fn run(&self, way: Way) -> Result<u64, Failure> {
        match way {
            Way::Csv => self.byte_records(),
            Way::One => {
                let mut rows = 0;
                for chunk in self.chunks()? {
                    rows += self.map(&chunk?);
                }
                Ok(rows)
            }
            Way::Two => {
                let chunks = Mutex::new(self.chunks()?);
                std::thread::scope(|scope| {
                    let other = scope.spawn(|| self.share(&chunks));
                    let here = self.share(&chunks);
                    let there = other.join().map_err(|_| "the other thread panicked")?;
                    Ok(here? + there?)
                })
            }
        }
    }

    fn byte_records(&self) -> Result<u64, Failure> {
        let mut reader = csv::Reader::from_path(&self.file)?;
        let mut record = csv::ByteRecord::new();
        let mut rows = 0;
        while reader.read_byte_record(&mut record)? {
            rows += 1;
        }
        Ok(rows)
    }

    fn chunks(&self) -> Result<impl Iterator<Item = Result<Chunk, ReadError>> + Send, ReadError> {
        let inputs = read::open(&self.plan.feeds[0].source, Path::new("."))?;
        Ok(inputs
            .into_iter()
            .flat_map(|input| input.chunks(Limits::default())))
    }

    fn share(
        &self,
        chunks: &Mutex<impl Iterator<Item = Result<Chunk, ReadError>>>,
    ) -> Result<u64, ReadError> {
        let mut rows = 0;
        loop {
            // A thread that panicked has ended the run; what the lock holds does not matter any more.
            let next = match chunks.lock() {
                Ok(mut chunks) => chunks.next(),
                Err(_) => None,
            };
            match next {
                Some(chunk) => rows += self.map(&chunk?),
                None => return Ok(rows),
            }
        }
    }

    fn map(&self, chunk: &Chunk) -> u64 {
        let mapped = Mapper::new(&self.plan, 0, &self.lookups).map(chunk);
        (mapped.rows.len() + mapped.rejects.len()) as u64
    }
}
