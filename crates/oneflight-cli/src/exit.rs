//! How the program ends: a code for the shell, and for a failure a message and a hint.
//!
//! X1. Every way out of the program is one of these codes, and `oneflight --help` lists them.
//! X2. A message never holds a password: what is printed goes through [`crate::target::scrub`] first.

use std::fmt;
use std::process::ExitCode;

/// The codes, as the help shows them.
pub(crate) const CODES: &str = "\
Exit codes:
    0  done; the audit found nothing
    1  a fault of the program itself
    2  usage, mapping, or a feed that cannot be read
    3  done, but rows were rejected; the audit found something
    4  stopped: more rows were rejected than --max-rejects allows
    6  the database cannot be reached, or refused
  130  interrupted; what had been read until then is merged";

/// A way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All done.
    Done = 0,
    /// A fault of the program itself.
    Internal = 1,
    /// Usage, mapping, or a feed that cannot be read.
    Usage = 2,
    /// Done, and there is something to look at: rejected rows, or findings of the audit.
    Found = 3,
    /// Stopped at the reject limit.
    RejectLimit = 4,
    /// The database.
    Database = 6,
    /// Interrupted.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not be done.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code to end with.
    pub(crate) exit: Exit,
    /// What went wrong.
    pub(crate) error: anyhow::Error,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// Something that the user can put right on the command line or in a file.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Usage,
            error: error.into(),
            hint: None,
        }
    }

    /// A usage error of which there is only a message.
    pub(crate) fn say(message: impl fmt::Display) -> Self {
        Self::usage(anyhow::anyhow!("{message}"))
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<oneflight_merge::Error> for Failure {
    fn from(error: oneflight_merge::Error) -> Self {
        let exit = match () {
            () if error.is_usage() => Exit::Usage,
            () if error.is_database() => Exit::Database,
            () => Exit::Internal,
        };
        Self {
            exit,
            error: error.into(),
            hint: None,
        }
    }
}

impl From<oneflight_lab::Error> for Failure {
    fn from(error: oneflight_lab::Error) -> Self {
        let exit = match () {
            () if error.is_usage() || error.is_taken() => Exit::Usage,
            () if error.is_database() => Exit::Database,
            () => Exit::Internal,
        };
        let hint = error
            .is_taken()
            .then(|| "if nobody needs it, drop it; or name another with --scratch NAME".to_owned());
        Self {
            exit,
            error: error.into(),
            hint,
        }
    }
}

/// The message, its causes behind it, and the hint on a line of its own.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.error.to_string();
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            // Some errors repeat their cause in their own message; nobody wants to read it twice.
            if !said.contains(&cause) {
                said.push_str(": ");
                said.push_str(&cause);
            }
        }
        write!(f, "error: {said}")?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code() {
        let all = [
            Exit::Done,
            Exit::Internal,
            Exit::Usage,
            Exit::Found,
            Exit::RejectLimit,
            Exit::Database,
            Exit::Interrupted,
        ];
        for exit in all {
            let code = format!("{:>5}  ", exit as u8);
            assert!(
                CODES.lines().any(|line| line.starts_with(&code)),
                "{exit:?} is not in the help"
            );
        }
    }

    #[test]
    fn a_failure_prints_its_causes_once_and_its_hint_last() {
        let error = anyhow::anyhow!("no such file")
            .context("cannot read `a.toml`: no such file")
            .context("merge");
        let failure = Failure::usage(error).hint("look elsewhere");
        assert_eq!(
            failure.to_string(),
            "error: merge: cannot read `a.toml`: no such file\nhint: look elsewhere"
        );
    }
}
