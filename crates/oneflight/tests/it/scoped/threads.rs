//! Real threads that lead, wait, leave, land and forget at once. Bounded in count; a hang fails the test.
//!
//! `ONEFLIGHT_ROUNDS` is how many rounds each thread makes (2,000).

use crate::model::Random;
use crate::threads::{Running, away, block_on, glance};
use oneflight::{Error, Scoped};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::Waker;
use std::thread;

const THREADS: u64 = 6;
const KEYS: usize = 3;

/// What the threads share. It lies in the frame of the test, and the works borrow it.
struct Scene {
    group: Scoped<usize, u64, String>,
    running: Vec<Arc<AtomicUsize>>,
    bell: Sender<Waker>,
    values: AtomicU64,
    /// True if flights of one key may overlap.
    forgets: bool,
}

impl Scene {
    async fn work(&self, key: usize, turns: usize) -> Result<u64, String> {
        let count = Running::new(&self.running[key]);
        let alone = || self.forgets || self.running[key].load(Ordering::SeqCst) == 1;
        for _ in 0..turns {
            assert!(alone(), "D1: two runs of one key");
            away(self.bell.clone()).await;
        }
        assert!(alone(), "D1: two runs of one key");
        drop(count);
        match turns {
            4 => Err("fails".to_owned()),
            _ => Ok(self.values.fetch_add(1, Ordering::SeqCst)),
        }
    }

    fn round(&self, random: &mut Random) {
        let (key, turns) = (random.below(KEYS), random.below(5));
        let before = self.values.load(Ordering::SeqCst);
        let call = self.group.run(&key, || self.work(key, turns));
        match random.below(10) {
            0..4 => check(block_on(call)),
            4..6 => drop(call),
            6..9 => glance(call),
            _ if self.forgets => {
                self.group.forget(&key);
                let fresh = block_on(self.group.run(&key, || self.work(key, turns)));
                assert!(fresh.as_ref().map_or(true, |&value| value >= before));
                check(fresh);
                check(block_on(call));
            }
            _ => {
                let other = self.group.run(&key, || self.work(key, turns));
                drop(call);
                check(block_on(other));
            }
        }
    }
}

fn check(answer: Result<u64, Error<String>>) {
    if let Err(error) = answer {
        assert!(error.is_work(), "{error:?}");
    }
}

fn stress(forgets: bool) {
    let rounds = std::env::var("ONEFLIGHT_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let (bell, wakers) = channel::<Waker>();
    let ringer = thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
    let scene = Scene {
        group: Scoped::new(),
        running: (0..KEYS).map(|_| Arc::default()).collect(),
        bell,
        values: AtomicU64::new(0),
        forgets,
    };
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let scene = &scene;
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                (0..rounds).for_each(|_| scene.round(&mut random));
            });
        }
    });
    let lives = |count: &Arc<AtomicUsize>| count.load(Ordering::SeqCst) != 0;
    assert!(!scene.running.iter().any(lives), "a work lives on");
    let (stats, left) = (scene.group.stats(), scene.group.in_flight());
    drop(scene);
    ringer.join().expect("the ringer");
    let ends = stats.landed + stats.failed + stats.panicked + stats.abandoned;
    assert_eq!((stats.started, left), (ends, 0), "{stats:?}");
    assert_eq!(stats.panicked, 0, "{stats:?}");
    assert!(stats.joined > 0 && stats.landed > 0, "{stats:?}");
}

#[test]
fn threads_that_lead_and_leave_pass_the_key_on_and_never_run_it_twice_at_once() {
    stress(false);
}

#[test]
fn threads_that_forget_get_what_is_new_enough() {
    stress(true);
}
