//! A store in a file, which several processes may share.
//!
//! ```text
//!   tokens            the pair, 0600; replaced by a rename, so that a reader sees the old one or the new one, whole
//!   tokens.new        while it is written
//!   tokens.lock       held for a moment, by whoever compares and swaps
//!   tokens.lease      held by whoever refreshes (`FileLease`)
//! ```
//!
//! X1. A swap is made under the lock, and is on the disk (file, then folder) before it is reported.
//! X2. Every file is only ever readable by its owner, from its first moment on.
//! X3. Who comes by a symbolic link has the file that it leads to, its lock and its lease. The link stays.

use super::blocking::{self, Blocking};
use super::contract::{Keeping, Store, StoreError};
use super::format;
use super::lease::FileLease;
use crate::clock::Clock;
use crate::sync::Arc;
use crate::token::pair::{Stored, Version};
use std::error::Error as StdError;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The largest file that is read: some tokens are long, none is as long as this.
const LARGEST: u64 = 1 << 20;

/// So many symbolic links are followed, as Linux does.
const LINKS: u32 = 40;

/// Keeps a pair in a file.
///
/// The file is readable by its owner only (`0600` on Unix), replaced in one step and flushed to the disk; a lock beside it keeps
/// other processes out meanwhile. The folder must be there. A file that can't be understood is an error, and stays as it is.
///
/// Reading and writing block for as long as the disk takes. They do so in the caller's poll, unless
/// [`blocking`](Self::blocking) says where else.
///
/// A symbolic link is followed: who comes by the link and who does not share one file, and one lease.
///
/// A file on a network drive is only as good as that drive's locks and renames. One file is for one identity.
///
/// # Examples
/// ```
/// use oneflight::token::{FileStore, Grant, RefreshError, TokenSource};
/// use oneflight::Tokio;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let folder = std::env::temp_dir().join(format!("oneflight-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let store = FileStore::new(folder.join("tokens")).blocking(Tokio);
/// let source: TokenSource<std::io::Error> = TokenSource::builder(Tokio, Tokio)
///     .lease(store.lease(Tokio)) // Two processes, one refresh.
///     .store(store)
///     .build(|refresh| async move { Ok(Grant::new("access")) });
/// source.replace(Grant::new("access").refresh("refresh")).await.unwrap();
/// assert!(folder.join("tokens").exists());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FileStore {
    path: Arc<PathBuf>,
    elsewhere: Option<Arc<dyn Blocking>>,
}

impl FileStore {
    /// A store in this file, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: Arc::new(path.into()),
            elsewhere: None,
        }
    }

    /// Reads and writes there, and not in the caller's poll.
    pub fn blocking(mut self, elsewhere: impl Blocking) -> Self {
        self.elsewhere = Some(Arc::new(elsewhere));
        self
    }

    /// The lease of this file: of the sources that have it, in any process, one refreshes at a time.
    pub fn lease(&self, clock: impl Clock) -> FileLease {
        let path = self.path.clone();
        FileLease::of(path, self.elsewhere.clone(), Arc::new(clock))
    }
}

impl Store for FileStore {
    fn load(&self) -> Keeping<'_, Stored> {
        let path = self.path.clone();
        let load = move || load(&path).map_err(StoreError::from);
        Box::pin(blocking::run(self.elsewhere.as_deref(), load))
    }

    fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool> {
        let (path, stored) = (self.path.clone(), stored.clone());
        let swap = move || swap(&path, expected, &stored).map_err(StoreError::from);
        Box::pin(blocking::run(self.elsewhere.as_deref(), swap))
    }
}

fn load(path: &Path) -> Result<Stored, FileError> {
    let told = |error| FileError::new("read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
        Err(error) => return Err(told(error)),
    };
    let length = file.metadata().map_err(told)?.len();
    let bad = |what: String| told(io::Error::new(io::ErrorKind::InvalidData, what));
    if length > LARGEST {
        return Err(bad(format!("it is larger than {LARGEST} bytes")));
    }
    // With room for all of it from the start: a buffer that grows leaves copies behind.
    let room = usize::try_from(length).unwrap_or_default() + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    let read = file
        .take(length + 1)
        .read_to_end(&mut bytes)
        .map_err(told)?;
    if read as u64 > length {
        return Err(bad("it grows while it is read".to_owned()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| bad("it is no text".to_owned()))?;
    format::read(text).map_err(bad)
}

fn swap(path: &Path, expected: Version, stored: &Stored) -> Result<bool, FileError> {
    let path = &followed(path);
    let lock = beside(path, ".lock");
    let lock_error = |error| FileError::new("lock", &lock, error);
    let locked = open_shared(&lock).map_err(lock_error)?;
    locked.lock().map_err(lock_error)?;
    if load(path)?.version != expected {
        return Ok(false);
    }
    let new = beside(path, ".new");
    let text = format::write(stored);
    write(&new, text.as_bytes()).map_err(|error| FileError::new("write", &new, error))?;
    fs::rename(&new, path).map_err(|error| FileError::new("replace", path, error))?;
    sync_folder(path).map_err(|error| FileError::new("flush the folder of", path, error))?;
    // The lock goes with its file.
    drop(locked);
    Ok(true)
}

/// Writes a file that was not there, as its owner's alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What could not be read again would be in the place of what can.
    if bytes.len() as u64 > LARGEST {
        let what = format!("it would be larger than {LARGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    match fs::remove_file(path) {
        // Left behind by a process that died; we have the lock.
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = owned(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file to be locked, made if it is not there. It stays: a lock on a file that is taken away locks nobody out.
pub(super) fn open_shared(path: &Path) -> io::Result<File> {
    owned(
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false),
    )
    .open(path)
}

/// Readable by its owner only (X2).
#[cfg(unix)]
fn owned(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn owned(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A rename is on the disk once its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Where a path leads to, by way of symbolic links: the same for all who mean the same file (X3). It need not be there.
pub(super) fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // More than that lead nowhere: opening it says so.
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path.pop();
        path.push(target);
    }
    path
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// What failed, and on which file.
#[derive(Debug)]
pub(super) struct FileError {
    tried: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    pub(super) fn new(tried: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            tried,
            path: path.to_owned(),
            source,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {} {}", self.tried, self.path.display())
    }
}

impl StdError for FileError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}
