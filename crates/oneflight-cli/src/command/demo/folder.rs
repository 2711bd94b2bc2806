//! The folder of the demo.
//!
//! F1. Nothing that is not the demo's own is ever overwritten or removed: a file is its own if it is byte for byte what the
//!     demo would write, or one of the results ([`RESULTS`]) beside a map that is the demo's own.

use super::files::Files;
use crate::exit::Failure;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The map.
pub(super) const MAP: &str = "league.toml";
/// The database.
pub(super) const DATABASE: &str = "league.db";
/// The rejected rows.
pub(super) const REJECTS: &str = "rejects.ndjson";
/// What a run of the demo leaves behind.
const RESULTS: [&str; 4] = [DATABASE, "league.db-wal", "league.db-shm", REJECTS];

/// Writes the files, after making sure that nobody else's are there (F1).
///
/// # Errors
/// If there are, or the folder cannot be written.
pub(super) fn write(dir: &Path, files: &Files) -> Result<(), Failure> {
    let cannot = |path: &Path, error: io::Error| {
        Failure::say(format!("cannot write `{}`: {error}", path.display()))
    };
    if let Some(foreign) = foreign(dir, files).map_err(|error| cannot(dir, error))? {
        let message = format!(
            "`{}` is not as the demo would write it; nothing is overwritten",
            foreign.display()
        );
        return Err(Failure::say(message).hint("give the demo another folder: oneflight demo DIR"));
    }
    for (name, content) in &files.files {
        let path = dir.join(name);
        let parent = path.parent().unwrap_or(dir);
        fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
        fs::write(&path, content).map_err(|error| cannot(&path, error))?;
    }
    for name in RESULTS {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot(&path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first thing in the folder that is not the demo's own.
fn foreign(dir: &Path, files: &Files) -> io::Result<Option<PathBuf>> {
    if !dir.exists() {
        return Ok(None);
    }
    if !dir.is_dir() {
        return Ok(Some(dir.to_owned()));
    }
    let ours = |path: &Path| files.files.iter().find(|file| dir.join(&file.0) == path);
    let has_map = fs::read(dir.join(MAP))
        .is_ok_and(|map| ours(&dir.join(MAP)).is_some_and(|own| own.1.as_bytes() == map));
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let within = files
                .files
                .iter()
                .any(|file| dir.join(&file.0).starts_with(&path));
            let own = match ours(&path) {
                Some((_, content)) => {
                    fs::read(&path).is_ok_and(|found| found == content.as_bytes())
                }
                None if path.is_dir() && within => {
                    folders.push(path);
                    continue;
                }
                None => has_map && RESULTS.iter().any(|name| dir.join(name) == path),
            };
            if !own {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::files::files;

    #[test]
    fn an_earlier_demo_is_replaced_and_anything_else_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, files) = (temp.path().join("demo"), files());
        write(&dir, &files).unwrap();
        fs::write(dir.join(DATABASE), "the result of a run").unwrap();
        write(&dir, &files).unwrap();
        assert!(!dir.join(DATABASE).exists());

        fs::write(dir.join("notes.txt"), "mine").unwrap();
        let failure = write(&dir, &files).unwrap_err();
        assert!(failure.to_string().contains("notes.txt"), "{failure}");
        fs::remove_file(dir.join("notes.txt")).unwrap();

        fs::write(dir.join(MAP), "edited").unwrap();
        fs::write(dir.join(DATABASE), "made with it").unwrap();
        let failure = write(&dir, &files).unwrap_err();
        assert!(
            failure
                .to_string()
                .contains("is not as the demo would write it"),
            "{failure}"
        );
        assert_eq!(fs::read_to_string(dir.join(MAP)).unwrap(), "edited");
        assert!(dir.join(DATABASE).exists());
    }

    #[test]
    fn a_database_of_the_same_name_in_another_folder_is_foreign() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(DATABASE), "somebody's").unwrap();
        assert!(write(temp.path(), &files()).is_err());
        assert_eq!(
            fs::read_to_string(temp.path().join(DATABASE)).unwrap(),
            "somebody's"
        );
    }
}
