//! Opening a Parquet file, and guarding against damaged ones.

use super::{flat, nested};
use crate::plan::Compression;
use crate::read::error::{Kind, ReadError, listed};
use crate::read::input::{Limits, Opened, Part, Reading};
use crate::read::stream::{Place, Stream};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Reads the footer, and checks that the columns that are needed are there.
pub(in crate::read) fn start(
    place: Place,
    name: &Arc<str>,
    compression: Option<Compression>,
    needs: &[String],
) -> Result<Opened, ReadError> {
    let file = random_access(place, name, compression)?;
    let size = file
        .metadata()
        .map_err(|e| ReadError::io(name, "read", e))?
        .len();
    check_magic(&file, size, name)?;
    let guard = Guard { name: name.clone() };
    let reader = guard.call(None, || SerializedFileReader::new(file))?;
    let root = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema_ptr();
    let columns: Vec<String> = root
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned())
        .collect();
    let missing: Vec<&str> = needs
        .iter()
        .map(String::as_str)
        .filter(|need| !columns.iter().any(|column| column == need))
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "no column {}; the columns are {}",
            listed(missing),
            listed(columns.iter().map(String::as_str))
        );
        return Err(ReadError::new(Kind::Header, name, None, message));
    }
    let bytes = BytesRead {
        size,
        rows: reader.metadata().file_metadata().num_rows().max(1) as u64,
    };
    let is_flat = root
        .get_fields()
        .iter()
        .all(|field| field.is_primitive() && !is_repeated(field));
    Ok(if is_flat {
        Opened {
            reading: Box::new(Guarded {
                guard,
                inner: flat::Rows::new(reader),
                bytes,
            }),
            columns,
        }
    } else {
        Opened {
            reading: Box::new(Guarded {
                guard,
                inner: nested::Rows::new(reader),
                bytes,
            }),
            columns: Vec::new(),
        }
    })
}

fn is_repeated(field: &parquet::schema::types::Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == parquet::basic::Repetition::REPEATED
}

/// The footer stands at the end: what cannot be read from any place goes to a temporary file first.
fn random_access(
    place: Place,
    name: &Arc<str>,
    compression: Option<Compression>,
) -> Result<fs::File, ReadError> {
    if let Place::Path(path) = &place {
        let open = || fs::File::open(path).map_err(|e| ReadError::io(name, "open", e));
        if Stream::open(Place::Path(path.clone()), name, compression)?.packed() == Compression::None
        {
            return open();
        }
    }
    Stream::open(place, name, compression)?.spool()
}

fn check_magic(mut file: &fs::File, size: u64, name: &str) -> Result<(), ReadError> {
    use std::io::{Read, Seek, SeekFrom};
    const MAGIC: &[u8] = b"PAR1";
    let mut read = |from| -> std::io::Result<Vec<u8>> {
        let mut four = Vec::new();
        file.seek(from)?;
        file.take(4).read_to_end(&mut four)?;
        Ok(four)
    };
    let failed = |e| ReadError::io(name, "read", e);
    let first = read(SeekFrom::Start(0)).map_err(failed)?;
    if size == 0 {
        return Err(ReadError::new(
            Kind::Truncated,
            name,
            None,
            "the file is empty; a Parquet file was expected",
        ));
    }
    if first != MAGIC {
        let message = if first == b"PARE" {
            "the Parquet file is encrypted"
        } else {
            "not a Parquet file: it does not begin with PAR1"
        };
        return Err(ReadError::new(Kind::Malformed, name, None, message));
    }
    if size < 12 || read(SeekFrom::End(-4)).map_err(failed)? != MAGIC {
        return Err(ReadError::new(
            Kind::Truncated,
            name,
            None,
            "truncated: the Parquet file does not end with its footer",
        ));
    }
    Ok(())
}

/// How much of the file has been read: a Parquet file is not read from front to back, so rows stand for bytes.
struct BytesRead {
    size: u64,
    rows: u64,
}

/// What makes parts of a Parquet file.
pub(super) trait Portions: Send {
    /// Rows done.
    fn row(&self) -> u64;
    /// As [`Reading::next`].
    fn portion(
        &mut self,
        limits: Limits,
    ) -> Result<Option<(crate::rows::Rows, Vec<crate::rows::Bad>)>, ParquetError>;
}

struct Guarded<P> {
    guard: Guard,
    inner: P,
    bytes: BytesRead,
}

impl<P: Portions> Reading for Guarded<P> {
    fn next(&mut self, limits: Limits) -> Result<Option<Part>, ReadError> {
        let row = self.inner.row() + 1;
        let portion = self.guard.call(Some(row), || self.inner.portion(limits))?;
        let BytesRead { size, rows } = self.bytes;
        let done = u128::from(size) * u128::from(self.inner.row().min(rows)) / u128::from(rows);
        Ok(portion.map(|(rows, bad)| Part {
            rows,
            bad,
            bytes_read: u64::try_from(done).unwrap_or(size),
        }))
    }
}

/// Turns errors and panics of the library into errors of the file (C3).
struct Guard {
    name: Arc<str>,
}

impl Guard {
    fn call<T>(
        &self,
        row: Option<u64>,
        work: impl FnOnce() -> Result<T, ParquetError>,
    ) -> Result<T, ReadError> {
        // The reader is not used again after a panic, so no broken state is seen.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let kind = if matches!(error, ParquetError::EOF(_)) {
                    Kind::Truncated
                } else {
                    Kind::Malformed
                };
                Err(ReadError::new(
                    kind,
                    &self.name,
                    row,
                    format!(
                        "the Parquet file is damaged or cannot be read: {}",
                        one_line(&error)
                    ),
                ))
            }
            Err(_) => Err(ReadError::new(
                Kind::Malformed,
                &self.name,
                row,
                "the Parquet file is damaged, or of a kind that cannot be read",
            )),
        }
    }
}

fn one_line(error: &ParquetError) -> String {
    error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
