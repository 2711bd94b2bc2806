//! What happens, and for how long.

use super::ledger::{Ledger, Sums};
use super::source::{Down, Source};
use super::way::{Page, Way};
use super::{PACE, SLOW};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

const MINUTE: Duration = Duration::from_secs(60);

/// What happens, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) length: Duration,
    /// When the source is down.
    pub(super) down: Option<Range<Duration>>,
}

impl Scene {
    /// An hour; the source may be down from minute 20 to minute 30.
    pub(super) fn hour(down: bool) -> Self {
        Self {
            length: 60 * MINUTE,
            down: down.then(|| 20 * MINUTE..30 * MINUTE),
        }
    }

    /// Plays it on a clock of its own (P1).
    pub(super) fn play(&self, way: Way) -> Result<Sums, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(self.visits(way))
    }

    async fn visits(&self, way: Way) -> Result<Sums, String> {
        let source = Arc::new(Source::new(SLOW, self.down.clone()));
        let page: Arc<dyn Page> = way.page(Arc::clone(&source));
        // The hour begins with a price that has just been got.
        page.clone()
            .show()
            .await
            .map_err(|Down| "the source is down from the start")?;
        let before = source.calls();
        let ledger = Arc::new(Ledger::default());
        let start = Instant::now();
        let visits = self.length.as_nanos() / PACE.as_nanos();
        for visit in 0..u32::try_from(visits).map_err(|error| error.to_string())? {
            sleep_until(start + PACE * visit).await;
            let (page, ledger) = (Arc::clone(&page), Arc::clone(&ledger));
            tokio::spawn(async move {
                let began = Instant::now();
                let got = page.show().await;
                ledger.note(began.elapsed(), got.map(|price| price.at.elapsed()));
            });
        }
        // The last visits are still waiting.
        sleep_until(start + self.length + 2 * SLOW).await;
        let sums = ledger.sums(source.calls().since(before));
        if sums.visits as u128 == visits {
            return Ok(sums);
        }
        Err(format!(
            "{}: {} of {visits} visits have ended",
            way.name(),
            sums.visits
        ))
    }
}
