//! Works that wait for other flights, in rings and otherwise, on tasks that are polled by hand, on threads, and on spawned tasks.
//!
//! A work stands at its gate until the script opens it; then it waits for all the keys that the plan says, and its value is one
//! more than theirs together.

use crate::model::Random;
use crate::threads::{block_on, glance};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use oneflight::{Error, Group, Trail};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

mod batches;
mod calls;
mod spawned;

type Key = &'static str;
type Answer = Result<u32, Error<String>>;
type Works = Group<Key, u32, String>;

/// A group whose works do as planned.
#[derive(Clone, Default)]
struct World {
    group: Works,
    plan: Arc<HashMap<Key, Vec<Key>>>,
    gates: Gates,
    /// The errors that works have got, as they are told.
    told: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new(plan: &[(Key, &[Key])]) -> Self {
        let plan = plan.iter().map(|(key, next)| (*key, next.to_vec()));
        Self {
            plan: Arc::new(plan.collect()),
            ..Self::default()
        }
    }

    /// A call, made when it is first polled.
    fn call(&self, key: Key) -> BoxFuture<'static, Answer> {
        let world = self.clone();
        async move { world.group.run_with_key(key, || world.work(key)).await }.boxed()
    }

    fn work(&self, key: Key) -> BoxFuture<'static, Result<u32, String>> {
        let world = self.clone();
        async move {
            world.gates.pass(key).await;
            let next = world.plan.get(key).cloned().unwrap_or_default();
            let answers = join_all(next.into_iter().map(|key| world.call(key))).await;
            Ok(1 + answers
                .into_iter()
                .map(|answer| world.note(answer))
                .sum::<u32>())
        }
        .boxed()
    }

    /// The value; or nought, and the error is kept.
    fn note(&self, answer: Answer) -> u32 {
        answer.unwrap_or_else(|error| {
            assert!(error.is_reentrant(), "{error:?}");
            self.told.lock().unwrap().push(error.to_string());
            0
        })
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    /// Tasks that call for these keys, each stopped at its gate.
    fn stopped(&self, keys: &[Key]) -> Tasks {
        let mut tasks = Tasks::default();
        for key in keys {
            self.gates.shut(key);
            tasks.spawn(self.call(key));
        }
        tasks.settle();
        assert_eq!(self.group.in_flight(), keys.len());
        tasks
    }

    fn assert_over(&self, tasks: &mut Tasks) {
        tasks.settle();
        assert!(
            tasks.all.iter().all(|task| task.answer.is_some()),
            "somebody waits for ever"
        );
        assert_eq!(self.group.in_flight(), 0);
    }
}

/// Where works stop until the script says go on.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<HashMap<Key, Vec<Waker>>>>);

impl Gates {
    fn shut(&self, key: Key) {
        self.0.lock().unwrap().insert(key, Vec::new());
    }

    fn open(&self, key: Key) {
        let wakers = self.0.lock().unwrap().remove(key);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    fn pass(&self, key: Key) -> impl Future<Output = ()> + Send + use<> {
        let gates = self.0.clone();
        std::future::poll_fn(move |context| match gates.lock().unwrap().get_mut(key) {
            None => Poll::Ready(()),
            Some(wakers) => {
                wakers.push(context.waker().clone());
                Poll::Pending
            }
        })
    }
}

/// Tasks that are polled by hand.
#[derive(Default)]
struct Tasks {
    all: Vec<Task>,
}

struct Task {
    call: BoxFuture<'static, Answer>,
    bell: Arc<Bell>,
    answer: Option<Answer>,
}

/// Rings when a task is to be polled.
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Tasks {
    fn spawn(&mut self, call: impl Future<Output = Answer> + Send + 'static) {
        self.all.push(Task {
            call: call.boxed(),
            bell: Arc::new(Bell(AtomicBool::new(true))),
            answer: None,
        });
    }

    fn poll(&mut self, at: usize) {
        let task = &mut self.all[at];
        if task.answer.is_some() {
            return;
        }
        task.bell = Arc::new(Bell(AtomicBool::new(false)));
        let waker = Waker::from(task.bell.clone());
        if let Poll::Ready(answer) = task.call.as_mut().poll(&mut Context::from_waker(&waker)) {
            task.answer = Some(answer);
            task.call = std::future::pending().boxed();
        }
    }

    /// As an executor: polls whoever is woken until nobody is.
    fn settle(&mut self) {
        let is_woken = |task: &Task| task.answer.is_none() && task.bell.0.load(Ordering::SeqCst);
        while let Some(at) = self.all.iter().position(is_woken) {
            self.poll(at);
        }
    }

    fn value(&self, at: usize) -> u32 {
        let answer = self.all[at].answer.as_ref().expect("it has its answer");
        *answer.as_ref().expect("a value")
    }
}

/// All orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let insert = |order: Vec<usize>| {
        (0..n).map(move |at| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        })
    };
    shorter.into_iter().flat_map(insert).collect()
}

/// `"a" waits for … waits for "a"`, beginning with this one.
fn ring(keys: &[Key], first: usize) -> String {
    let names = (first..=first + keys.len()).map(|at| format!("{:?}", keys[at % keys.len()]));
    format!(
        "the work for a key waits for itself: {}",
        names.collect::<Vec<_>>().join(" waits for ")
    )
}

/// Three flights and more, each waiting for the next, the last for the first.
const ALL: [Key; 4] = ["a", "b", "c", "d"];

fn ring_of(n: usize) -> World {
    let plan: Vec<_> = (0..n).map(|at| (ALL[at], [ALL[(at + 1) % n]])).collect();
    let plan: Vec<_> = plan.iter().map(|(key, next)| (*key, &next[..])).collect();
    World::new(&plan)
}

#[test]
fn a21_ring_over_tasks_is_told_to_the_one_who_closes_it_in_every_order() {
    for n in 2..=4 {
        for opened in orders(n) {
            let world = ring_of(n);
            let mut tasks = world.stopped(&ALL[..n]);
            for &at in &opened {
                world.gates.open(ALL[at]);
                tasks.settle();
            }
            world.assert_over(&mut tasks);
            // The last one to be opened calls for the next, which waits, by way of all others, for it.
            let last = opened[n - 1];
            assert_eq!(
                world.told(),
                [ring(&ALL[..n], (last + 1) % n)],
                "{opened:?}"
            );
            assert_eq!(tasks.value(last), 1);
        }
    }
}

#[test]
fn a21_ring_over_tasks_ends_whoever_is_polled_first_when_all_go_on_at_once() {
    for n in 2..=4 {
        for polled in orders(n) {
            let world = ring_of(n);
            let mut tasks = world.stopped(&ALL[..n]);
            ALL[..n].iter().for_each(|key| world.gates.open(key));
            polled.iter().for_each(|&at| tasks.poll(at));
            world.assert_over(&mut tasks);
            let told = world.told();
            assert_eq!(told.len(), 1, "{polled:?}");
            assert!(
                (0..n).any(|first| told[0] == ring(&ALL[..n], first)),
                "{told:?}"
            );
        }
    }
}

#[test]
fn a21_ring_over_threads_never_hangs() {
    for n in 2..=3 {
        for _ in 0..1_000 {
            let world = ring_of(n);
            let start = Barrier::new(n);
            thread::scope(|scope| {
                for key in &ALL[..n] {
                    let (world, start) = (&world, &start);
                    scope.spawn(move || {
                        start.wait();
                        assert!(block_on(world.call(key)).is_ok());
                    });
                }
            });
            assert!(!world.told().is_empty());
            assert_eq!(world.group.in_flight(), 0);
        }
    }
}

#[test]
fn a21_works_on_threads_that_wait_in_one_order_are_never_told() {
    let plan: [(Key, &[Key]); 4] = [
        ("a", &["b", "c", "d"]),
        ("b", &["c", "d"]),
        ("c", &["d"]),
        ("d", &[]),
    ];
    let world = World::new(&plan);
    thread::scope(|scope| {
        for seed in 0..4 {
            let world = &world;
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..2_000 {
                    let key = ALL[random.below(4)];
                    match random.below(4) {
                        0 => glance(world.call(key)),
                        1 => drop(world.group.forget(key)),
                        _ => assert!(block_on(world.call(key)).is_ok()),
                    }
                }
            });
        }
    });
    assert_eq!((world.told(), world.group.in_flight()), (Vec::new(), 0));
}

#[test]
fn a21_ring_that_leaves_out_who_waits_for_it_names_only_its_own_keys() {
    // "d" waits for "a", and is waited for by nobody.
    let world = World::new(&[("a", &["b"]), ("b", &["a"]), ("d", &["a"])]);
    let mut tasks = world.stopped(&["a", "b", "d"]);
    for key in ["d", "a", "b"] {
        world.gates.open(key);
        tasks.settle();
    }
    world.assert_over(&mut tasks);
    assert_eq!(world.told(), [ring(&["a", "b"], 0)]);
    assert_eq!(
        (0..3).map(|at| tasks.value(at)).collect::<Vec<_>>(),
        [2, 1, 3]
    );
}

#[test]
fn a21_ring_over_two_groups_of_different_types_is_told_too() {
    for opened in [["a", "words"], ["words", "a"]] {
        let world = World::default();
        let words: Group<u64, String, u8> = Group::new();
        opened.iter().for_each(|key| world.gates.shut(key));
        let mut tasks = Tasks::default();
        let (all, inner) = (world.clone(), words.clone());
        tasks.spawn(async move {
            let group = all.group.clone();
            let work = || async move {
                all.gates.pass("a").await;
                let word = inner.run(&7, || async { Ok(String::new()) }).await;
                Ok(word.unwrap_or_else(|error| error.to_string()).len() as u32)
            };
            group.run_with_key("a", work).await
        });
        let all = world.clone();
        tasks.spawn(async move {
            let work = || async move {
                all.gates.pass("words").await;
                let answer = all.call("a").await;
                Ok(answer.map_or_else(|error| error.to_string(), |_| String::new()))
            };
            Ok(words.run(&7, work).await.expect("a word").len() as u32)
        });
        tasks.settle();
        for key in opened {
            world.gates.open(key);
            tasks.settle();
        }
        world.assert_over(&mut tasks);
        let told = match opened[1] {
            "words" => "the work for a key waits for itself: \"a\" waits for 7 waits for \"a\"",
            _ => "the work for a key waits for itself: 7 waits for \"a\" waits for 7",
        };
        // The one who closed it goes on with what it was told, the other with what came of that.
        let length = told.len() as u32;
        let expected = (length, if opened[1] == "words" { length } else { 0 });
        assert_eq!((tasks.value(0), tasks.value(1)), expected);
    }
}

#[test]
fn a21_works_that_wait_for_the_same_do_not_wait_for_themselves() {
    for opened in orders(4) {
        let world = World::new(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"])]);
        let mut tasks = world.stopped(&ALL);
        for &at in &opened {
            world.gates.open(ALL[at]);
            tasks.settle();
        }
        world.assert_over(&mut tasks);
        assert_eq!((world.told().len(), tasks.value(0)), (0, 5), "{opened:?}");
    }
}

/// A chain is polled as one future inside the other: unoptimised, or with the frames of a sanitizer, it outgrows a usual stack.
const DEEP: usize = 512 << 20;

#[test]
fn a21_chain_of_a_thousand_is_no_ring_until_its_ends_meet() {
    let deep = thread::Builder::new().stack_size(DEEP).spawn(chain);
    deep.unwrap().join().unwrap();
}

fn chain() {
    const LENGTH: usize = 1_000;
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..LENGTH).map(|at| at.to_string()).collect());
    let keys: Vec<Key> = NAMES.iter().map(String::as_str).collect();
    let backwards = |at: usize| LENGTH - 1 - at;
    for (opens, closed) in [(true, false), (false, false), (true, true), (false, true)] {
        let next = |at: usize| match at + 1 {
            LENGTH if closed => vec![keys[0]],
            LENGTH => Vec::new(),
            next => vec![keys[next]],
        };
        let world = World {
            plan: Arc::new((0..LENGTH).map(|at| (keys[at], next(at))).collect()),
            ..World::default()
        };
        let mut tasks = world.stopped(&keys);
        for at in 0..LENGTH {
            world
                .gates
                .open(keys[if opens { at } else { backwards(at) }]);
            tasks.settle();
        }
        world.assert_over(&mut tasks);
        let told = world.told();
        assert_eq!(told.len(), usize::from(closed));
        let names = told.first().map_or(0, |told| told.matches('"').count() / 2);
        assert_eq!(names, if closed { LENGTH + 1 } else { 0 });
        let whole = u32::try_from(LENGTH).unwrap();
        assert!((0..LENGTH).any(|at| tasks.value(at) == whole));
    }
}

#[test]
fn a21_ring_may_be_closed_again_by_the_next_flights() {
    let world = ring_of(2);
    for _ in 0..100 {
        let mut tasks = world.stopped(&ALL[..2]);
        for key in &ALL[..2] {
            world.gates.open(key);
            tasks.settle();
        }
        world.assert_over(&mut tasks);
        assert_eq!(world.told(), [ring(&ALL[..2], 0)]);
    }
}
