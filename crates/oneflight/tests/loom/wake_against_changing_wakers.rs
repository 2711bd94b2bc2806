//! A lone waiter comes with a new waker each time, while other threads wake the work.

use crate::harness::{Bound, block_on, end_of, explore, spawn};
use crate::parts::{Ringer, Watched, group, number};

fn model() {
    let group = group();
    let ringer = Ringer::new();
    let work = ringer.clone();
    let call = group.run(&Watched::new(1), || work.work(7));
    // One wakes in vain, the other when there is something to say.
    let vain = ringer.clone();
    let vain = spawn(move || {
        if let Some(waker) = vain.waker() {
            waker.wake_by_ref();
        }
    });
    let rings = spawn(move || ringer.ring());
    assert_eq!(number(block_on(call)).ok(), Some(7));
    end_of(vain);
    end_of(rings);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn wake_against_changing_wakers() {
    explore("wake_against_changing_wakers", Bound::None, model);
}
