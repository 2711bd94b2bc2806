//! What groups alone can be asked.

use super::super::modes::{Ask, Make};
use crate::script::Script;

pub(crate) fn a16_forget_unshared_means_that_nobody_else_joins(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let a = s.call("k");
    assert!(mode.as_group().forget_unshared("k"));
    let b = s.call("k");
    assert_eq!(s.starts("k"), 2, "nobody joins what was forgotten");
    let c = s.call("k");
    s.drop_call(c);
    assert!(
        !mode.as_group().forget_unshared("k"),
        "somebody has shared it"
    );
    assert!(!mode.as_group().forget_unshared("none"));
    s.settle();
    s.finish_run("k", 0, 1);
    s.finish_run("k", 1, 2);
    assert_eq!((s.answer(a), s.answer(b)), (Some(1), Some(2)));
}

pub(crate) fn a17_call_since_a_mark_joins_no_flight_from_before_the_write(make: Make) {
    for newer_first in [false, true] {
        let mode = make();
        let mut s = Script::new(&*mode);
        let before = s.call("k");
        s.settle();
        // Something is written while the load is in flight.
        let since = Some(mode.as_group().mark());
        let ask = Ask {
            since,
            ..Ask::default()
        };
        let (after, also, any) = (s.ask(ask, "k"), s.ask(ask, "k"), s.call("k"));
        s.settle();
        assert_eq!(s.starts("k"), 2);
        let runs: [usize; 2] = if newer_first { [1, 0] } else { [0, 1] };
        for run in runs {
            s.finish_run("k", run, 1 + run as u64);
            s.settle();
        }
        let answers = [before, after, also, any].map(|call| s.answer(call));
        assert_eq!(answers, [Some(1), Some(2), Some(2), Some(2)]);
        assert_eq!((mode.in_flight(), s.starts("k")), (0, 2));
    }
}

pub(crate) fn a37_closed_group_starts_nothing_and_ends_what_is_up(make: Make) {
    let mode = make();
    let mut s = Script::new(&*mode);
    let (a, hung) = (s.call("a"), s.call("hung"));
    s.settle();
    mode.as_group().close();
    let (joined, refused) = (s.call("a"), s.call("b"));
    assert!(s.error(refused).is_closed() && s.starts("b") == 0);
    let since = Some(mode.as_group().mark());
    let ask = Ask {
        since,
        ..Ask::default()
    };
    let fresh = s.ask(ask, "a");
    assert!(s.error(fresh).is_closed());
    s.finish_work("a", 7);
    assert_eq!((s.answer(a), s.answer(joined)), (Some(7), Some(7)));
    mode.as_group().cancel_all();
    assert!(s.is_dropped("hung", 0) && s.error(hung).is_closed());
    assert_eq!(mode.in_flight(), 0);
}
