//! Where the real data sets are.

use std::io::Write;
use std::path::PathBuf;

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
    // What cargo says now, not what it said when this was compiled: a build may come from a copy of the tree elsewhere.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match package.join("../../../shared/data").canonicalize() {
        Ok(folder) => Some(folder),
        Err(_) => {
            let skipped =
                "skipped: the real data sets are not here (set ONEFLIGHT_DATA to their folder)";
            // Not `eprintln!`: what a test that passes prints so is never seen, and a skip must be.
            let _ = writeln!(std::io::stderr(), "{skipped}");
            None
        }
    }
}
