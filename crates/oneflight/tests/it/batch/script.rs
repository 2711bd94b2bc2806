//! A script drives the callers of a loader by hand, and answers its batches by hand.

use oneflight::batch::{Load, LoadMany, Loader};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// The error of a batch function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

/// What a scripted batch says.
pub(crate) type Said = Result<Vec<(u32, Result<u32, Broken>)>, Broken>;

type Answer = Result<Option<u32>, oneflight::Error<Broken>>;

/// What all the batches of a script have done.
#[derive(Default)]
struct Log {
    keys: Vec<Vec<u32>>,
    polls: Vec<usize>,
    says: HashMap<usize, Box<dyn FnOnce() -> Said + Send>>,
    wakers: HashMap<usize, Waker>,
    dropped: Vec<usize>,
}

/// A batch that ends when it is told to.
struct Batch {
    log: Arc<Mutex<Log>>,
    at: usize,
}

impl Future for Batch {
    type Output = Said;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Said> {
        let mut log = self.log.lock().unwrap();
        log.polls[self.at] += 1;
        log.wakers.insert(self.at, cx.waker().clone());
        let say = log.says.remove(&self.at);
        drop(log);
        say.map_or(Poll::Pending, |say| Poll::Ready(say()))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut log = self.log.lock().unwrap();
        log.dropped.push(self.at);
        let waker = log.wakers.remove(&self.at);
        drop(log);
        drop(waker);
    }
}

/// Counts how often a caller was woken.
#[derive(Default)]
pub(crate) struct Flag(AtomicUsize);

impl Flag {
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// One caller: its future, and its waker.
pub(crate) struct Caller<F> {
    future: Pin<Box<F>>,
    pub(crate) flag: Arc<Flag>,
}

impl<F: Future> Caller<F> {
    pub(crate) fn new(future: F) -> Self {
        Self {
            future: Box::pin(future),
            // A new caller is to be polled, as a new task is.
            flag: Arc::new(Flag(AtomicUsize::new(1))),
        }
    }

    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        self.flag.take();
        let waker = Waker::from(Arc::clone(&self.flag));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls a caller that must not be ready.
    pub(crate) fn waits(&mut self) -> &mut Self {
        assert!(self.poll().is_pending(), "ready too early");
        self
    }

    /// Polls a caller that must not be ready, one of many.
    pub(crate) fn wait(&mut self) {
        self.waits();
    }

    /// Polls a caller that must be ready.
    pub(crate) fn ends(mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("not ready"),
        }
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::SeqCst) > 0
    }
}

/// A loader whose batches end when the script says so.
pub(crate) struct Script {
    pub(crate) loader: Loader<u32, u32, Broken>,
    log: Arc<Mutex<Log>>,
}

impl Script {
    pub(crate) fn new(max_batch: usize, max_in_flight: usize) -> Self {
        let log = Arc::<Mutex<Log>>::default();
        let all = Arc::clone(&log);
        let builder = Loader::builder()
            .max_batch(max_batch)
            .max_in_flight(max_in_flight);
        let loader = builder.build(move |keys: Vec<u32>| {
            let mut log = all.lock().unwrap();
            log.keys.push(keys);
            log.polls.push(0);
            let at = log.keys.len() - 1;
            drop(log);
            let log = Arc::clone(&all);
            Batch { log, at }
        });
        Self { loader, log }
    }

    pub(crate) fn load(&self, key: u32) -> Caller<Load<u32, u32, Broken>> {
        Caller::new(self.loader.load(key))
    }

    pub(crate) fn load_many(
        &self,
        keys: impl IntoIterator<Item = u32>,
    ) -> Caller<LoadMany<u32, u32, Broken>> {
        Caller::new(self.loader.load_many(keys))
    }

    /// The keys of all batches that were started.
    pub(crate) fn batches(&self) -> Vec<Vec<u32>> {
        self.log.lock().unwrap().keys.clone()
    }

    /// Which batches are gone, in the order in which they went.
    pub(crate) fn dropped(&self) -> Vec<usize> {
        self.log.lock().unwrap().dropped.clone()
    }

    pub(crate) fn polls(&self, batch: usize) -> usize {
        self.log.lock().unwrap().polls[batch]
    }

    /// Wakes a batch.
    pub(crate) fn wake(&self, batch: usize) {
        let waker = self.log.lock().unwrap().wakers.get(&batch).cloned();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Lets a batch say something when it is polled next, and wakes it.
    pub(crate) fn say(&self, batch: usize, say: impl FnOnce() -> Said + Send + 'static) {
        self.log.lock().unwrap().says.insert(batch, Box::new(say));
        self.wake(batch);
    }

    /// Ends a batch with ten times each key.
    pub(crate) fn finish(&self, batch: usize) {
        let keys = self.batches()[batch].clone();
        self.say(batch, move || {
            Ok(keys.into_iter().map(|key| (key, Ok(key * 10))).collect())
        });
    }
}

/// The value of an answer that must be one.
pub(crate) fn value(answer: Answer) -> Option<u32> {
    answer.expect("an error")
}

/// The values of answers that must be values.
pub(crate) fn values(answers: Vec<Answer>) -> Vec<Option<u32>> {
    answers.into_iter().map(value).collect()
}
