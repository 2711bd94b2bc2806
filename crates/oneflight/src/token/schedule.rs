//! When a token is renewed. Pure: times in, times out.
//!
//! ```text
//!   issued ───────────── Fresh ───────────── due ── Due ── edge ── Edge ── end ── Over ──▶
//!                        used                used, renewed   waited for; used if that fails
//! ```
//!
//! A token is due `before` its end, and at its edge `skew` before it. Both are clamped to a part of its life, so that one which lives
//! for seconds is not due at once, and both are drawn out by up to a half, so that many processes do not come at the same moment.

use std::time::{Duration, Instant};

/// Of the life, the part that being due may begin before the end, at most; and the part that the edge may.
const DUE_PART: u32 = 4;
const EDGE_PART: u32 = 10;

/// How far ahead of its end a token is renewed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// In the background.
    pub(super) before: Duration,
    /// While callers wait: what it takes a request to get to the server that checks it, and its clock to disagree with ours.
    pub(super) skew: Duration,
}

/// The times of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    due: Instant,
    edge: Instant,
    end: Instant,
}

/// The age of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Fresh,
    Due,
    Edge,
    Over,
}

impl Ahead {
    /// The times of a token that, at `now`, has so much `left` of its `life`. None if its end is later than time can tell.
    ///
    /// `jitter`, from 0 to 1, is how much of the half the times are drawn out by.
    pub(super) fn times(
        &self,
        now: Instant,
        left: Duration,
        life: Duration,
        jitter: f64,
    ) -> Option<Times> {
        let end = now.checked_add(left)?;
        let drawn = |time: Duration| time + time.mul_f64(jitter.clamp(0.0, 1.0) / 2.0);
        let back = |time: Duration| end.checked_sub(time).unwrap_or(now);
        Some(Times {
            due: back(drawn(self.before.min(life / DUE_PART))),
            edge: back(drawn(self.skew.min(life / EDGE_PART))),
            end,
        })
    }
}

impl Times {
    pub(super) fn stage(&self, now: Instant) -> Stage {
        match now {
            now if now >= self.end => Stage::Over,
            now if now >= self.edge => Stage::Edge,
            now if now >= self.due => Stage::Due,
            _ => Stage::Fresh,
        }
    }
}

/// The longest that a server is left in peace, whatever it asks: by mistake it may ask for ever.
const LONGEST_WISH: Duration = Duration::from_secs(60 * 60);

/// How long to wait after so many failures in a row: from a second, doubled, up to a minute, drawn out by up to a half; the server's
/// own wish if that is longer, but for no more than an hour.
pub(super) fn pause(failures: u32, wish: Option<Duration>, jitter: f64) -> Duration {
    let steps = failures.saturating_sub(1).min(6);
    let pause = Duration::from_secs(1 << steps).min(Duration::from_secs(60));
    let drawn = pause + pause.mul_f64(jitter.clamp(0.0, 1.0) / 2.0);
    wish.map_or(drawn, |wish| wish.min(LONGEST_WISH).max(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Ahead = Ahead {
        before: Duration::from_secs(300),
        skew: Duration::from_secs(10),
    };

    /// So many seconds after the start that it is due, at its edge and over.
    fn table(ahead: Ahead, life: u64, jitter: f64) -> [f64; 3] {
        let start = Instant::now();
        let life = Duration::from_secs(life);
        let times = ahead.times(start, life, life, jitter).unwrap();
        [times.due, times.edge, times.end].map(|at| (at - start).as_secs_f64())
    }

    #[test]
    fn e10_how_far_ahead_is_clamped_to_a_part_of_the_life() {
        assert_eq!(table(AHEAD, 3600, 0.0), [3300.0, 3590.0, 3600.0]);
        assert_eq!(table(AHEAD, 1200, 0.0), [900.0, 1190.0, 1200.0]);
        assert_eq!(table(AHEAD, 60, 0.0), [45.0, 54.0, 60.0]);
        assert_eq!(table(AHEAD, 1, 0.0), [0.75, 0.9, 1.0]);
        assert_eq!(table(AHEAD, 0, 1.0), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn e11_times_are_drawn_out_by_up_to_a_half_and_never_past_the_start() {
        assert_eq!(table(AHEAD, 3600, 1.0), [3150.0, 3585.0, 3600.0]);
        assert_eq!(table(AHEAD, 60, 1.0), [37.5, 51.0, 60.0]);
        assert_eq!(table(AHEAD, 60, 7.0), [37.5, 51.0, 60.0]);
    }

    #[test]
    fn a_stage_begins_at_its_time() {
        let start = Instant::now();
        let life = Duration::from_secs(100);
        let times = AHEAD.times(start, life, life, 0.0).unwrap();
        let stage = |seconds| times.stage(start + Duration::from_secs(seconds));
        assert_eq!([0, 74].map(stage), [Stage::Fresh; 2]);
        assert_eq!([75, 89].map(stage), [Stage::Due; 2]);
        assert_eq!([90, 99].map(stage), [Stage::Edge; 2]);
        assert_eq!([100, 1000].map(stage), [Stage::Over; 2]);
    }

    #[test]
    fn a_token_that_comes_late_in_its_life_has_its_own_times() {
        let now = Instant::now();
        let (left, life) = (Duration::from_secs(100), Duration::from_secs(3600));
        let times = AHEAD.times(now, left, life, 0.0).unwrap();
        assert_eq!(times.stage(now), Stage::Due);
        assert_eq!(times.stage(now + Duration::from_secs(90)), Stage::Edge);
    }

    #[test]
    fn a_life_longer_than_time_never_ends() {
        let now = Instant::now();
        assert_eq!(AHEAD.times(now, Duration::MAX, Duration::MAX, 0.5), None);
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_heed_the_server() {
        let seconds = |failures| pause(failures, None, 0.0).as_secs();
        assert_eq!([1, 2, 3, 6, 7, 99].map(seconds), [1, 2, 4, 32, 60, 60]);
        assert_eq!(pause(1, None, 1.0), Duration::from_millis(1500));
        let wish = Some(Duration::from_secs(120));
        assert_eq!(pause(1, wish, 0.0), Duration::from_secs(120));
        assert_eq!(pause(2, Some(Duration::ZERO), 0.0), Duration::from_secs(2));
        assert_eq!(
            pause(1, Some(Duration::MAX), 0.0),
            Duration::from_secs(3600)
        );
    }
}
