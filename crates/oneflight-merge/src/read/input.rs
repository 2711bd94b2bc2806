//! A file of a feed, opened and checked, and its chunks.
//!
//!   open ──▶ Input (columns known, file closed again) ──chunks──▶ Chunks ──next──▶ Chunk, Chunk, …
//!
//! I1. A regular file is opened twice, so that a feed of many files holds few of them open; what can be read only once stays open.
//! I2. After an error there are no more chunks.

use super::error::ReadError;
use super::paths::{self, Found};
use super::stream::{Place, Stream};
use super::text::Text;
use super::{csv, json, ndjson, parquet};
use crate::plan::{Format, Source};
use crate::rows::{Bad, Chunk, File, Rows};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much a chunk holds at most: it ends with the row that reaches one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows, bad ones included.
    pub rows: usize,
    /// Bytes of the rows' text.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows: 8_192,
            bytes: 8 << 20,
        }
    }
}

impl Limits {
    /// A chunk's text is indexed by 31 bits, and may outgrow its limit by one row.
    const MOST_BYTES: usize = 1 << 30;

    fn clamped(self) -> Self {
        Self {
            rows: self.rows.max(1),
            bytes: self.bytes.clamp(1, Self::MOST_BYTES),
        }
    }

    pub(super) fn reached(self, rows: usize, bytes: usize) -> bool {
        rows >= self.rows || bytes >= self.bytes
    }

    /// What is left of it; none if it has been reached.
    pub(super) fn left(self, rows: usize, bytes: usize) -> Option<Self> {
        (!self.reached(rows, bytes)).then(|| Self {
            rows: self.rows - rows,
            bytes: self.bytes - bytes,
        })
    }
}

/// Opens the files of a feed: expands the path, and checks that each file is there and has the columns that are needed.
///
/// The files come sorted bytewise by path. A path of `-` is standard input.
///
/// # Errors
/// No file matches; a file cannot be opened; it is compressed in an unknown way, or in another encoding; it has no header, or a
/// column that is needed is missing from it.
///
/// # Examples
/// ```
/// use oneflight_merge::plan::{Format, Source};
/// use oneflight_merge::read::{self, Limits};
/// use oneflight_merge::rows::Rows;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("clubs-2010.ndjson"), "{\"name\":\"Arsenal\"}\n")?;
/// let source = Source {
///     path: "clubs-{season}.ndjson".to_owned(),
///     format: Format::Ndjson,
///     encoding: None,
///     compression: None,
///     at: "map.toml:3".to_owned(),
/// };
/// for input in read::open(&source, folder.path())? {
///     assert_eq!(input.file.captures, [("season".to_owned(), "2010".to_owned())]);
///     for chunk in input.chunks(Limits::default()) {
///         let Rows::Tree(trees) = chunk?.rows else { unreachable!("NDJSON has no flat rows") };
///         assert_eq!((trees[0].line, &trees[0].value["name"]), (1, &"Arsenal".into()));
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn open(source: &Source, data_dir: &Path) -> Result<Vec<Input>, ReadError> {
    open_with_stdin(source, data_dir, Box::new(std::io::stdin()))
}

/// [`open`], with other bytes in the place of standard input.
///
/// # Errors
/// As [`open`].
pub fn open_with_stdin(
    source: &Source,
    data_dir: &Path,
    stdin: Box<dyn Read + Send>,
) -> Result<Vec<Input>, ReadError> {
    if source.path == "-" {
        let file = File {
            name: "<stdin>".into(),
            stem: "stdin".into(),
            captures: Vec::new(),
            columns: Vec::new(),
            bytes: None,
        };
        return Ok(vec![Input::check(source, file, Place::Once(stdin), None)?]);
    }
    let found = paths::expand(&source.path, data_dir, &source.at)?;
    found
        .into_iter()
        .map(|found| Input::of_path(source, found))
        .collect()
}

/// A file that is ready to be read.
pub struct Input {
    /// The file.
    pub file: Arc<File>,
    start: Start,
}

enum Start {
    /// Open this again.
    Again {
        path: PathBuf,
        name: Arc<str>,
        source: Source,
    },
    /// This is open (I1).
    Open(Box<dyn Reading>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Input {
    /// Reads the file, chunk by chunk. Blocks.
    pub fn chunks(self, limits: Limits) -> Chunks {
        let state = match self.start {
            Start::Open(reading) => State::Reading(reading),
            Start::Again { path, name, source } => State::Closed { path, name, source },
        };
        Chunks {
            file: self.file,
            limits: limits.clamped(),
            state,
        }
    }

    fn of_path(source: &Source, found: Found) -> Result<Self, ReadError> {
        let Found {
            path,
            name,
            captures,
        } = found;
        let shown = path.display().to_string();
        let meta = std::fs::metadata(&path).map_err(|e| ReadError::io(&shown, "open", e))?;
        let file = File {
            stem: stem(&name),
            name,
            captures,
            columns: Vec::new(),
            bytes: meta.is_file().then_some(meta.len()),
        };
        if meta.is_file() {
            return Self::check(source, file, Place::Path(path.clone()), Some(path));
        }
        let pipe = std::fs::File::open(&path).map_err(|e| ReadError::io(&shown, "open", e))?;
        Self::check(source, file, Place::Once(Box::new(pipe)), None)
    }

    fn check(
        source: &Source,
        mut file: File,
        place: Place,
        again: Option<PathBuf>,
    ) -> Result<Self, ReadError> {
        let name: Arc<str> = again.as_ref().map_or_else(
            || file.name.as_str().into(),
            |path| path.display().to_string().into(),
        );
        let opened = start(place, &name, source)?;
        file.columns = opened.columns;
        let start = match again {
            Some(path) => Start::Again {
                path,
                name,
                source: source.clone(),
            },
            None => Start::Open(opened.reading),
        };
        Ok(Self {
            file: Arc::new(file),
            start,
        })
    }
}

/// The chunks of a file, in its order. Blocks.
pub struct Chunks {
    file: Arc<File>,
    limits: Limits,
    state: State,
}

enum State {
    Closed {
        path: PathBuf,
        name: Arc<str>,
        source: Source,
    },
    Reading(Box<dyn Reading>),
    Ended,
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks")
            .field("file", &self.file.name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => return None,
            State::Reading(reading) => self.read(reading),
            State::Closed { path, name, source } => {
                start(Place::Path(path), &name, &source).and_then(|open| self.read(open.reading))
            }
        };
        result.transpose()
    }
}

impl Chunks {
    /// I2: the state is `Ended` while the reading is out, and stays so after an error.
    fn read(&mut self, mut reading: Box<dyn Reading>) -> Result<Option<Chunk>, ReadError> {
        let Some(part) = reading.next(self.limits)? else {
            return Ok(None);
        };
        self.state = State::Reading(reading);
        Ok(Some(Chunk {
            file: self.file.clone(),
            rows: part.rows,
            bad: part.bad,
            bytes_read: part.bytes_read,
        }))
    }
}

/// A format's reader: a machine that makes one part after the other.
pub(super) trait Reading: Send {
    /// The next part; none at the end. Never called again after an error or the end.
    fn next(&mut self, limits: Limits) -> Result<Option<Part>, ReadError>;
}

/// A chunk that does not know its file yet.
pub(super) struct Part {
    pub(super) rows: Rows,
    pub(super) bad: Vec<Bad>,
    pub(super) bytes_read: u64,
}

/// A reader, and the columns of a flat file.
pub(super) struct Opened {
    pub(super) reading: Box<dyn Reading>,
    pub(super) columns: Vec<String>,
}

fn start(place: Place, name: &Arc<str>, source: &Source) -> Result<Opened, ReadError> {
    let label = source.encoding.as_deref();
    let text = |place| Text::open(name, Stream::open(place, name, source.compression)?, label);
    match &source.format {
        Format::Csv(dialect) => csv::start(text(place)?, name, dialect),
        Format::Ndjson => Ok(ndjson::start(text(place)?)),
        Format::Json { rows } => json::start(place, name, source, rows),
        Format::Parquet { needs } => parquet::start(place, name, source.compression, needs),
    }
}

/// The file's name without folders, the extension of its compression, and its own last extension.
fn stem(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = [".gz", ".gzip", ".zst", ".zstd"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}
