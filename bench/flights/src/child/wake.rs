//! Who is woken when the work is, and who is served when some are woken and never polled again.
//!
//!   the work wakes  ──▶  W callers wake            counted over some wakes, each caller that woke being polled again
//!   the work ends   ──▶  the first two to wake are never polled again: who of the others gets the answer?

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use trial::{Figures, GATE, Size, Slots, Subject, Until, Work, alone, check, keys, let_tasks_run};

/// Callers that wait, the leader among them.
const CALLERS: usize = 1_000;
const WAKES: usize = 10;
/// Rounds of polling without progress after which nobody more will be served.
const IDLE: usize = 5;

/// Counts the wakes of a caller.
#[derive(Default)]
struct Caller {
    wakes: AtomicU64,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: one thread counts and reads.
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Caller {
    fn woken(&self) -> u64 {
        // ORDERING: as in `wake_by_ref`.
        self.wakes.swap(0, Ordering::Relaxed)
    }
}

/// Wakes with a thousand callers; then both tests of liveness.
pub(super) fn run<S: Subject>(size: Size) -> Result<Figures, String> {
    let callers = size.pick(CALLERS, CALLERS);
    alone(async move {
        let subject = S::leaked();
        let keys = keys(3);
        let call = |key: usize| subject.call(&keys[key], Work::new(key as u64, Until::Open));
        let mut crowd = Crowd::<S, _>::gather(callers, &call, 0).await?;
        let wakes = crowd.wakes().await;
        let (served, after_join) = crowd.deserted(&call).await?;
        let mut crowd = Crowd::<S, _>::gather(4, &call, 1).await?;
        let followers = crowd.without_leader().await?;
        let figure = |name: &str, value: f64| (name.to_owned(), value);
        Ok(Figures::from([
            figure("wakes per wake", wakes),
            figure("served of 998", served as f64),
            figure("served of 998 after a join", after_join as f64),
            figure("served of 3 followers", followers as f64),
        ]))
    })?
}

/// Callers of one flight, polled only when woken.
struct Crowd<S, F> {
    slots: Slots<S, F>,
    callers: Vec<Arc<Caller>>,
    wakers: Vec<Waker>,
    key: usize,
}

impl<S: Subject, F: Future<Output = S::Answer>> Crowd<S, F> {
    /// All have called and been polled once; the work waits at the gate. There is a place for one more.
    async fn gather(count: usize, call: &impl Fn(usize) -> F, key: usize) -> Result<Self, String> {
        GATE.close();
        let callers: Vec<_> = (0..=count).map(|_| Arc::new(Caller::default())).collect();
        let wakers = callers
            .iter()
            .map(|caller| Waker::from(caller.clone()))
            .collect();
        let slots = Slots::new(count + 1, call);
        let mut crowd = Self {
            slots,
            callers,
            wakers,
            key,
        };
        for at in 0..count {
            crowd.slots.put(at, call(key));
            let early = crowd.poll(at)?;
            check("answers before the gate", u64::from(early), 0)?;
            let_tasks_run().await;
        }
        crowd.settle().await?;
        Ok(crowd)
    }

    /// Polls a caller; true if it got its answer.
    fn poll(&mut self, at: usize) -> Result<bool, String> {
        let context = &mut Context::from_waker(&self.wakers[at]);
        match self.slots.poll(at, context) {
            std::task::Poll::Ready(value) => {
                check("an answer", value, self.key as u64)?;
                Ok(true)
            }
            std::task::Poll::Pending => Ok(false),
        }
    }

    /// Polls whoever was woken until nobody is.
    async fn settle(&mut self) -> Result<(), String> {
        self.serve(&[]).await.map(drop)
    }

    /// How many callers wake when the work does.
    async fn wakes(&mut self) -> f64 {
        let mut wakes = 0;
        for _ in 0..WAKES {
            GATE.wake();
            let_tasks_run().await;
            let woken: Vec<u64> = self.callers.iter().map(|caller| caller.woken()).collect();
            wakes += woken.iter().sum::<u64>();
            for at in (0..woken.len()).filter(|at| woken[*at] > 0) {
                let context = &mut Context::from_waker(&self.wakers[at]);
                let _pending = self.slots.poll(at, context);
            }
            let_tasks_run().await;
        }
        wakes as f64 / WAKES as f64
    }

    /// The work ends, and the first two callers that wake are never polled again: how many others are served, and how many once
    /// one more caller has come.
    async fn deserted(&mut self, call: &impl Fn(usize) -> F) -> Result<(usize, usize), String> {
        GATE.open();
        GATE.wake();
        let woken: Vec<usize> = (0..self.callers.len())
            .filter(|at| self.callers[*at].woken() > 0)
            .collect();
        // Where fewer wake, the first of the others make it two.
        let others = (0..self.callers.len()).filter(|at| !woken.contains(at));
        let gone: Vec<usize> = woken.iter().copied().chain(others).take(2).collect();
        for at in woken.into_iter().filter(|at| !gone.contains(at)) {
            self.callers[at].wake_by_ref();
        }
        let served = self.serve(&gone).await?;
        let last = self.callers.len() - 1;
        self.slots.put(last, call(self.key));
        let joined = usize::from(self.poll(last)?);
        let more = self.serve(&gone).await?;
        let after = served + more - usize::from(joined == 0 && self.slots.is_empty(last)).min(more);
        Ok((served, after))
    }

    /// The work ends, and the leader is never polled again: how many followers are served.
    async fn without_leader(&mut self) -> Result<usize, String> {
        GATE.open();
        GATE.wake();
        self.serve(&[0]).await
    }

    /// Polls whoever was woken and is not `gone`, until nobody is woken any more; how many got their answer.
    async fn serve(&mut self, gone: &[usize]) -> Result<usize, String> {
        let (mut served, mut idle) = (0, 0);
        while idle < IDLE {
            let_tasks_run().await;
            idle += 1;
            for at in 0..self.callers.len() {
                if !gone.contains(&at) && self.callers[at].woken() > 0 {
                    idle = 0;
                    served += usize::from(self.poll(at)?);
                }
            }
        }
        Ok(served)
    }
}
