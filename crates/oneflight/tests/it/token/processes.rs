//! Two processes, one file: this test starts itself as two others, and is the server of both.
//!
//! ```text
//!   this process ── stdin: "go" ──▶ a process: 50 calls at once ── TCP: "check", "refresh" ──▶ this process
//!                ◀── stdout: "done" ──
//! ```

use super::authority::{Authority, No};
use super::store::Folder;
use crate::script::HandClock;
use futures_util::FutureExt;
use futures_util::future::join_all;
use oneflight::Tokio;
use oneflight::token::{
    FileStore, Grant, RefreshError, Secret, Store, Stored, TokenSource, Version,
};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

const ROUNDS: u32 = 100;
const PROCESSES: usize = 2;
const CALLS: usize = 50;

/// What tells a process that it is one of those that were started, and where everything is.
const PLACE: &str = "ONEFLIGHT_TOKEN_PROCESS";

#[test]
fn e2_two_processes_that_share_a_file_refresh_once_a_hundred_times() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let clock = HandClock::new();
    let server = Authority::new(&clock);
    let pair = server.login().into_pair(SystemTime::now());
    let first = Stored::new(Version::new(1), Some(pair));
    let swap = FileStore::new(&path)
        .compare_and_swap(Version::default(), &first)
        .now_or_never();
    assert!(swap.unwrap().unwrap());

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = server.clone();
    // It ends with this process.
    std::thread::spawn(move || serve(&listener, &served));
    let mut others: Vec<_> = (0..PROCESSES)
        .map(|_| Other::start(&format!("{address} {}", path.display())))
        .collect();
    for round in 1..=ROUNDS {
        clock.advance(Duration::from_secs(3600));
        others.iter_mut().for_each(Other::go);
        others.iter_mut().for_each(Other::done);
        assert_eq!(server.redeemed(), round);
    }
    others.into_iter().for_each(Other::end);
    assert_eq!(server.requests().len(), ROUNDS as usize);
    assert_eq!(server.revoked(), 0);
}

/// One of the processes, as the one that started it has it.
struct Other {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Other {
    fn start(place: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "token::processes::one_of_the_processes",
                "--nocapture",
            ])
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

/// Answers all who connect, a line for a line.
fn serve(listener: &TcpListener, server: &Authority) {
    for stream in listener.incoming() {
        let (stream, server) = (stream.unwrap(), server.clone());
        std::thread::spawn(move || {
            let mut writer = stream.try_clone().unwrap();
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { return };
                let Some((verb, token)) = line.split_once(' ') else {
                    return;
                };
                let answer = match verb {
                    "check" => server.takes(token).to_string(),
                    _ => refreshed(server.clone(), token),
                };
                if writeln!(writer, "{answer}").is_err() {
                    return;
                }
            }
        });
    }
}

fn refreshed(server: Authority, token: &str) -> String {
    match server.refresh(Secret::from(token)).now_or_never().unwrap() {
        Ok(grant) => {
            let pair = grant.into_pair(SystemTime::now());
            format!(
                "{} {}",
                pair.access().expose(),
                pair.refresh().unwrap().expose()
            )
        }
        Err(error) => format!("! {}", error.error()),
    }
}

/// Asks the server, on a connection of its own. It blocks a thread of this process, which is there for that.
fn ask(server: SocketAddr, line: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    writeln!(stream, "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer.trim().to_owned()
}

async fn ask_elsewhere(server: SocketAddr, line: String) -> String {
    tokio::task::spawn_blocking(move || ask(server, &line))
        .await
        .unwrap()
}

/// What one of the processes does. Run by itself it has nothing to do.
#[test]
fn one_of_the_processes() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let (server, path) = place.split_once(' ').unwrap();
    let server: SocketAddr = server.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = FileStore::new(path).blocking(Tokio);
        let source = TokenSource::builder(Tokio, Tokio)
            .lease(store.lease(Tokio))
            .store(store)
            .build(move |token| async move {
                let answer = ask_elsewhere(server, format!("refresh {}", token.expose())).await;
                match answer.split_once(' ') {
                    Some(("!", why)) => {
                        eprintln!("{why}");
                        Err(RefreshError::invalid_grant(No("see above")))
                    }
                    Some((access, refresh)) => Ok(Grant::new(access)
                        .refresh(refresh)
                        .expires_in(Duration::from_secs(3600))),
                    None => Err(RefreshError::lost(No("no answer"))),
                }
            });
        for line in std::io::stdin().lines() {
            assert_eq!(line.unwrap(), "go");
            join_all((0..CALLS).map(|_| call(server, &source))).await;
            println!("done");
        }
    });
}

async fn call(server: SocketAddr, source: &TokenSource<No>) {
    let token = source.token().await.unwrap();
    if ask_elsewhere(server, format!("check {}", token.expose())).await == "true" {
        return;
    }
    let token = source.rejected(&token).await.unwrap();
    let good = ask_elsewhere(server, format!("check {}", token.expose())).await;
    assert_eq!(good, "true", "a second 401");
}
