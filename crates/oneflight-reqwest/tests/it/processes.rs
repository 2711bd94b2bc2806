//! Two processes, one login in a file: this test starts itself as two others, and is the server of both.
//!
//! ```text
//!   this process ── stdin: "go" ──▶ a process: requests, all at once ── HTTP ──▶ this process
//!                ◀── stdout: "done" ──
//! ```

use crate::authority::Authority;
use crate::clients::client;
use crate::storm::{rounds, shared};
use futures_util::future::join_all;
use http::StatusCode;
use reqwest::Url;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const PROCESSES: usize = 2;
const REQUESTS: usize = 100;

/// What tells a process that it is one of those that were started, and where everything is.
const PLACE: &str = "ONEFLIGHT_REQWEST_PROCESS";

// Two threads, since this one waits for the processes, which wait for the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e2_two_processes_that_share_a_file_are_one_refresh_each_time() {
    let server = Authority::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let login = shared(server.at("/token"), &path);
    login.replace(server.login()).await.unwrap();

    let place = format!("{} {}", server.url, path.display());
    let mut others: Vec<_> = (0..PROCESSES).map(|_| Other::start(&place)).collect();
    let rounds = rounds().min(25);
    for round in 1..=rounds {
        server.expire();
        others.iter_mut().for_each(Other::go);
        others.iter_mut().for_each(Other::done);
        assert_eq!(server.redeemed(), round);
    }
    others.into_iter().for_each(Other::end);
    assert_eq!(server.redemptions().len(), rounds as usize);
    assert_eq!(server.revoked(), 0);
}

/// One of the processes, as the one that started it has it.
struct Other {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Other {
    fn start(place: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::one_of_the_processes", "--nocapture"])
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn go(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap(), "go").unwrap();
    }

    fn done(&mut self) {
        let mut line = String::new();
        // What the test harness says comes first.
        while line.trim() != "done" {
            line.clear();
            let read = self.said.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "a process has ended before it was done");
        }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// What one of the processes does. Run by itself it has nothing to do.
#[tokio::test]
async fn one_of_the_processes() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let (server, path) = place.split_once(' ').unwrap();
    let server: Url = server.parse().unwrap();
    let source = shared(server.join("token").unwrap(), Path::new(path));
    let client = client(&server, source);
    for line in std::io::stdin().lines() {
        assert_eq!(line.unwrap(), "go");
        let calls = (0..REQUESTS).map(|number| {
            let url = server.join(&format!("a/{number}")).unwrap();
            client.get(url).send()
        });
        for response in join_all(calls).await {
            assert_eq!(response.unwrap().status(), StatusCode::OK);
        }
        println!("done");
    }
}
