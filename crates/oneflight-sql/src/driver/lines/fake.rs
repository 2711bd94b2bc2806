//! A server that lets in whom the script says, and answers nothing else.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_postgres::Config;

/// What somebody who comes is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    Welcome,
    /// There are too many already.
    Full,
    /// Nothing, until the test says [`Fake::speak`]; then he is welcome.
    Nothing,
}

/// How many have come, how many of them are there, and how many were at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) came: usize,
    pub(super) open: usize,
    pub(super) at_once: usize,
}

#[derive(Debug)]
pub(super) struct Fake {
    pub(super) config: Config,
    script: Arc<Mutex<VecDeque<Told>>>,
    speaks: Arc<Notify>,
    seen: watch::Receiver<Seen>,
}

const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const FULL: &[u8] = b"E\0\0\0\x1cSFATAL\0C53300\0Mno room\0\0";

impl Fake {
    /// Tells those who come what the script says, and those who come after its end that they are welcome.
    pub(super) async fn start(script: impl IntoIterator<Item = Told>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = Config::new();
        let port = listener.local_addr().unwrap().port();
        config.host("127.0.0.1").port(port).user("me");
        let (sees, seen) = watch::channel(Seen::default());
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let speaks = Arc::new(Notify::new());
        let server = (script.clone(), speaks.clone());
        tokio::spawn(async move {
            loop {
                let (link, _) = listener.accept().await.unwrap();
                let told = server.0.lock().pop_front().unwrap_or(Told::Welcome);
                sees.send_modify(|seen| {
                    seen.came += 1;
                    seen.open += 1;
                    seen.at_once = seen.at_once.max(seen.open);
                });
                let (sees, speaks) = (sees.clone(), server.1.clone());
                tokio::spawn(async move {
                    let _ = serve(link, told, &speaks).await;
                    sees.send_modify(|seen| seen.open -= 1);
                });
            }
        });
        Self {
            config,
            script,
            speaks,
            seen,
        }
    }

    /// What those who come from now on are told.
    pub(super) fn tell(&self, script: impl IntoIterator<Item = Told>) {
        *self.script.lock() = script.into_iter().collect();
    }

    /// Lets those in who were told nothing.
    pub(super) fn speak(&self) {
        self.speaks.notify_waiters();
    }

    pub(super) fn seen(&self) -> Seen {
        *self.seen.borrow()
    }

    pub(super) async fn until(&self, is_so: impl FnMut(&Seen) -> bool) {
        self.seen.clone().wait_for(is_so).await.unwrap();
    }
}

async fn serve(mut link: TcpStream, told: Told, speaks: &Notify) -> std::io::Result<()> {
    let mut said = [0; 4096];
    let speaks = speaks.notified();
    if link.read(&mut said).await? == 0 {
        return Ok(());
    }
    match told {
        Told::Welcome => link.write_all(WELCOME).await?,
        Told::Full => return link.write_all(FULL).await,
        Told::Nothing => tokio::select! {
            () = speaks => link.write_all(WELCOME).await?,
            // He has gone.
            _ = link.read(&mut said) => return Ok(()),
        },
    }
    while link.read(&mut said).await? > 0 {}
    Ok(())
}
