//! A script of scoped calls, all driven by hand. The works share an `Rc`, so none of them is `Send`.
//!
//! Z1. A call counts as woken only by the waker of its last poll; the work of a call is woken by the waker it was polled with.
//! Z2. No run of a key's work begins before the one before it is dropped, but after a `forget`.

use crate::script::{Bell, Oops};
use oneflight::{Error, Outcome, Scoped};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

pub(crate) type Flights = Scoped<String, u64, Oops>;
type Answer = Result<Outcome<u64>, Error<Oops>>;

/// The script. Calls are numbered as they are made.
pub(crate) struct Script<'g> {
    pub(crate) group: &'g Flights,
    calls: Vec<Seat<'g>>,
    runs: Rc<RefCell<Vec<Run>>>,
}

struct Seat<'g> {
    future: Option<Pin<Box<dyn Future<Output = Answer> + 'g>>>,
    bell: Arc<Bell>,
    wakes: Arc<AtomicUsize>,
    kept: bool,
    answer: Option<Answer>,
}

/// One run of the work.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) key: String,
    /// The call whose work it is.
    pub(crate) call: usize,
    pub(crate) polls: usize,
    pub(crate) dropped: bool,
    end: Option<End>,
    waker: Option<Waker>,
}

/// What a work comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Value(u64),
    Fails(&'static str),
    Panics(&'static str),
}

struct Work {
    runs: Rc<RefCell<Vec<Run>>>,
    at: usize,
}

impl Future for Work {
    type Output = Result<u64, Oops>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let end = {
            let run = &mut self.runs.borrow_mut()[self.at];
            assert!(!run.dropped, "polled after it was dropped");
            run.polls += 1;
            run.waker = Some(context.waker().clone());
            run.end
        };
        match end {
            None => Poll::Pending,
            Some(End::Value(value)) => Poll::Ready(Ok(value)),
            Some(End::Fails(why)) => Poll::Ready(Err(Oops(why, fmt::Error))),
            Some(End::Panics(why)) => panic!("{why}"),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let run = &mut self.runs.borrow_mut()[self.at];
        assert!(!std::mem::replace(&mut run.dropped, true), "dropped twice");
        run.waker = None;
    }
}

impl<'g> Script<'g> {
    pub(crate) fn new(group: &'g Flights) -> Self {
        Self {
            group,
            calls: Vec::new(),
            runs: Rc::default(),
        }
    }

    /// A call, not polled yet.
    pub(crate) fn call(&mut self, key: &str) -> usize {
        let (runs, owned, call) = (self.runs.clone(), key.to_owned(), self.calls.len());
        let work = move || {
            let mut all = runs.borrow_mut();
            all.push(Run {
                key: owned,
                call,
                polls: 0,
                dropped: false,
                end: None,
                waker: None,
            });
            let at = all.len() - 1;
            drop(all);
            Work { runs, at }
        };
        let future = self.group.run(key, work).outcome();
        self.seat(Box::pin(future))
    }

    /// Some other call of the group.
    pub(crate) fn seat(&mut self, future: Pin<Box<dyn Future<Output = Answer> + 'g>>) -> usize {
        let wakes = Arc::default();
        self.calls.push(Seat {
            future: Some(future),
            bell: Bell::rung(&wakes),
            wakes,
            kept: false,
            answer: None,
        });
        self.calls.len() - 1
    }

    /// Polls a call once; true if it has its answer now.
    pub(crate) fn poll(&mut self, call: usize) -> bool {
        let seat = &mut self.calls[call];
        let Some(future) = &mut seat.future else {
            return true;
        };
        seat.bell = Bell::fresh(&seat.wakes);
        let waker = Waker::from(seat.bell.clone());
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            seat.answer = Some(answer);
            seat.future = None;
        }
        seat.future.is_none()
    }

    /// The call stays, but is never polled again by `settle`.
    pub(crate) fn keep(&mut self, call: usize) {
        self.calls[call].kept = true;
    }

    pub(crate) fn drop_call(&mut self, call: usize) {
        self.calls[call].future = None;
    }

    /// As an executor: polls whoever is woken until nobody is.
    pub(crate) fn settle(&mut self) {
        while let Some(call) =
            (0..self.calls.len()).find(|&call| self.is_woken(call) && !self.calls[call].kept)
        {
            self.poll(call);
        }
    }

    /// True if the call waits, and a poll of it is due.
    pub(crate) fn is_woken(&self, call: usize) -> bool {
        self.is_waiting(call) && self.calls[call].bell.has_rung()
    }

    /// Who of them is to be polled.
    pub(crate) fn woken(&self, calls: &[usize]) -> Vec<usize> {
        let woken = |&call: &usize| self.is_woken(call);
        calls.iter().copied().filter(woken).collect()
    }

    pub(crate) fn is_waiting(&self, call: usize) -> bool {
        self.calls[call].future.is_some()
    }

    /// How often the call was woken, ever.
    pub(crate) fn wakes(&self, call: usize) -> usize {
        self.calls[call].wakes.load(Ordering::SeqCst)
    }

    /// The value that the call got; none if it waits, or got an error.
    pub(crate) fn value(&self, call: usize) -> Option<u64> {
        Some(self.outcome(call)?.value)
    }

    pub(crate) fn outcome(&self, call: usize) -> Option<Outcome<u64>> {
        self.calls[call].answer.as_ref()?.as_ref().ok().copied()
    }

    pub(crate) fn has_answer(&self, call: usize) -> bool {
        self.calls[call].answer.is_some()
    }

    /// The error that the call got.
    pub(crate) fn error(&self, call: usize) -> Error<Oops> {
        match &self.calls[call].answer {
            Some(Err(error)) => error.clone(),
            other => panic!("no error but {other:?}"),
        }
    }

    /// The runs of a key's work, oldest first.
    pub(crate) fn runs(&self, key: &str) -> Vec<usize> {
        let runs = self.runs.borrow();
        (0..runs.len()).filter(|&at| runs[at].key == key).collect()
    }

    pub(crate) fn starts(&self, key: &str) -> usize {
        self.runs(key).len()
    }

    /// What is known of a run.
    pub(crate) fn run<T>(&self, at: usize, see: impl FnOnce(&Run) -> T) -> T {
        see(&self.runs.borrow()[at])
    }

    /// The call that leads the newest run of a key.
    pub(crate) fn leader(&self, key: &str) -> Option<usize> {
        let at = *self.runs(key).last()?;
        self.run(at, |run| (!run.dropped).then_some(run.call))
    }

    /// The newest run of a key ends so, and wakes its leader.
    pub(crate) fn end(&mut self, key: &str, end: End) {
        let at = *self.runs(key).last().expect("a run");
        self.end_run(at, end);
    }

    pub(crate) fn end_run(&mut self, at: usize, end: End) {
        self.runs.borrow_mut()[at].end = Some(end);
        self.wake_run(at);
    }

    /// Wakes a work, which may have nothing to say.
    pub(crate) fn wake_run(&mut self, at: usize) {
        let waker = self.runs.borrow()[at].waker.clone();
        waker.into_iter().for_each(Waker::wake);
    }
}
