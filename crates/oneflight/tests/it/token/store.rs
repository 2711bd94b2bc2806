//! What a store and a lease promise, held against each of them; and what files do besides.

use crate::script::{HandClock, muted};
use futures_util::FutureExt;
use oneflight::token::store::Blocking;
use oneflight::token::{FileStore, MemoryStore, Pair, Store, Stored, Version};
use oneflight::{Clock, Lease};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// A folder that is gone with its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("oneflight-token-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs what blocks on a thread of its own.
#[derive(Debug)]
struct Threads;

impl Blocking for Threads {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(work);
    }
}

/// Runs nothing.
#[derive(Debug)]
struct Shut;

impl Blocking for Shut {
    fn run(&self, _: Box<dyn FnOnce() + Send>) {}
}

fn pair(name: &str) -> Pair {
    Pair::new(format!("access of {name}"))
        .with_refresh(format!("refresh of {name}"))
        .with_issued_at(UNIX_EPOCH + Duration::from_millis(1_700_000_000_123))
        .with_expires_at(UNIX_EPOCH + Duration::from_millis(1_700_003_600_123))
}

fn stored(version: u64, name: &str) -> Stored {
    let pair = (!name.is_empty()).then(|| pair(name));
    Stored::new(Version::new(version), pair)
}

fn load(store: &dyn Store) -> (u64, Option<String>) {
    let stored = wait(store.load()).unwrap();
    let access = stored.pair.map(|pair| {
        let name = pair.access().expose().strip_prefix("access of ").unwrap();
        assert_eq!(
            pair.refresh().unwrap().expose(),
            format!("refresh of {name}")
        );
        let again = self::pair(name);
        assert_eq!(pair.issued_at(), again.issued_at());
        assert_eq!(pair.expires_at(), again.expires_at());
        name.to_owned()
    });
    (stored.version.get(), access)
}

fn swap(store: &dyn Store, expected: u64, stored: &Stored) -> bool {
    wait(store.compare_and_swap(Version::new(expected), stored)).unwrap()
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// The promise of a store. `again` gives what a second process has of it.
fn keeps_its_promise<S: Store>(store: S, again: impl Fn(&S) -> Arc<dyn Store>) {
    assert_eq!(load(&store), (0, None));
    assert!(!swap(&store, 1, &stored(2, "ada")), "there is no version 1");
    assert!(swap(&store, 0, &stored(1, "ada")));
    assert_eq!(load(&store), (1, Some("ada".into())));
    assert!(!swap(&store, 0, &stored(1, "bob")), "it is version 1");
    assert_eq!(load(&*again(&store)), (1, Some("ada".into())));
    assert!(swap(&*again(&store), 1, &stored(2, "bob")));
    assert!(!swap(&store, 1, &stored(2, "eve")), "it is version 2");
    assert_eq!(load(&store), (2, Some("bob".into())));
    let sent = UNIX_EPOCH + Duration::from_secs(1_700_000_100);
    assert!(swap(&store, 2, &stored(3, "bob").with_sent(sent)));
    assert_eq!(load(&*again(&store)), (3, Some("bob".into())));
    assert_eq!(wait(again(&store).load()).unwrap().sent, Some(sent));
    assert!(swap(&store, 3, &stored(4, "bob")));
    assert_eq!(wait(again(&store).load()).unwrap().sent, None);
    assert!(swap(&store, 4, &stored(5, "")));
    assert_eq!(load(&*again(&store)), (5, None));

    // Of many who swap at once, one does.
    for version in 5..20 {
        let won = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let (store, won) = (again(&store), &won);
                scope.spawn(move || {
                    if swap(&*store, version, &stored(version + 1, name)) {
                        won.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(won.load(Ordering::SeqCst), 1);
        assert_eq!(load(&store).0, version + 1);
    }
}

#[test]
fn memory_keeps_its_promise() {
    let store = Arc::new(MemoryStore::new());
    keeps_its_promise(store, |store| store.clone());
}

#[test]
fn a_file_keeps_its_promise() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let other = path.clone();
    keeps_its_promise(FileStore::new(path), move |_| {
        Arc::new(FileStore::new(&other))
    });
}

#[test]
fn a_file_that_is_read_and_written_elsewhere_keeps_its_promise() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let other = path.clone();
    keeps_its_promise(FileStore::new(path).blocking(Threads), move |_| {
        Arc::new(FileStore::new(&other).blocking(Threads))
    });
}

#[test]
fn work_that_is_dropped_elsewhere_is_an_error() {
    let folder = Folder::new();
    let store = FileStore::new(folder.join("tokens")).blocking(Shut);
    let error = store.load().now_or_never().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the work was dropped before it ended");
}

#[cfg(unix)]
#[test]
fn all_files_are_their_owners_alone_from_the_start() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let path = folder.join("tokens");
    // As a careless hand left it.
    std::fs::write(&path, "oneflight token 1\nversion 1\naccess a\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let store = FileStore::new(&path);
    assert!(swap(&store, 1, &stored(2, "ada")));
    let lease = wait(store.lease(HandClock::new()).acquire()).unwrap();
    drop(lease);
    for name in ["tokens", "tokens.lock", "tokens.lease"] {
        let mode = std::fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!folder.join("tokens.new").exists());
}

#[test]
fn a_file_that_cannot_be_understood_is_an_error_and_stays() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    let store = FileStore::new(&path);
    for text in [
        "",
        "oneflight token 1\nversion 1",
        "{\"token\": \"hidden\"}",
        "\u{0}",
    ] {
        std::fs::write(&path, text).unwrap();
        let error = wait(store.load()).unwrap_err();
        assert!(error.to_string().starts_with("could not read "), "{error}");
        assert!(!format!("{error:?}").contains("hidden"));
        assert!(wait(store.compare_and_swap(Version::new(0), &stored(1, "ada"))).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    std::fs::write(&path, vec![b'x'; 2 << 20]).unwrap();
    let error = wait(store.load()).unwrap_err();
    assert!(
        error.source().unwrap().to_string().contains("larger"),
        "{error:?}"
    );
}

#[test]
fn what_a_process_left_behind_when_it_died_is_no_obstacle() {
    let folder = Folder::new();
    let path = folder.join("tokens");
    std::fs::write(folder.join("tokens.new"), "half a to").unwrap();
    std::fs::write(folder.join("tokens.lock"), "").unwrap();
    std::fs::write(folder.join("tokens.lease"), "not a number").unwrap();
    let store = FileStore::new(&path);
    assert!(swap(&store, 0, &stored(1, "ada")));
    assert_eq!(load(&store), (1, Some("ada".into())));
    let lease = wait(store.lease(HandClock::new()).acquire()).unwrap();
    assert_eq!(lease.fence().get(), 1);
}

#[test]
fn a_lease_can_be_had_whatever_is_in_its_file() {
    let last = u64::MAX.to_string().into_bytes();
    let cut = [vec![b' '; 31], "ü".into()].concat();
    for bytes in [last, cut, vec![0xff; 21], vec![0; 21], vec![b'9'; 4096]] {
        let folder = Folder::new();
        std::fs::write(folder.join("tokens.lease"), &bytes).unwrap();
        let lease = FileStore::new(folder.join("tokens")).lease(HandClock::new());
        for fence in 1..=2 {
            let held = wait(lease.acquire()).unwrap();
            assert_eq!(held.fence().get(), fence, "{:?}", &bytes[..21]);
        }
    }
}

#[test]
fn a_pair_that_could_not_be_read_again_is_not_written() {
    let folder = Folder::new();
    let store = FileStore::new(folder.join("tokens"));
    assert!(swap(&store, 0, &stored(1, "ada")));
    // Each of these takes two bytes.
    let long = Stored::new(Version::new(2), Some(Pair::new("\n".repeat(600_000))));
    let error = wait(store.compare_and_swap(Version::new(1), &long)).unwrap_err();
    assert!(
        error.source().unwrap().to_string().contains("larger"),
        "{error:?}"
    );
    assert_eq!(load(&store), (1, Some("ada".into())));
}

#[cfg(unix)]
#[test]
fn who_comes_by_a_symbolic_link_has_the_same_file_and_lease() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    std::fs::create_dir(folder.join("real")).unwrap();
    symlink("real/tokens", folder.join("near")).unwrap();
    symlink(folder.join("near"), folder.join("far")).unwrap();
    let stores = ["far", "near", "real/tokens"].map(|name| FileStore::new(folder.join(name)));
    let clock = HandClock::new();
    for (one, other) in [(0, 2), (2, 1), (1, 0)] {
        let version = one as u64 + 10;
        let before = wait(stores[one].load()).unwrap().version.get();
        assert!(swap(&stores[one], before, &stored(version, "ada")));
        assert!(!swap(&stores[other], before, &stored(version, "bob")));
        assert_eq!(load(&stores[other]), (version, Some("ada".into())));
        let held = wait(stores[one].lease(clock.clone()).acquire()).unwrap();
        let lease = stores[other].lease(clock.clone());
        assert!(lease.acquire().now_or_never().is_none());
        drop(held);
    }
    for name in ["near", "far"] {
        assert!(folder.join(name).is_symlink(), "{name}");
    }
    // One that leads to itself is an error, and no hang.
    symlink("ring", folder.join("ring")).unwrap();
    let ring = FileStore::new(folder.join("ring"));
    assert!(wait(ring.compare_and_swap(Version::new(0), &stored(1, "ada"))).is_err());
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let folder = Folder::new();
    let store = FileStore::new(folder.join("none/tokens"));
    // Nobody has logged in yet.
    assert_eq!(load(&store), (0, None));
    let error = wait(store.compare_and_swap(Version::new(0), &stored(1, "ada"))).unwrap_err();
    assert!(error.to_string().starts_with("could not lock "), "{error}");
    assert!(wait(store.lease(HandClock::new()).acquire()).is_err());
}

/// The promise of a lease: one at a time, in the end everybody, and fences that grow.
fn lease_keeps_its_promise(clock: &HandClock, first: &dyn Lease, second: &dyn Lease) {
    let held = first.acquire().now_or_never().unwrap().unwrap();
    let before = held.fence();
    let mut waits = second.acquire();
    for _ in 0..3 {
        assert!((&mut waits).now_or_never().is_none());
        clock.advance(Duration::from_secs(1));
    }
    held.release().now_or_never().unwrap().unwrap();
    clock.advance(Duration::from_secs(1));
    let held = waits.now_or_never().unwrap().unwrap();
    assert!(held.fence() > before);
    let before = held.fence();
    // One that is dropped is as good as released; so is one that nobody took.
    drop(held);
    let mut left = first.acquire();
    let taken = (&mut left).now_or_never();
    drop((left, taken));
    let held = second.acquire().now_or_never().unwrap().unwrap();
    assert!(held.fence() > before);
    // So is one whose holder panics.
    let fence = held.fence();
    let message = muted(move || {
        let _held = held;
        panic!("while it led");
    });
    assert_eq!(message, Err("while it led".to_owned()));
    assert!(first.acquire().now_or_never().unwrap().unwrap().fence() > fence);
}

#[test]
fn the_lease_of_a_file_keeps_its_promise() {
    let folder = Folder::new();
    let clock = HandClock::new();
    let (first, second) = (
        FileStore::new(folder.join("tokens")).lease(clock.clone()),
        FileStore::new(folder.join("tokens")).lease(clock.clone()),
    );
    lease_keeps_its_promise(&clock, &first, &second);
    let text = std::fs::read_to_string(folder.join("tokens.lease")).unwrap();
    assert_eq!(text.len(), 21, "{text:?}");
}

#[test]
fn who_waits_for_a_file_looks_again_ever_more_rarely() {
    let folder = Folder::new();
    let clock = HandClock::new();
    let store = FileStore::new(Path::new(&folder.join("tokens")));
    let held = store.lease(clock.clone()).acquire().now_or_never().unwrap();
    let lease = store.lease(clock.clone());
    let mut waits = lease.acquire();
    assert!((&mut waits).now_or_never().is_none());
    drop(held);
    assert!((&mut waits).now_or_never().is_none(), "it is not time yet");
    let began = clock.now();
    while (&mut waits).now_or_never().is_none() {
        clock.advance(Duration::from_millis(1));
    }
    assert_eq!(clock.now() - began, Duration::from_millis(4));
}
