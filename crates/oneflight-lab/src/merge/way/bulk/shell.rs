//! A database's shell, as a child: connected before the clock starts, then given its script.

use crate::error::Error;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A shell that waits for its script. It is ended when it is dropped.
#[derive(Debug)]
pub(super) struct Shell {
    child: Child,
    script: ChildStdin,
    printed: BufReader<ChildStdout>,
    said: ChildStderr,
    name: String,
}

impl Shell {
    /// Starts it, and waits until it has done `hello`, a statement that prints a line.
    pub(super) async fn start(mut command: Command, hello: &str) -> Result<Self, Error> {
        let name = command
            .as_std()
            .get_program()
            .to_string_lossy()
            .into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Error::missing(&name, error))?;
        let piped = || Error::internal(format!("`{name}` has no pipes"));
        let mut shell = Self {
            script: child.stdin.take().ok_or_else(piped)?,
            printed: BufReader::new(child.stdout.take().ok_or_else(piped)?),
            said: child.stderr.take().ok_or_else(piped)?,
            child,
            name,
        };
        shell.write(hello).await?;
        let mut line = String::new();
        let read = shell.printed.read_line(&mut line).await;
        match read {
            Ok(1..) => Ok(shell),
            // It ended instead of answering, and has said why.
            _ => Err(shell.fault().await),
        }
    }

    /// Runs the script to its end, and returns what it printed.
    pub(super) async fn run(mut self, script: &str) -> Result<String, Error> {
        self.write(script).await?;
        let Self {
            mut child,
            script,
            mut printed,
            mut said,
            name,
        } = self;
        // The end of the script.
        drop(script);
        let (mut out, mut err) = (String::new(), String::new());
        let (read, heard) = tokio::join!(
            printed.read_to_string(&mut out),
            said.read_to_string(&mut err)
        );
        let ended = child.wait().await;
        let ended = read
            .and(heard)
            .and(ended)
            .map_err(|error| Error::database(format!("`{name}`"), error))?;
        if ended.success() && err.trim().is_empty() {
            Ok(out)
        } else {
            Err(Error::refused(format!("`{name}` failed: {}", err.trim())))
        }
    }

    async fn write(&mut self, text: &str) -> Result<(), Error> {
        // A shell that has ended says why on its standard error.
        let written = async {
            self.script.write_all(text.as_bytes()).await?;
            self.script.flush().await
        };
        match written.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.fault().await),
        }
    }

    async fn fault(&mut self) -> Error {
        let mut said = String::new();
        let _ = self.said.read_to_string(&mut said).await;
        let _ = self.child.wait().await;
        Error::refused(format!("`{}` failed: {}", self.name, said.trim()))
    }
}
