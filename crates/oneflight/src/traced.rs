//! An observer that writes what happens to `tracing`.

use crate::observe::{Event, Observer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use tracing::field::{DebugValue, debug as value};
use tracing::{debug, trace, warn};

/// Writes what happens to `tracing`: hand it to [`Builder::observer`](crate::Builder::observer) or
/// [`Scoped::with_observer`](crate::Scoped::with_observer).
///
/// The target is `oneflight`. Every event has the fields `group` and `key` (as `Debug` prints it), and what is told of it: `took`,
/// `callers`, `panic`, `at`, `waited`, `led`. Times are there if the group has a clock.
///
/// | level | what |
/// |---|---|
/// | warn | a panic of the work, a flight that is overdue |
/// | debug | what else becomes of flights, calls that join, calls that give up |
/// | trace | each caller that gets its answer |
///
/// A flight's own error is at debug: its callers get it, and know better how bad it is. Keys are printed: mind what they hold.
///
/// # Spans
///
/// Whoever is polled drives the work, under the span of that caller or that task. The trace of the call that started the flight is
/// carried by the work itself, whoever drives it, if it is instrumented where it is made:
///
/// ```
/// use oneflight::{Group, Tracing};
/// use tracing::Instrument;
///
/// # let wait = futures_util::FutureExt::now_or_never;
/// let prices: Group<String, u32> = Group::builder().observer(Tracing::new("prices")).build();
/// let call = prices.run("tea", || async { Ok(350) }.in_current_span());
/// assert_eq!(wait(call).unwrap().unwrap(), 350);
/// ```
#[derive(Clone, Debug)]
pub struct Tracing {
    group: Cow<'static, str>,
}

impl Tracing {
    /// For the group of this name.
    pub fn new(group: impl Into<Cow<'static, str>>) -> Self {
        Self {
            group: group.into(),
        }
    }
}

impl<K: fmt::Debug> Observer<K> for Tracing {
    fn observe(&self, key: &K, event: &Event<'_>) {
        let group = &*self.group;
        match *event {
            Event::Started => debug!(target: "oneflight", group, ?key, "started"),
            Event::Joined => debug!(target: "oneflight", group, ?key, "joined"),
            Event::Landed { took, callers } => {
                debug!(target: "oneflight", group, ?key, took = time(took), callers, "landed");
            }
            Event::Failed { took, callers } => {
                debug!(target: "oneflight", group, ?key, took = time(took), callers, "failed");
            }
            Event::Panicked {
                message: panic,
                location: at,
                took,
                callers,
            } => {
                warn!(target: "oneflight", group, ?key, panic, at, took = time(took), callers, "panicked");
            }
            Event::Overdue { took, callers } => {
                warn!(target: "oneflight", group, ?key, took = time(took), callers, "overdue");
            }
            Event::Abandoned { took, callers } => {
                debug!(target: "oneflight", group, ?key, took = time(took), callers, "abandoned");
            }
            Event::Cancelled { took, callers } => {
                debug!(target: "oneflight", group, ?key, took = time(took), callers, "cancelled");
            }
            Event::Forgotten => debug!(target: "oneflight", group, ?key, "forgotten"),
            Event::TimedOut { waited } => {
                debug!(target: "oneflight", group, ?key, waited = time(waited), "timed out");
            }
            Event::Waited {
                time: waited,
                led,
                shared: callers,
            } => {
                trace!(target: "oneflight", group, ?key, waited = time(waited), led, callers, "answered");
            }
        }
    }
}

/// A time as a field; none if it is not known.
fn time(time: Option<Duration>) -> Option<DebugValue<Duration>> {
    time.map(value)
}
