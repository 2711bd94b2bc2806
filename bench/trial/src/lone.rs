//! A call that nobody joins: what a flight costs when it was not needed.

use crate::samples::Figures;
use crate::size::{Size, alone, check, keys, ns};
use crate::subject::Subject;
use crate::work::{self, Until};
use reporting::median;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// What the work does.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// It is ready when it is polled first.
    Ready,
    /// It is pending once.
    Yields,
}

/// Calls, one after the other, each for a key of its own.
///
/// # Errors
/// If an answer is wrong.
pub fn run<S: Subject>(size: Size, work: Work) -> Result<Figures, String> {
    let (rounds, each) = match size {
        Size::Full => (40, 10_000),
        Size::Smoke => (2, 500),
        Size::Exactly(count) => (1, count),
    };
    let until = match work {
        Work::Ready => Until::Now,
        Work::Yields => Until::Yielded,
    };
    let keys = keys((rounds + 1) * each);
    alone(async move {
        let subject = S::leaked();
        let mut times = Vec::new();
        // Nothing of the subject is warm in the first round; where instructions are counted, two runs are subtracted instead.
        let cold = usize::from(!matches!(size, Size::Exactly(_)));
        for round in 0..rounds {
            let began = Instant::now();
            calls(subject, &keys[round * each..][..each], until).await?;
            if round >= cold {
                times.push(ns(began) / each as f64);
            }
        }
        counting::start();
        let before = counting::read();
        if cold > 0 {
            calls(subject, &keys[rounds * each..], until).await?;
        }
        let after = counting::read();
        let per = |count: i64| count as f64 / each as f64;
        Ok(Figures::from([
            ("ns".to_owned(), median(&times)),
            ("allocations".to_owned(), per(after.made - before.made)),
            ("bytes".to_owned(), per(after.bytes - before.bytes)),
        ]))
    })?
}

async fn calls<S: Subject>(
    subject: &'static S,
    keys: &'static [u64],
    until: Until,
) -> Result<(), String> {
    for key in keys {
        let call = subject.call(key, work::Work::new(*key, until));
        let answer = match until {
            Until::Now => call.await,
            _ => at_once(call).await,
        };
        check("the answer of a lone call", S::value(answer), *key)?;
    }
    Ok(())
}

/// Polls a call that is pending once more, and only then leaves it to the runtime: its way back to a task is not the subject's.
async fn at_once<F: Future>(call: F) -> F::Output {
    let mut call = pin!(call);
    for _ in 0..2 {
        let context = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(answer) = call.as_mut().poll(context) {
            return answer;
        }
    }
    call.await
}
