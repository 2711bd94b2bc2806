//! Twenty callers who leave before the work that they ask for can be done.

use super::super::modes::{Ask, Mode};
use crate::script::Script;
use std::time::Duration;

const TICK: u64 = 10;
const APART: u64 = 20;
const PATIENCE: u64 = 50;
const TAKES: u64 = 100;
const CALLERS: usize = 20;

/// How the callers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// They are dropped.
    Dropped,
    /// They have a limit.
    Limited,
}

/// Twenty callers, 20 ms apart, each there for 50 ms, of work that takes 100 ms; if answers are kept, those who come when there
/// is one are served without a call. Returns how many are served, and how often the work began.
pub(super) fn twenty(mode: &dyn Mode, leaving: Leaving, kept: bool) -> (usize, usize) {
    let mut s = Script::new(mode);
    let (mut callers, mut begun, mut served) = (Vec::new(), Vec::new(), 0);
    for now in (0..1_000).step_by(usize::try_from(TICK).expect("small")) {
        let now = now as u64;
        for run in (0..begun.len()).filter(|&run| begun[run] + TAKES == now) {
            s.finish_run("k", run, 7);
        }
        s.settle();
        for &(call, since) in &callers {
            if leaving == Leaving::Dropped && since + PATIENCE <= now && s.is_waiting(call) {
                s.drop_call(call);
            }
        }
        if now.is_multiple_of(APART) && now / APART < CALLERS as u64 {
            if kept && callers.iter().any(|&(call, _)| s.value(call) == Some(7)) {
                served += 1;
            } else {
                let limit = (leaving == Leaving::Limited).then_some(PATIENCE);
                let within = limit.map(Duration::from_millis);
                let ask = Ask {
                    within,
                    ..Ask::default()
                };
                callers.push((s.ask(ask, "k"), now));
            }
        }
        s.settle();
        begun.resize(s.starts("k"), now);
        if leaving == Leaving::Limited {
            mode.advance(Duration::from_millis(TICK));
        }
    }
    assert!(callers.iter().all(|&(call, _)| !s.is_waiting(call)));
    served += callers
        .iter()
        .filter(|&&(call, _)| s.value(call) == Some(7))
        .count();
    assert_eq!(mode.in_flight(), 0);
    (served, begun.len())
}
