//! The lease of a file: a lock that the system gives back when its holder dies.

use super::blocking::{self, Blocking};
use super::contract::StoreError;
use super::file::{FileError, beside, followed, open_shared};
use crate::clock::{Clock, sleep};
use crate::lease::{Acquiring, Fence, Leading, Lease, Releasing};
use crate::sync::Arc;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever waits looks again after this time, and after twice the time each time, up to the other.
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const LONGEST_PAUSE: Duration = Duration::from_millis(128);

/// The right to refresh what a [`FileStore`](super::FileStore) keeps, handed from process to process: from
/// [`FileStore::lease`](super::FileStore::lease).
///
/// It is an advisory lock on a file of its own, and has no term: the system takes it from a process that dies, at once. One that hangs
/// keeps it; a source ends its own flights after [a while](crate::token::Builder::flight_limit). Those who wait look again every few
/// milliseconds, up to 128: no thread waits meanwhile.
///
/// # Examples
/// ```
/// use oneflight::token::FileStore;
/// use oneflight::{Lease, Tokio};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), oneflight::LeaseError> {
/// # let path = std::env::temp_dir().join(format!("oneflight-doc-lease-{}", std::process::id()));
/// let lease = FileStore::new(&path).lease(Tokio);
/// let leads = lease.acquire().await?;
/// println!("{:?} leads", leads.fence());
/// leads.release().await?;
/// # std::fs::remove_file(path.with_extension("lease"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileLease {
    /// That of the store.
    path: Arc<PathBuf>,
    elsewhere: Option<Arc<dyn Blocking>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    /// The lock goes with it.
    _file: File,
}

impl FileLease {
    pub(super) fn of(
        path: Arc<PathBuf>,
        elsewhere: Option<Arc<dyn Blocking>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            path,
            elsewhere,
            clock,
        }
    }
}

impl Lease for FileLease {
    fn acquire(&self) -> Acquiring<'_> {
        Box::pin(async {
            let mut pause = FIRST_PAUSE;
            loop {
                let path = self.path.clone();
                let attempt = move || attempt(&path).map_err(StoreError::from);
                if let Some(held) = blocking::run(self.elsewhere.as_deref(), attempt).await? {
                    return Ok(Box::new(held) as Box<dyn Leading>);
                }
                sleep(self.clock.as_ref(), pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        })
    }
}

impl Leading for Held {
    fn fence(&self) -> Fence {
        self.fence
    }

    fn release(self: Box<Self>) -> Releasing {
        drop(self);
        Box::pin(async { Ok(()) })
    }
}

/// Takes the lock of this store, and raises the fence that its file has. None if another has it.
fn attempt(store: &Path) -> Result<Option<Held>, FileError> {
    let path = &beside(&followed(store), ".lease");
    let told = |error| FileError::new("lock", path, error);
    let mut file = open_shared(path).map_err(told)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(told(error)),
    }
    let mut bytes = Vec::new();
    (&mut file).take(32).read_to_end(&mut bytes).map_err(told)?;
    let fence = next_fence(&bytes);
    file.seek(SeekFrom::Start(0)).map_err(told)?;
    // As wide as any number, so that a shorter one leaves nothing of a longer one behind.
    writeln!(file, "{fence:020}").map_err(told)?;
    let fence = Fence::new(fence);
    Ok(Some(Held { fence, _file: file }))
}

/// The fence after the one that a file has. Whatever else it has, it is a lock all the same: then fences begin anew.
fn next_fence(bytes: &[u8]) -> u64 {
    let line = bytes.split(|&byte| byte == b'\n').next();
    let text = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
    let last = text.trim().parse::<u64>().unwrap_or_default();
    last.checked_add(1).unwrap_or(1)
}
