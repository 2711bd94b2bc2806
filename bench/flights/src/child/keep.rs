//! What a key costs while it is in flight: a million calls, each for a key of its own, each polled once.

use std::task::{Context, Waker};
use trial::{Figures, Size, Slots, Subject, Until, Work, alone, keys};

/// Keys in flight.
pub(crate) const KEYS: usize = 1_000_000;
/// For subjects whose futures would fill the machine.
const FEWER: usize = KEYS / 4;
/// Bytes of a future from which on there are fewer.
const BIG: usize = 1_000;

/// All keys at once.
pub(super) fn run<S: Subject>(size: Size) -> Result<Figures, String> {
    alone(async move {
        let subject = S::leaked();
        let keys = keys(KEYS);
        let call = |key: usize| subject.call(&keys[key], Work::new(0, Until::Never));
        let big = Slots::<S, _>::new(0, &call).future_bytes() >= BIG;
        let count = size.pick(if big { FEWER } else { KEYS }, KEYS / 100);
        let mut slots = Slots::<S, _>::new(count, &call);
        let mut context = Context::from_waker(Waker::noop());
        counting::start();
        let before = counting::read();
        for at in 0..count {
            slots.put(at, call(at));
            let _pending = slots.poll(at, &mut context);
        }
        let after = counting::read();
        let per = |count_of: i64| count_of as f64 / count as f64;
        Ok(Figures::from([
            ("keys".to_owned(), count as f64),
            ("heap bytes".to_owned(), per(after.live - before.live)),
            ("allocations".to_owned(), per(after.made - before.made)),
            ("future bytes".to_owned(), slots.future_bytes() as f64),
            (
                "work and key bytes".to_owned(),
                (size_of::<Work>() + size_of::<u64>()) as f64,
            ),
        ]))
    })?
}
