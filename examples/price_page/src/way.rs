//! The ways to get a price: six, from none at all to all that the cache has.

use crate::Scene;
use crate::pricing::{Down, Fails, Price, Pricing};
use oneflight::Tokio;
use oneflight::cache::{Builder, Cache};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A way to get a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Nothing,
    PlainCache,
    Flight,
    Ahead,
    FailingFlight,
    FailingStale,
}

/// The part of its life after which a price is got anew, ahead of its end.
pub(crate) const AHEAD: f64 = 0.5;

impl Way {
    pub(crate) const ALL: [Self; 6] = [
        Self::Nothing,
        Self::PlainCache,
        Self::Flight,
        Self::Ahead,
        Self::FailingFlight,
        Self::FailingStale,
    ];

    /// As the table names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::PlainCache => "a plain cache with a ttl",
            Self::Flight => "a cache with flights",
            Self::Ahead => "… and refresh ahead",
            Self::FailingFlight => "source down: flights alone",
            Self::FailingStale => "source down: stale on error",
        }
    }

    /// When the source fails.
    pub(crate) fn fails(self) -> Fails {
        match self {
            Self::FailingFlight | Self::FailingStale => Fails::AfterOne,
            _ => Fails::Never,
        }
    }

    /// Where the page gets its prices.
    pub(crate) fn prices(self, scene: &Scene, pricing: Arc<Pricing>) -> Prices {
        let kept = |options: fn(Options) -> Options| {
            let cache = Cache::builder(10_000)
                .clock(Tokio)
                .spawner(Tokio)
                .ttl(scene.ttl);
            Kept::Cache(options(cache).build())
        };
        let kept = match self {
            Self::Nothing => Kept::Nothing,
            Self::PlainCache => Kept::Plain(scene.ttl, Mutex::default()),
            Self::Flight | Self::FailingFlight => kept(|cache| cache),
            Self::Ahead => kept(|cache| cache.refresh_ahead(AHEAD)),
            Self::FailingStale => kept(|cache| {
                cache
                    .stale_while_revalidate(Duration::from_secs(60))
                    .stale_if_error(Duration::from_secs(3600))
                    .error_backoff(Duration::from_millis(500), Duration::from_secs(30))
            }),
        };
        Prices { pricing, kept }
    }
}

type Options = Builder<String, Price, Down>;

/// Where the page gets its prices.
#[derive(Debug)]
pub(crate) struct Prices {
    pricing: Arc<Pricing>,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Nothing,
    Plain(Duration, Mutex<HashMap<String, (Price, Instant)>>),
    Cache(Cache<String, Price, Down>),
}

/// A price, and whether it is older than it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) price: Price,
    pub(crate) stale: bool,
}

impl Prices {
    pub(crate) async fn of(&self, product: &str) -> Result<Shown, Down> {
        let pricing = Arc::clone(&self.pricing);
        let fetch = || pricing.price(product.to_owned());
        let fresh = |price| Shown {
            price,
            stale: false,
        };
        match &self.kept {
            Kept::Nothing => fetch().await.map(fresh),
            Kept::Plain(ttl, prices) => {
                let kept = locked(prices).get(product).copied();
                match kept {
                    Some((price, at)) if at.elapsed() < *ttl => Ok(fresh(price)),
                    _ => {
                        let price = fetch().await?;
                        locked(prices).insert(product.to_owned(), (price, Instant::now()));
                        Ok(fresh(price))
                    }
                }
            }
            Kept::Cache(cache) => {
                let got = cache.get_or_load(product, fetch).outcome().await;
                let got = got.map_err(|_| Down)?;
                Ok(Shown {
                    price: got.value,
                    stale: got.source.is_stale(),
                })
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
