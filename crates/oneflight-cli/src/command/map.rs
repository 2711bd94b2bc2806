//! Reading a map: the step `plan` of every command.

use crate::exit::Failure;
use oneflight_merge::plan::Plan;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads and understands a map.
///
/// # Errors
/// If the file cannot be read, or is no map; each fault of the map is told with its line.
pub(crate) fn read(map: &Path) -> Result<Arc<Plan>, Failure> {
    let name = map.display().to_string();
    let bytes = std::fs::read(map).map_err(|error| {
        let failure = Failure::say(format!("cannot read the map `{name}`: {error}"));
        match map.extension() {
            None if error.kind() == ErrorKind::NotFound => {
                failure.hint(format!("is it `{name}.toml`?"))
            }
            _ => failure,
        }
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Failure::say(format!("{name}:{line}: the map is not UTF-8"))
    })?;
    Ok(Arc::new(
        oneflight_merge::mapping::parse(&text, &name).map_err(Failure::usage)?,
    ))
}

/// The folder that the paths of a map are relative to.
pub(crate) fn data_dir(map: &Path, data: Option<&Path>) -> Result<PathBuf, Failure> {
    let dir = match data {
        Some(data) => data.to_owned(),
        None => match map.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        },
    };
    if dir.is_dir() {
        return Ok(dir);
    }
    let fault = if dir.exists() {
        "is no folder"
    } else {
        "does not exist"
    };
    Err(
        Failure::say(format!("the data folder `{}` {fault}", dir.display()))
            .hint("give the folder of the feeds with --data DIR"),
    )
}
