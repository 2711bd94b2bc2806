//! Which experiment it is.

use super::merge;
use crate::cli::{Experiment, LabArgs};
use crate::exit::{Exit, Failure};

/// Does what the command line says.
///
/// # Errors
/// If the experiment could not be done.
pub(crate) async fn command(args: LabArgs) -> Result<Exit, Failure> {
    match args.experiment {
        Experiment::Merge(args) => merge::command(args).await,
    }
}
