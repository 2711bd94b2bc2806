//! The rejects file: every rejected row as a JSON object on a line of its own.
//!
//! ```json
//! {"file":"results.csv","line":17,"feed":"results","column":"date","value":"2023-02-30","reason":"expected a date"}
//! ```
//!
//! J1. The file holds whole lines only, and all rows rejected so far, whenever a chunk is done: also when the program is
//!     interrupted, and when it is killed between chunks.
//! J2. It is never one of the files that are being read or written: those are compared before it is emptied.

use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Lines are written when so many bytes of them have come together, and when a chunk is done.
const FLUSH_AT: usize = 64 << 10;

/// One line of the file.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'r> {
    /// The file that the row stands in.
    pub(crate) file: &'r str,
    /// The line it begins on.
    pub(crate) line: u64,
    /// The feed.
    pub(crate) feed: &'r str,
    /// The column to blame, if one is.
    pub(crate) column: Option<&'r str>,
    /// What stands there.
    pub(crate) value: Option<&'r str>,
    /// What is wrong, and what was expected.
    pub(crate) reason: &'r str,
}

/// A file that is there, and not emptied yet.
#[derive(Debug)]
pub(crate) struct Opened {
    path: PathBuf,
    file: File,
    made: bool,
}

/// The file that is being written.
#[derive(Debug)]
pub(crate) struct Rejects {
    path: PathBuf,
    file: File,
    lines: Vec<u8>,
}

impl Opened {
    /// Opens the file, makes it if it is not there, and leaves alone what it holds.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let made = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            made,
        })
    }

    /// True if the other path leads to this file, by whatever name or link.
    pub(crate) fn is(&self, other: &Path) -> bool {
        match (self.path.canonicalize(), other.canonicalize()) {
            (Ok(ours), Ok(theirs)) => ours == theirs || same_inode(&self.file, other),
            _ => false,
        }
    }

    /// Gives the file up; one that was made for this is removed again.
    pub(crate) fn withdraw(self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Empties the file and begins to write.
    ///
    /// # Errors
    /// If it cannot be emptied.
    pub(crate) fn begin(self) -> io::Result<Rejects> {
        // A pipe or a terminal (/dev/stderr) cannot be emptied and need not be.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(Rejects {
            path: self.path,
            file: self.file,
            lines: Vec::new(),
        })
    }
}

impl Rejects {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, line)?;
        self.lines.push(b'\n');
        if self.lines.len() >= FLUSH_AT {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Hands all lines to the operating system (J1).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }
}

#[cfg(unix)]
fn same_inode(file: &File, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(other)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_inode(_: &File, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_emptied_only_when_writing_begins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rejects.ndjson");
        std::fs::write(&path, "old\n").unwrap();
        let opened = Opened::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\n");
        let mut rejects = opened.begin().unwrap();
        let line = Line {
            file: "a.csv",
            line: 3,
            feed: "a",
            column: None,
            value: Some("\"é\n"),
            reason: "why",
        };
        rejects.write(&line).unwrap();
        rejects.flush().unwrap();
        let json =
            r#"{"file":"a.csv","line":3,"feed":"a","column":null,"value":"\"é\n","reason":"why"}"#;
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{json}\n"));
    }

    #[test]
    fn a_file_is_known_by_any_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("feed.csv"), dir.path().join("other.csv"));
        std::fs::write(&path, "x").unwrap();
        std::fs::hard_link(&path, &link).unwrap();
        let opened = Opened::open(&link).unwrap();
        assert!(opened.is(&path) && opened.is(&dir.path().join(".").join("feed.csv")));
        assert!(!opened.is(&dir.path().join("third.csv")));
        opened.withdraw();
        assert!(link.exists(), "it was there before");
        let fresh = dir.path().join("fresh.ndjson");
        Opened::open(&fresh).unwrap().withdraw();
        assert!(!fresh.exists(), "it was made for nothing");
    }
}
