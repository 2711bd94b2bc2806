//! How long what is kept serves, when it is loaded anew, and what a failure means. Pure: time and chance come in as numbers.

use super::entry::{NEVER, Time, Times};
use crate::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a value serves.
///
/// The windows are those of RFC 5861: both begin when the value is no longer fresh, and they overlap.
///
/// # Examples
/// ```
/// use oneflight::cache::Lifetime;
/// use std::time::Duration;
///
/// let an_hour = Lifetime::of(Duration::from_secs(60)).stale_if_error(Duration::from_secs(3600));
/// assert_eq!(an_hour.fresh(), Some(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    fresh: Option<Duration>,
    stale_while_revalidate: Duration,
    stale_if_error: Duration,
}

/// What an error of a load means for what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// It may pass: what is kept serves on, as long as [`stale_if_error`](super::Builder::stale_if_error) says. A panic and a load
    /// that takes too long are of this kind.
    Transient,
    /// There is no such value: what is kept goes, and the error is remembered for
    /// [`negative_ttl`](super::Builder::negative_ttl).
    NotFound,
    /// It will not pass: callers are to hear of it, so what is kept does not serve once it is stale.
    Permanent,
}

/// What becomes of a caller when as many wait for its key as may ([`max_waiters`](super::Builder::max_waiters)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// It gets an error ([`is_full`](crate::Error::is_full)).
    Refuse,
    /// It gets a stale value, if one is kept that may still serve, and an error if not.
    Stale,
    /// It runs its own work, for itself. How many do so is not bounded; each is, as a flight: by
    /// [`max_flight`](super::Builder::max_flight), and by [`close`](super::Cache::close).
    Load,
}

/// When a value is loaded anew while it is fresh.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Ahead {
    #[default]
    Never,
    /// After this part of its life.
    After(f64),
    /// At random, the sooner the longer its load takes, times this (XFetch).
    AtRandom(f64),
}

/// The first pause of refreshes behind after one has failed, and the longest, if nothing else is said.
const REFRESH_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

type Classify<E> = dyn Fn(&E) -> Failure + Send + Sync;
type LifetimeOf<K, V> = dyn Fn(&K, &V, Lifetime) -> Lifetime + Send + Sync;
type Weigh<K, V> = dyn Fn(&K, &V) -> u32 + Send + Sync;
type Chance = dyn Fn() -> u64 + Send + Sync;

/// All that a cache is told when it is built.
pub(super) struct Policy<K, V, E> {
    pub(super) usual: Lifetime,
    pub(super) jitter: f64,
    pub(super) ahead: Ahead,
    pub(super) soft_timeout: Option<Duration>,
    pub(super) wait_timeout: Option<Duration>,
    pub(super) max_flight: Duration,
    pub(super) negative: Duration,
    /// The first pause after a failure, and the longest.
    pub(super) backoff: Option<(Duration, Duration)>,
    pub(super) waiters: Option<(u32, Overflow)>,
    pub(super) detached: bool,
    pub(super) count_hits: bool,
    pub(super) classify: Option<Arc<Classify<E>>>,
    pub(super) lifetime: Option<Arc<LifetimeOf<K, V>>>,
    pub(super) weigh: Option<Arc<Weigh<K, V>>>,
    pub(super) chance: Option<Arc<Chance>>,
}

impl Lifetime {
    /// Fresh for so long. With zero a value is given to those who wait for it, and not kept.
    pub fn of(fresh: Duration) -> Self {
        Self {
            fresh: Some(fresh),
            ..Self::default()
        }
    }

    /// Fresh until it is invalidated, expired, or has to make room.
    pub fn forever() -> Self {
        Self::default()
    }

    /// So long after it was fresh, the value serves at once while it is loaded anew.
    #[must_use]
    pub fn stale_while_revalidate(self, window: Duration) -> Self {
        Self {
            stale_while_revalidate: window,
            ..self
        }
    }

    /// So long after it was fresh, the value serves if loading it anew fails.
    #[must_use]
    pub fn stale_if_error(self, window: Duration) -> Self {
        Self {
            stale_if_error: window,
            ..self
        }
    }

    /// How long the value is fresh; none if for ever.
    pub fn fresh(&self) -> Option<Duration> {
        self.fresh
    }

    pub(super) fn while_revalidate(&self) -> Duration {
        self.stale_while_revalidate
    }

    pub(super) fn if_error(&self) -> Duration {
        self.stale_if_error
    }

    /// True if the time matters.
    pub(super) fn is_timed(&self) -> bool {
        *self != Self::default()
    }

    /// True if there is no moment at which the value serves.
    pub(super) fn is_over(&self) -> bool {
        self.fresh == Some(Duration::ZERO)
            && self.stale_while_revalidate.is_zero()
            && self.stale_if_error.is_zero()
    }

    /// The times of what is stored now and fresh for `part` of its time.
    pub(super) fn times(&self, now: Time, part: f64) -> Times {
        let fresh = self.fresh.map(|fresh| match part < 1.0 {
            true => fresh.mul_f64(part.max(0.0)),
            false => fresh,
        });
        Times {
            at: now,
            fresh_until: fresh.map_or(NEVER, |fresh| now.saturating_add(nanos(fresh))),
            stale_for: nanos(self.stale_while_revalidate),
            error_for: nanos(self.stale_if_error),
        }
    }
}

impl Ahead {
    /// Until when what is fresh is certainly not to be loaded anew.
    pub(super) fn calm_until(self, times: &Times, took: u32) -> Time {
        let life = times.fresh_until.saturating_sub(times.at);
        let calm = match self {
            _ if times.fresh_until == NEVER => NEVER,
            Self::Never => times.fresh_until,
            Self::After(part) => times.at.saturating_add((life as f64 * part) as Time),
            Self::AtRandom(beta) => {
                let most = (gap(beta, life as f64, took) * MOST) as Time;
                let earliest = times.at.saturating_add(life / 2);
                times.fresh_until.saturating_sub(most).max(earliest)
            }
        };
        calm.min(times.fresh_until)
    }

    /// True if what is fresh is to be loaded anew already. `took` is how many microseconds its load took.
    #[inline]
    pub(super) fn is_due(
        self,
        times: &Times,
        took: u32,
        now: Time,
        chance: impl FnOnce() -> u64,
    ) -> bool {
        match self {
            Self::Never => false,
            _ if times.fresh_until == NEVER => false,
            Self::After(part) => {
                let life = times.fresh_until.saturating_sub(times.at);
                now.saturating_sub(times.at) as f64 >= life as f64 * part
            }
            Self::AtRandom(beta) => at_random(beta, times, took, now, chance),
        }
    }
}

/// XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, VLDB 2015): due if
/// `now - took * beta * ln(random) >= expiry`.
fn at_random(beta: f64, times: &Times, took: u32, now: Time, chance: impl FnOnce() -> u64) -> bool {
    let life = times.fresh_until.saturating_sub(times.at) as f64;
    let left = times.fresh_until.saturating_sub(now) as f64;
    let gap = gap(beta, life, took);
    // Nothing is due in the first half of its life.
    if left > gap * MOST || left > life / 2.0 {
        return false;
    }
    // In (0, 1]: its logarithm is a number.
    let random = ((chance() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    gap * -random.ln() >= left
}

/// How much before its expiry a value is due, but for chance. What took no time, or longer than the value lives, says nothing: it
/// would be due never, or always.
fn gap(beta: f64, life: f64, took: u32) -> f64 {
    beta * (f64::from(took) * 1e3).clamp(life / 1e3, life / 4.0)
}

/// No number of 53 bits has a larger logarithm.
const MOST: f64 = 37.0;

impl<K, V, E> Policy<K, V, E> {
    /// What a failure means.
    pub(super) fn class_of(&self, error: &Error<E>) -> Failure {
        match error.work() {
            Some(error) => self
                .classify
                .as_ref()
                .map_or(Failure::Transient, |classify| classify(error)),
            None if error.is_absent() => Failure::NotFound,
            // A mistake of the program: no waiting heals it.
            None if error.is_reentrant() => Failure::Permanent,
            None => Failure::Transient,
        }
    }

    pub(super) fn lifetime_of(&self, key: &K, value: &V) -> Lifetime {
        let own = self.lifetime.as_ref();
        own.map_or(self.usual, |own| own(key, value, self.usual))
    }

    /// At least one: what weighs nothing would never have to make room.
    pub(super) fn weight_of(&self, key: &K, value: &V) -> u32 {
        let weigh = self.weigh.as_ref();
        weigh.map_or(1, |weigh| weigh(key, value).max(1))
    }

    /// How long it is not tried again after so many failures, of which the last was one of a refresh `behind` or of a load that
    /// somebody waited for; and whether nobody is to try. None if that was not said.
    pub(super) fn pause(&self, failures: u32, behind: bool) -> Option<(Time, bool)> {
        let said = self.backoff.map(|pause| (pause, true));
        let ((first, longest), for_all) =
            said.or_else(|| behind.then_some((REFRESH_PAUSE, false)))?;
        let doubled = nanos(first).saturating_mul(1 << failures.saturating_sub(1).min(62));
        Some((doubled.min(nanos(longest)), for_all))
    }

    /// True if one of its options needs something that runs behind; it is named.
    pub(super) fn needs_spawner(&self) -> Option<&'static str> {
        let options = [
            (self.detached, "`detached`"),
            (self.soft_timeout.is_some(), "`soft_timeout`"),
        ];
        options.iter().find(|(is_set, _)| *is_set).map(|it| it.1)
    }

    /// True if one of its options measures time; it is named.
    pub(super) fn needs_clock(&self) -> Option<&'static str> {
        let options = [
            (
                self.usual.is_timed(),
                "a lifetime (`ttl`, `stale_while_revalidate`, `stale_if_error`)",
            ),
            (
                self.lifetime.is_some(),
                "a lifetime that the value decides (`lifetime`)",
            ),
            (self.soft_timeout.is_some(), "`soft_timeout`"),
            (self.wait_timeout.is_some(), "`wait_timeout`"),
            (!self.negative.is_zero(), "`negative_ttl`"),
            (self.backoff.is_some(), "`error_backoff`"),
        ];
        options.iter().find(|(is_set, _)| *is_set).map(|it| it.1)
    }
}

impl<K, V, E> fmt::Debug for Policy<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("usual", &self.usual)
            .field("jitter", &self.jitter)
            .field("ahead", &self.ahead)
            .field("soft_timeout", &self.soft_timeout)
            .field("wait_timeout", &self.wait_timeout)
            .field("max_flight", &self.max_flight)
            .field("negative", &self.negative)
            .field("backoff", &self.backoff)
            .field("waiters", &self.waiters)
            .finish_non_exhaustive()
    }
}

/// Whole nanoseconds; what is more than five hundred years is for ever.
pub(super) fn nanos(time: Duration) -> Time {
    let whole = time.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(time.subsec_nanos().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = 1_000_000_000;

    fn times() -> Times {
        Lifetime::of(Duration::from_secs(60)).times(0, 1.0)
    }

    /// A number of which `part` is the share of all that are smaller.
    fn chance(part: f64) -> u64 {
        (part * u64::MAX as f64) as u64
    }

    #[test]
    fn a_fraction_is_a_moment() {
        let due = |now| Ahead::After(0.8).is_due(&times(), 0, now, || 0);
        assert_eq!((due(48 * SECOND - 1), due(48 * SECOND)), (false, true));
        let forever = Lifetime::forever().times(0, 1.0);
        assert!(!Ahead::After(0.0).is_due(&forever, 0, 48 * SECOND, || 0));
    }

    #[test]
    fn at_random_it_is_due_with_the_chance_of_the_paper() {
        // 5 s before expiry, with a load of 5 s: due if -ln(u) >= 1, so for u <= 1/e.
        let due =
            |part| Ahead::AtRandom(1.0).is_due(&times(), 5_000_000, 55 * SECOND, || chance(part));
        assert_eq!((due(0.36), due(0.37)), (true, false));
    }

    #[test]
    fn b15_no_delta_and_no_chance_makes_it_due_always_never_or_nonsense() {
        let at = |took, now, number| Ahead::AtRandom(1.0).is_due(&times(), took, now, || number);
        for number in [0, 1, u64::MAX] {
            for took in [0, 1, 60_000_000, u32::MAX] {
                assert!(!at(took, 0, number), "due in the first half of its life");
                assert!(!at(took, 30 * SECOND - 1, number));
            }
        }
        assert!(at(0, 60 * SECOND - 1, 0), "no delta still has its chance");
        assert!(at(u32::MAX, 31 * SECOND, chance(0.1)));
        assert!(
            !at(u32::MAX, 31 * SECOND, u64::MAX),
            "and is not due always"
        );
        for beta in [0.0, f64::MIN_POSITIVE, 1e9] {
            let due = |now| Ahead::AtRandom(beta).is_due(&times(), 5, now, || 0);
            assert!(!due(SECOND), "beta {beta}");
        }
        let none = Lifetime::of(Duration::ZERO).times(7, 1.0);
        assert!(Ahead::AtRandom(1.0).is_due(&none, 0, 7, || u64::MAX));
    }

    #[test]
    fn as_long_as_it_is_calm_nothing_is_due() {
        for ahead in [Ahead::Never, Ahead::After(0.3), Ahead::AtRandom(1.0)] {
            for took in [0, 1_000, 500_000, u32::MAX] {
                let calm = ahead.calm_until(&times(), took);
                assert!(calm <= times().fresh_until);
                assert!(!ahead.is_due(&times(), took, calm - 1, || 0), "{ahead:?}");
            }
        }
        assert_eq!(Ahead::After(0.5).calm_until(&times(), 0), 30 * SECOND);
        let forever = Lifetime::forever().times(0, 1.0);
        assert_eq!(Ahead::AtRandom(1.0).calm_until(&forever, 9), NEVER);
    }

    #[test]
    fn jitter_shortens_and_never_lengthens() {
        let life = Lifetime::of(Duration::from_secs(10));
        let until = |part| life.times(5, part).fresh_until;
        assert_eq!(until(1.0), 5 + 10 * SECOND);
        assert_eq!(until(2.0), 5 + 10 * SECOND);
        assert_eq!(until(0.5), 5 + 5 * SECOND);
        assert_eq!(until(-1.0), 5);
    }

    #[test]
    fn what_is_beyond_counting_is_for_ever() {
        let life = Lifetime::of(Duration::MAX).stale_if_error(Duration::MAX);
        let times = life.times(5, 1.0);
        assert_eq!((times.fresh_until, times.error_for), (NEVER, NEVER));
    }
}
