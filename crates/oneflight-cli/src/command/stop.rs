//! Ctrl-C: the first asks the merge to stop, the second ends the program.

use crate::exit::Exit;
use crate::print::Voice;
use oneflight_merge::merge::Stop;

/// Listens until it is dropped.
#[derive(Debug)]
#[must_use = "nobody listens to Ctrl-C once this is dropped"]
pub(crate) struct Listener(tokio::task::JoinHandle<()>);

/// Begins to listen; `stop` is set by the first Ctrl-C (or SIGTERM).
pub(crate) fn listen(stop: Stop, voice: Voice) -> Listener {
    Listener(tokio::spawn(async move {
        asked().await;
        stop.stop();
        voice.say(
            "stopping: the rows in flight are merged, nothing more is read (Ctrl-C again ends at once)",
        );
        asked().await;
        // Nothing is lost: what was committed is committed, and what was not is rolled back by the database.
        std::process::exit(Exit::Interrupted as i32);
    }))
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for Ctrl-C or SIGTERM.
#[cfg(unix)]
pub(crate) async fn asked() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return interrupted().await;
    };
    tokio::select! {
        () = interrupted() => {}
        _ = terminate.recv() => {}
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn asked() {
    interrupted().await;
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // There are no signals here: then nobody can ask.
        std::future::pending::<()>().await;
    }
}
