//! Panics, wherever they come from: everybody is told, nobody hangs, and the loader lives on.

use super::script::{Caller, Script, value};
use oneflight::batch::Loader;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

#[test]
fn a01_a_batch_that_panics_tells_everybody_and_the_loader_lives_on() {
    let s = Script::new(10, 1);
    let (mut a, mut b) = (s.load_many([1, 2]), s.load(2));
    a.waits();
    b.waits();
    s.say(0, || panic!("no {}", "luck"));
    let error = b.ends().unwrap_err();
    assert!(error.is_panic());
    assert_eq!(
        error.panic_message(),
        Some("no luck"),
        "A2: with its message"
    );
    assert!(a.is_woken());
    assert!(
        a.ends()
            .iter()
            .all(|answer| answer.as_ref().unwrap_err().is_panic())
    );
    let mut c = s.load(1);
    c.waits();
    s.finish(1);
    assert_eq!(value(c.ends()), Some(10));
}

#[test]
fn a36_a_function_that_panics_fails_its_keys_and_those_who_wait_behind_them_go_on() {
    let loader: Loader<u32, u32, Infallible> =
        Loader::builder().max_batch(2).build(|keys: Vec<u32>| {
            assert!(!keys.contains(&1), "one is too many");
            ready(keys.into_iter().map(|key| (key, key)).collect::<Vec<_>>())
        });
    let answers = Caller::new(loader.load_many(0..5)).ends();
    let errors: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().err().and_then(|e| e.panic_message()))
        .collect();
    assert_eq!(
        errors,
        [
            Some("one is too many"),
            Some("one is too many"),
            None,
            None,
            None
        ]
    );
    assert_eq!(loader.stats().running, 0);
}

#[test]
fn a_key_whose_comparison_panics_fails_its_batch_and_leaves_nothing_behind() {
    #[derive(Debug, Clone)]
    struct Odd(u32);
    impl Hash for Odd {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    impl PartialEq for Odd {
        fn eq(&self, other: &Self) -> bool {
            assert!(self.0 < 100 && other.0 < 100, "too large to compare");
            self.0 == other.0
        }
    }
    impl Eq for Odd {}
    let loader: Loader<Odd, u32, Infallible> = Loader::builder().build(|keys: Vec<Odd>| {
        let large = keys.into_iter().map(|key| (Odd(key.0 + 100), 1));
        ready(large.collect::<Vec<_>>())
    });
    let error = Caller::new(loader.load(Odd(1))).ends().unwrap_err();
    assert!(
        error
            .panic_message()
            .is_some_and(|message| message.contains("too large"))
    );
    let stats = loader.stats();
    assert_eq!((stats.running, stats.queued, stats.waiting), (0, 0, 0));
}

#[test]
fn a_panic_tells_where_it_was_raised() {
    crate::script::hush();
    oneflight::record_panic_locations();
    let loader: Loader<u32, u32, Infallible> =
        Loader::builder().build(|_| async { panic!("here") as Vec<(u32, u32)> });
    let error = Caller::new(loader.load(1)).ends().unwrap_err();
    assert!(
        error
            .panic_location()
            .is_some_and(|at| at.contains("panics.rs:"))
    );
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    let s = Script::new(10, 1);
    let mut bad = pin!(s.loader.load(1));
    let waker = Waker::from(Arc::new(Bad));
    assert!(
        bad.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut good = s.load(1);
    good.waits();
    s.finish(0);
    assert!(good.is_woken());
    assert_eq!(value(good.ends()), Some(10));
}

#[test]
fn a_work_that_panics_when_it_is_dropped_frees_its_slot() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("a bad drop");
        }
    }
    let loader: Loader<u32, u32, Infallible> =
        Loader::builder().build(|keys: Vec<u32>| async move {
            if keys[0] == 1 {
                let _bad = Bad;
                std::future::pending::<()>().await;
            }
            vec![(keys[0], keys[0])]
        });
    let mut a = Caller::new(loader.load(1));
    a.waits();
    drop(a);
    assert_eq!(Caller::new(loader.load(2)).ends().unwrap(), Some(2));
}

/// A key that panics when it is dropped; a copy of it does not.
#[derive(Debug)]
struct Bomb {
    key: u32,
    is_live: bool,
}

impl Bomb {
    fn new(key: u32) -> Self {
        Self { key, is_live: true }
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        let (key, is_live) = (self.key, false);
        Self { key, is_live }
    }
}

impl PartialEq for Bomb {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Bomb {}

impl Hash for Bomb {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.is_live || std::thread::panicking(), "a drop panics");
    }
}

#[test]
fn a_key_that_panics_when_it_is_dropped_takes_no_answer_from_anybody() {
    let loader: Loader<Bomb, u32, Infallible> = Loader::builder().build(|keys: Vec<Bomb>| {
        let answer = |key: Bomb| (key.clone(), key.key);
        ready(keys.into_iter().map(answer).collect::<Vec<_>>())
    });
    let [a, b] = [1, 2].map(|key| Caller::new(loader.load(Bomb::new(key))));
    let (a, b) = (a.ends(), b.ends());
    assert_eq!((a.unwrap(), b.unwrap()), (Some(1), Some(2)));
}
