//! What the feeds draw from: one seed, Zipf's law, numbers that look like ids.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

/// Draws keys: every one first, in no order, then by Zipf's law.
pub(super) struct Keys {
    random: StdRng,
    /// The sum of 1, 1/2, 1/3, … up to each rank.
    sums: Vec<f64>,
    /// Which key has which rank.
    ranked: Vec<u32>,
}

impl Keys {
    pub(super) fn new(keys: u32, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut sum = 0.0;
        let sums = (1..=keys.max(1)).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        let sums = sums.collect();
        let mut ranked: Vec<u32> = (0..keys.max(1)).collect();
        ranked.shuffle(&mut random);
        Self {
            random,
            sums,
            ranked,
        }
    }

    /// `n` keys: each of them once if there is room (D1), then by Zipf's law (D2), shuffled.
    pub(super) fn draw(&mut self, n: usize) -> Vec<u32> {
        let all = self.ranked.len().min(n);
        let mut drawn = self.ranked[..all].to_vec();
        while drawn.len() < n {
            drawn.push(self.next());
        }
        drawn.shuffle(&mut self.random);
        drawn
    }

    fn next(&mut self) -> u32 {
        let sum = self.sums.last().copied().unwrap_or(1.0);
        let at = self.random.random::<f64>() * sum;
        let rank = self.sums.partition_point(|&to| to < at);
        self.ranked[rank.min(self.ranked.len() - 1)]
    }
}

/// A number of eight digits that no two keys below a hundred million share, and that says nothing about their order (D3).
pub(super) fn scrambled(key: u32) -> u64 {
    // A prime, and a factor that it does not divide: multiplying permutes the remainders.
    u64::from(key) * 2_654_435_761 % 100_000_007
}
