//! The program `oneflight`: merges feeds into a database, audits it, shows what that means in a demo, and measures it in a lab.
//!
//!   cli ──▶ command/{merge,audit,demo,lab}: plan ─▶ run ─▶ report ──▶ print          exit: codes and messages
//!
//! Data goes to standard output, all else to standard error.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod exit;
mod print;
mod rejects;
mod target;

use clap::Parser as _;
use cli::{Cli, Command};
use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(cli).unwrap_or_else(|failure| {
            print::err(&failure.to_string());
            failure.exit
        }),
        Err(error) => usage(&error),
    };
    exit.into()
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure {
            exit: Exit::Internal,
            ..Failure::say(format!("cannot start: {error}"))
        })?;
    let exit = runtime.block_on(async {
        match cli.command {
            Command::Merge(args) => command::merge::command(args).await,
            Command::Audit(args) => command::audit::command(args).await,
            Command::Demo(args) => command::demo::command(args).await,
            Command::Lab(args) => command::lab::command(args).await,
        }
    });
    // A thread that still waits for standard input must not keep the program from ending.
    runtime.shutdown_background();
    exit
}

/// Prints what clap has to say: help and version to standard output, errors to standard error, without passwords: an argument
/// that is in the wrong place may be a URL.
fn usage(error: &clap::Error) -> Exit {
    if error.use_stderr() {
        print::err(error.render().to_string().trim_end());
        Exit::Usage
    } else {
        // Nobody is left to tell if that fails.
        let _ = error.print();
        Exit::Done
    }
}
