//! The ways to get the price.

use super::TTL;
use super::source::{Down, Price, Source};
use oneflight::Tokio;
use oneflight::cache::{Builder, Cache};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Where all chance begins (P1).
const SEED: u64 = 2015;
/// So long a stale price may be shown while it is got anew.
const REVALIDATE: Duration = Duration::from_secs(30);
/// So long a stale price may be shown if it cannot be got.
const ON_ERROR: Duration = Duration::from_secs(3600);
/// How long the source is left alone after a failure, and at most after many.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// The part of its life after which a price is got anew.
const AHEAD: f64 = 0.8;

/// A way to get the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Way {
    Nothing,
    PlainTtl,
    PlainXFetch,
    Flight,
    Revalidate,
    Ahead,
    XFetch,
    OnError,
    BackOff,
    All,
}

/// What a visitor waits for.
type Shown = Pin<Box<dyn Future<Output = Result<Price, Down>> + Send>>;

/// A page that shows the price.
pub(super) trait Page: Send + Sync {
    fn show(self: Arc<Self>) -> Shown;
}

impl Way {
    /// Those that are looked at while the source answers.
    pub(super) const UP: [Self; 8] = [
        Self::Nothing,
        Self::PlainTtl,
        Self::PlainXFetch,
        Self::Flight,
        Self::Revalidate,
        Self::Ahead,
        Self::XFetch,
        Self::All,
    ];
    /// Those that are looked at with the source down for a while.
    pub(super) const DOWN: [Self; 5] = [
        Self::PlainTtl,
        Self::Flight,
        Self::OnError,
        Self::BackOff,
        Self::All,
    ];

    /// As tables name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::PlainTtl => "a plain cache: look, load, store",
            Self::PlainXFetch => "XFetch alone",
            Self::Flight => "`ttl`: a flight",
            Self::Revalidate => "and `stale_while_revalidate`",
            Self::Ahead => "and `refresh_ahead(0.8)`",
            Self::XFetch => "and `refresh_ahead_at_random(1.0)`: XFetch",
            Self::OnError => "and `stale_if_error`",
            Self::BackOff => "and `stale_if_error`, `error_backoff`",
            Self::All => "and `refresh_ahead`, both windows, `error_backoff`",
        }
    }

    pub(super) fn page(self, source: Arc<Source>) -> Arc<dyn Page> {
        let cache = |options: fn(Kept) -> Kept| -> Arc<dyn Page> {
            let random = Mutex::new(SmallRng::seed_from_u64(SEED));
            let cache = Cache::builder(100)
                .clock(Tokio)
                .spawner(Tokio)
                .chance(move || locked(&random).next_u64())
                .ttl(TTL);
            let cache = options(cache).build();
            Arc::new(Cached {
                source: Arc::clone(&source),
                cache,
            })
        };
        let plain = |beta| -> Arc<dyn Page> {
            Arc::new(Plain {
                source: Arc::clone(&source),
                kept: Mutex::new(None),
                beta,
                random: Mutex::new(SmallRng::seed_from_u64(SEED)),
            })
        };
        match self {
            Self::Nothing => Arc::new(Nothing(source)),
            Self::PlainTtl => plain(None),
            Self::PlainXFetch => plain(Some(1.0)),
            Self::Flight => cache(|it| it),
            Self::Revalidate => cache(|it| it.stale_while_revalidate(REVALIDATE)),
            Self::Ahead => cache(|it| it.refresh_ahead(AHEAD)),
            Self::XFetch => cache(|it| it.refresh_ahead_at_random(1.0)),
            Self::OnError => cache(|it| it.stale_if_error(ON_ERROR)),
            Self::BackOff => cache(|it| {
                it.stale_if_error(ON_ERROR)
                    .error_backoff(BACKOFF.0, BACKOFF.1)
            }),
            Self::All => cache(|it| {
                it.refresh_ahead(AHEAD)
                    .stale_while_revalidate(ON_ERROR)
                    .stale_if_error(ON_ERROR)
                    .error_backoff(BACKOFF.0, BACKOFF.1)
            }),
        }
    }
}

type Kept = Builder<u64, Price, Down>;

/// Every visitor asks the source.
struct Nothing(Arc<Source>);

impl Page for Nothing {
    fn show(self: Arc<Self>) -> Shown {
        Box::pin(Arc::clone(&self.0).price())
    }
}

/// What people write first: a place for the price, and the time at which it expires. With `beta` it is got anew before that, at
/// random, as XFetch says; whoever is chosen gets it.
struct Plain {
    source: Arc<Source>,
    kept: Mutex<Option<Entry>>,
    beta: Option<f64>,
    random: Mutex<SmallRng>,
}

#[derive(Clone, Copy)]
struct Entry {
    price: Price,
    /// How long it took to get.
    took: Duration,
    until: Instant,
}

impl Page for Plain {
    fn show(self: Arc<Self>) -> Shown {
        Box::pin(async move {
            if let Some(price) = self.fresh() {
                return Ok(price);
            }
            let began = Instant::now();
            let price = Arc::clone(&self.source).price().await?;
            *locked(&self.kept) = Some(Entry {
                price,
                took: began.elapsed(),
                until: Instant::now() + TTL,
            });
            Ok(price)
        })
    }
}

impl Plain {
    fn fresh(&self) -> Option<Price> {
        let entry = (*locked(&self.kept))?;
        let ahead = self.beta.map_or(Duration::ZERO, |beta| {
            // In (0, 1]: its logarithm is a number.
            let random = 1.0 - locked(&self.random).random::<f64>();
            entry.took.mul_f64(beta * -random.ln())
        });
        (Instant::now() + ahead < entry.until).then_some(entry.price)
    }
}

/// This crate's cache.
struct Cached {
    source: Arc<Source>,
    cache: Cache<u64, Price, Down>,
}

impl Page for Cached {
    fn show(self: Arc<Self>) -> Shown {
        Box::pin(async move {
            let source = Arc::clone(&self.source);
            let price = self.cache.get_or_load(&1, || source.price()).await;
            price.map_err(|_| Down)
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::super::{PACE, SLOW, Sums};
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn play(way: Way, down: bool) -> Sums {
        let scene = Scene {
            length: 10 * MINUTE,
            down: down.then(|| 3 * MINUTE..7 * MINUTE),
        };
        scene.play(way).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Visits while one load runs: the "160 identical calls".
    fn burst() -> u64 {
        (SLOW.as_nanos() / PACE.as_nanos()) as u64
    }

    #[test]
    fn without_care_all_who_come_while_a_price_is_got_get_it_too() {
        let sums = play(Way::PlainTtl, false);
        assert_eq!(sums.calls.all, sums.calls.bursts * burst());
        assert_eq!(play(Way::Nothing, false).calls.all, sums.visits);
    }

    #[test]
    fn a_flight_is_one_call_an_expiry_and_xfetch_alone_is_several() {
        for way in [Way::Flight, Way::Revalidate, Way::Ahead, Way::XFetch] {
            let sums = play(way, false);
            assert_eq!(sums.calls.all, sums.calls.bursts, "{way:?}");
            assert_eq!(sums.calls.at_once, 1, "{way:?}");
            let longest = if way == Way::Flight { 800 } else { 0 };
            assert_eq!(sums.waits[2], longest, "{way:?}");
        }
        assert!(play(Way::PlainXFetch, false).calls_a_burst() > 1.5);
    }

    #[test]
    fn while_the_source_is_down_a_stale_price_is_shown_and_no_error() {
        assert!(play(Way::Flight, true).errors > 0);
        for way in [Way::OnError, Way::BackOff, Way::All] {
            assert_eq!(play(way, true).errors, 0, "{way:?}");
        }
        let [tries, few] = [Way::OnError, Way::BackOff].map(|way| play(way, true).calls.all);
        assert!(few * 4 < tries, "{few} of {tries} calls");
    }

    #[test]
    fn an_hour_comes_to_the_same_every_time() {
        for way in [Way::PlainXFetch, Way::XFetch, Way::All] {
            assert_eq!(play(way, true), play(way, true), "{way:?}");
        }
    }
}
