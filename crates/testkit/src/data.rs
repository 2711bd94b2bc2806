//! Where the real data sets are.

use std::path::{Path, PathBuf};

/// Returns the folder of the real data sets, or says on stderr that the test is skipped.
///
/// The folder is `ONEFLIGHT_DATA`, or a sibling of the workspace.
///
/// # Panics
/// When `ONEFLIGHT_DATA` names a folder that is not there: who sets it means it.
#[must_use]
pub fn data() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ONEFLIGHT_DATA").filter(|f| !f.is_empty()) {
        let folder = PathBuf::from(folder);
        assert!(
            folder.is_dir(),
            "ONEFLIGHT_DATA is not a folder: {}",
            folder.display()
        );
        return Some(folder);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    match folder.canonicalize() {
        Ok(folder) => Some(folder),
        Err(_) => {
            eprintln!(
                "skipped: the real data sets are not here (set ONEFLIGHT_DATA to their folder)"
            );
            None
        }
    }
}
