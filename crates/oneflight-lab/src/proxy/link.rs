//! One connection: both directions, each with a queue of what is on its way (X1).

use super::server::State;
use super::valve::Passage;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes that are read at once, at most.
const READ: usize = 64 * 1_024;
/// Reads that are on their way in one direction, at most: far more than a link carries in the delays this is made for.
const UNDER_WAY: usize = 4_096;

const CLIENT: u8 = 0;
const SERVER: u8 = 1;

/// Carries bytes both ways until both have ended.
pub(super) async fn relay(
    client: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    server: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    state: &State,
) {
    let turn = AtomicU8::new(SERVER);
    // An error of one direction is an end of it; the other goes on, as it does without a proxy.
    let _ = tokio::join!(
        pump(client.0, server.1, CLIENT, &turn, state),
        pump(server.0, client.1, SERVER, &turn, state),
    );
}

/// Carries bytes one way until they end.
async fn pump(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    side: u8,
    turn: &AtomicU8,
    state: &State,
) -> io::Result<()> {
    let (queue, queued) = mpsc::channel(UNDER_WAY);
    let (read, written) = tokio::join!(
        read(from, queue, side, turn, state),
        write(to, queued, state)
    );
    read.and(written)
}

async fn read(
    mut from: impl AsyncRead + Unpin,
    queue: mpsc::Sender<(Instant, Vec<u8>)>,
    side: u8,
    turn: &AtomicU8,
    state: &State,
) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    loop {
        let n = from.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        // ORDERING: Relaxed; both directions of a link are polled by one task.
        if turn.swap(side, Ordering::Relaxed) == CLIENT && side == SERVER {
            state.answered();
        }
        let due = Instant::now() + state.half();
        if queue.send((due, buffer[..n].to_vec())).await.is_err() {
            return Ok(());
        }
    }
}

async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<(Instant, Vec<u8>)>,
    state: &State,
) -> io::Result<()> {
    while let Some((due, bytes)) = queue.recv().await {
        // A timer counts whole milliseconds, upwards: what is due already must not wait for one.
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
        }
        match state.valve().pass(bytes.len()) {
            Passage::All => to.write_all(&bytes).await?,
            Passage::Cut(passing) => {
                to.write_all(&bytes[..passing.min(bytes.len())]).await?;
                state.cut();
            }
        }
    }
    // One side may close its half and still read: pass that on, no more.
    to.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{DuplexStream, duplex, split};

    const HALF: Duration = Duration::from_millis(20);

    /// A client and a server with a link of 20 ms each way between them. The clock stands unless everybody waits.
    fn linked() -> (DuplexStream, DuplexStream, std::sync::Arc<State>) {
        let (client, near) = duplex(1 << 20);
        let (far, server) = duplex(1 << 20);
        let state = std::sync::Arc::new(State::late_by(HALF));
        let link = state.clone();
        tokio::spawn(async move { relay(split(near), split(far), &link).await });
        (client, server, state)
    }

    async fn take(from: &mut DuplexStream, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        from.read_exact(&mut taken).await.unwrap();
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn each_direction_has_half_of_the_delay() {
        let (mut client, mut server, state) = linked();
        let began = Instant::now();
        client.write_all(b"ask").await.unwrap();
        assert_eq!(take(&mut server, 3).await, b"ask");
        assert_eq!(began.elapsed(), HALF);
        server.write_all(b"answer").await.unwrap();
        assert_eq!(take(&mut client, 6).await, b"answer");
        assert_eq!(began.elapsed(), 2 * HALF);
        assert_eq!(state.round_trips(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_messages_are_as_late_as_one() {
        let (mut client, mut server, _) = linked();
        let began = Instant::now();
        for n in 0..1_000_u32 {
            client.write_all(&n.to_le_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
        let taken = take(&mut server, 4_000).await;
        let sent: Vec<u8> = (0..1_000_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(taken, sent);
        assert_eq!(began.elapsed(), HALF);
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_that_is_closed_leaves_the_other_open() {
        let (mut client, mut server, _) = linked();
        client.write_all(b"all").await.unwrap();
        client.shutdown().await.unwrap();
        let mut all = Vec::new();
        server.read_to_end(&mut all).await.unwrap();
        server.write_all(b"thanks").await.unwrap();
        assert_eq!(
            (all, take(&mut client, 6).await),
            (b"all".to_vec(), b"thanks".to_vec())
        );
    }
}
