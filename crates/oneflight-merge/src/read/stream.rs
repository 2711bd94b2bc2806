//! Bytes of a file: where they come from, and how they are unpacked.
//!
//!   Place ──Counting──▶ as stored ──gzip│zstd│plain──▶ Stream
//!
//! S1. The compression is told by the first bytes, unless the mapping names it.
//! S2. A compressed stream that stops before its end is an error (Q3).
//! S3. A gzip file is one member after the other; anything else behind a member is an error of its own.

use super::error::{Kind, ReadError};
use crate::plan::Compression;
use flate2::bufread::GzDecoder;
use std::error::Error as StdError;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where bytes come from.
pub(super) enum Place {
    /// A regular file, which can be opened again.
    Path(PathBuf),
    /// A temporary file, already unpacked, which can be read again from its start.
    Temp(fs::File),
    /// Something that can be read once: standard input, a pipe.
    Once(Box<dyn Read + Send>),
}

/// The unpacked bytes of a file.
pub(super) struct Stream {
    name: Arc<str>,
    packed: Compression,
    bytes: Box<dyn Read + Send>,
    counter: Arc<AtomicU64>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.name)
            .field("packed", &self.packed)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// Opens `place`; `named` is the compression that the mapping names.
    pub(super) fn open(
        place: Place,
        name: &Arc<str>,
        named: Option<Compression>,
    ) -> Result<Self, ReadError> {
        let (stored, named): (Box<dyn Read + Send>, _) = match place {
            Place::Path(path) => (
                Box::new(fs::File::open(path).map_err(|e| ReadError::io(name, "open", e))?),
                named,
            ),
            Place::Temp(mut file) => {
                file.rewind()
                    .map_err(|e| ReadError::io(name, "rewind the temporary copy of", e))?;
                (Box::new(file), Some(Compression::None))
            }
            Place::Once(read) => (read, named),
        };
        let counter = Arc::new(AtomicU64::new(0));
        let mut stored = Counting {
            inner: stored,
            counter: counter.clone(),
        };
        let first = first_bytes(&mut stored).map_err(|e| ReadError::io(name, "read", e))?;
        let packed = match named {
            Some(named) => named,
            None => told_by(&first, name)?,
        };
        let whole = io::Cursor::new(first).chain(stored);
        let buffered = |whole| BufReader::with_capacity(1 << 16, whole);
        let bytes: Box<dyn Read + Send> = match packed {
            Compression::None => Box::new(whole),
            Compression::Gzip => Box::new(Members::new(buffered(whole))),
            Compression::Zstd => Box::new(
                zstd::stream::read::Decoder::with_buffer(buffered(whole))
                    .map_err(|e| ReadError::io(name, "unpack", e))?,
            ),
        };
        Ok(Self {
            name: name.clone(),
            packed,
            bytes,
            counter,
        })
    }

    /// Appends up to `most` bytes to `buffer`; fewer only at the end. Returns how many.
    pub(super) fn append(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<usize, ReadError> {
        let begin = buffer.len();
        buffer.resize(begin + most, 0);
        let mut end = begin;
        let read = loop {
            match self.bytes.read(&mut buffer[end..]) {
                Ok(0) => break Ok(end - begin),
                Ok(count) => end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(self.refused(error)),
            }
        };
        buffer.truncate(end);
        read
    }

    /// Writes everything to a temporary file, so that it can be read from any place.
    pub(super) fn spool(mut self) -> Result<fs::File, ReadError> {
        let failed = |e| ReadError::io(&self.name, "make a temporary copy of", e);
        let mut file = tempfile::tempfile().map_err(failed)?;
        let mut block = Vec::new();
        loop {
            block.clear();
            if self.append(&mut block, 1 << 20)? == 0 {
                return Ok(file);
            }
            io::Write::write_all(&mut file, &block)
                .map_err(|e| ReadError::io(&self.name, "make a temporary copy of", e))?;
        }
    }

    /// How the file is stored.
    pub(super) fn packed(&self) -> Compression {
        self.packed
    }

    /// Bytes read so far, as stored.
    pub(super) fn bytes_read(&self) -> u64 {
        // ORDERING: a counter for a progress bar; nothing is published through it.
        self.counter.load(Ordering::Relaxed)
    }

    fn refused(&self, error: io::Error) -> ReadError {
        let format = match self.packed {
            Compression::None => return ReadError::io(&self.name, "read", error),
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
        if error.get_ref().is_some_and(|inner| inner.is::<Junk>()) {
            let message = format!("{Junk}: expected the end of the file, or another gzip stream");
            return ReadError::new(Kind::Malformed, &self.name, None, message);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ReadError::new(
                Kind::Truncated,
                &self.name,
                None,
                format!("truncated: the {format} stream stops before its end"),
            ),
            io::ErrorKind::PermissionDenied | io::ErrorKind::Interrupted => {
                ReadError::io(&self.name, "read", error)
            }
            _ => ReadError::new(
                Kind::Malformed,
                &self.name,
                None,
                format!("damaged {format} data: {error}"),
            ),
        }
    }
}

/// The members of a gzip file, one after the other (S3).
///
/// The decoder of `flate2` that reads several members takes what stands behind the last one for the head of another, and so
/// junk that is shorter than a head for a file that is cut short.
struct Members<R> {
    /// None once the file has ended.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(whole: R) -> Self {
        Self {
            member: Some(GzDecoder::new(whole)),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let is_last = match member.get_mut().fill_buf()? {
                [] => true,
                [0x1f] | [0x1f, 0x8b, ..] => false,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, Junk)),
            };
            self.member = self
                .member
                .take()
                .filter(|_| !is_last)
                .map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
    }
}

/// What stands behind a gzip stream and is none.
#[derive(Debug)]
struct Junk;

impl fmt::Display for Junk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("junk after the end of the gzip stream")
    }
}

impl StdError for Junk {}

struct Counting<R> {
    inner: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        // ORDERING: a counter for a progress bar; nothing is published through it.
        self.counter.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn first_bytes(stored: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(8);
    stored.by_ref().take(8).read_to_end(&mut first)?;
    Ok(first)
}

fn told_by(first: &[u8], name: &str) -> Result<Compression, ReadError> {
    let foreign = match first {
        [0x1f, 0x8b, ..] => return Ok(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => return Ok(Compression::Zstd),
        // A zstd file may begin with a skippable frame.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Ok(Compression::Zstd),
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "compressed with xz",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => "compressed with bzip2",
        _ => return Ok(Compression::None),
    };
    Err(ReadError::new(
        Kind::Malformed,
        name,
        None,
        format!("the file is {foreign}; plain, gzip and zstd files can be read"),
    ))
}
