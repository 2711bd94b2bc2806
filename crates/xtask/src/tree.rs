//! The files of the workspace that people write.

use std::fs;
use std::io;
use std::path::Path;

/// A text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from the root, with `/` between its parts.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl File {
    /// True for files that only tests are made of.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.starts_with("tests/")
            || self.path.starts_with("crates/testkit/")
    }
}

/// Reads every text file below `root`, sorted by path; what is built, and what is not text, is passed over.
pub(crate) fn read(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    descend(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn descend(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        // In a linked worktree, `.git` is a file, which tells where the worktree lies.
        if matches!(name.as_str(), "target" | ".git") {
            continue;
        }
        if kind.is_dir() {
            descend(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file()
            && name != "Cargo.lock"
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}
