//! Places for the futures of many callers, made once: a round puts futures in, polls them and takes them out, and allocates nothing
//! of its own.

use crate::subject::Subject;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A place for the future of each caller.
#[derive(Debug)]
pub struct Slots<S, F> {
    slots: Vec<Pin<Box<Option<F>>>>,
    subject: PhantomData<S>,
}

impl<S: Subject, F: Future<Output = S::Answer>> Slots<S, F> {
    /// `count` empty places. `_call` is never called: it tells the type of the futures, which has no name.
    pub fn new(count: usize, _call: &impl Fn(usize) -> F) -> Self {
        Self {
            slots: (0..count).map(|_| Box::pin(None)).collect(),
            subject: PhantomData,
        }
    }

    /// How many places there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of a caller's future.
    #[must_use]
    pub fn future_bytes(&self) -> usize {
        size_of::<F>()
    }

    /// Puts a future in; what was there is dropped.
    pub fn put(&mut self, at: usize, future: F) {
        self.slots[at].as_mut().set(Some(future));
    }

    /// Drops the future of that caller.
    pub fn clear(&mut self, at: usize) {
        self.slots[at].as_mut().set(None);
    }

    /// Drops the futures of all callers.
    pub fn clear_all(&mut self) {
        (0..self.count()).for_each(|at| self.clear(at));
    }

    /// Polls that caller once. A caller that is ready is taken out, and its value comes back; one that is gone stays pending.
    pub fn poll(&mut self, at: usize, context: &mut Context<'_>) -> Poll<u64> {
        let Some(future) = self.slots[at].as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let answer = future.poll(context);
        if answer.is_ready() {
            self.clear(at);
        }
        answer.map(S::value)
    }

    /// True if that caller has its answer, or was never there.
    #[must_use]
    pub fn is_empty(&self, at: usize) -> bool {
        self.slots[at].is_none()
    }
}
