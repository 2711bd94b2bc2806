//! Callers that leave: many wait for one flight, and all but the leader are dropped, one by one.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use reporting::median;
use std::task::{Context, Waker};
use std::time::Instant;
use trial::{Figures, Size, Slots, Subject, Until, Work, alone, keys, let_tasks_run, ns};

/// How many callers leave, and how often.
const FEW: (usize, usize) = (1_000, 60);
const MANY: (usize, usize) = (10_000, 12);

/// Both numbers of callers, in both orders.
pub(super) fn run<S: Subject>(size: Size) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for (callers, rounds) in [FEW, MANY] {
        let (callers, rounds) = (size.pick(callers, callers / 10), size.pick(rounds, 1));
        let mut random: Vec<usize> = (1..=callers).collect();
        random.shuffle(&mut SmallRng::seed_from_u64(1));
        let ordered = (1..=callers).collect();
        for (order, name) in [(random, "random"), (ordered, "in order")] {
            let time = alone(leave::<S>(order, rounds))?;
            figures.insert(format!("{name} {callers} ns"), time);
        }
    }
    Ok(figures)
}

/// Nanoseconds for each caller that leaves.
async fn leave<S: Subject>(order: Vec<usize>, rounds: usize) -> f64 {
    let subject = S::leaked();
    let keys = keys(rounds);
    let call = |round: usize| subject.call(&keys[round], Work::new(0, Until::Never));
    let mut slots = Slots::<S, _>::new(order.len() + 1, &call);
    let mut context = Context::from_waker(Waker::noop());
    let mut times = Vec::new();
    for round in 0..rounds {
        for at in 0..slots.count() {
            slots.put(at, call(round));
            let _pending = slots.poll(at, &mut context);
        }
        let_tasks_run().await;
        let began = Instant::now();
        order.iter().for_each(|at| slots.clear(*at));
        times.push(ns(began) / order.len() as f64);
        slots.clear_all();
    }
    median(&times)
}
