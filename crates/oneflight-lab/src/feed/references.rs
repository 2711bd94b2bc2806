//! References: who is meant, again and again.

use super::random::{Keys, scrambled};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// In which order a feed names its things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Order {
    /// In none.
    #[default]
    Shuffled,
    /// All mentions of one thing side by side, as in most real feeds.
    Clustered,
}

impl Order {
    /// `shuffled` or `clustered`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffled => "shuffled",
            Self::Clustered => "clustered",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Shuffled, Self::Clustered]
            .into_iter()
            .find(|order| order.name() == text)
            .ok_or_else(|| format!("`{text}` is no order: shuffled or clustered"))
    }
}

/// What a feed of references looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many references there are.
    pub references: u32,
    /// To how many things; no more than there are references.
    pub keys: u32,
    /// In which order.
    pub order: Order,
    /// Another seed, another feed of the same shape.
    pub seed: u64,
}

/// Generated references.
///
/// # Examples
/// ```
/// use oneflight_lab::feed::{Order, References, Shape};
///
/// let shape = Shape { references: 1_000, keys: 100, order: Order::Clustered, seed: 1 };
/// let feed = References::generate(shape);
/// assert_eq!((feed.len(), feed.distinct(1_000)), (1_000, 100));
/// assert!(feed.iter().eq(References::generate(shape).iter())); // the same seed, the same feed
/// ```
#[derive(Clone, Debug)]
pub struct References {
    shape: Shape,
    keys: Vec<u32>,
}

impl References {
    /// The feed of this shape.
    #[must_use]
    pub fn generate(shape: Shape) -> Self {
        let mut keys = Keys::new(shape.keys, shape.seed).draw(shape.references as usize);
        if shape.order == Order::Clustered {
            keys.sort_unstable();
        }
        Self { shape, keys }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many references there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The references in the order of the feed: the number of the thing that is meant.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.keys.iter().copied()
    }

    /// How many things the first `references` mean.
    #[must_use]
    pub fn distinct(&self, references: usize) -> usize {
        let mut keys = self.keys[..references.min(self.keys.len())].to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }

    /// The id that the feed gives a thing.
    #[must_use]
    pub fn external_id(key: u32) -> String {
        format!("{:08}", scrambled(key))
    }

    /// The name of a thing, in the form of a slug.
    #[must_use]
    pub fn slug(key: u32) -> String {
        format!("player-{:08}", scrambled(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn feed(order: Order, seed: u64) -> References {
        References::generate(Shape {
            references: 20_000,
            keys: 2_000,
            order,
            seed,
        })
    }

    #[test]
    fn every_thing_is_meant_and_the_first_far_more_often_than_most() {
        let feed = feed(Order::Shuffled, 7);
        let mut times = vec![0_u32; 2_000];
        for key in feed.iter() {
            times[key as usize] += 1;
        }
        times.sort_unstable();
        assert_eq!(feed.len(), 20_000);
        assert!(times[0] >= 1);
        // 18,000 drawn by Zipf's law over 2,000 ranks: the first has 1 / 8.18 of them.
        assert!((2_000..2_500).contains(&times[1_999]), "{}", times[1_999]);
        assert!((900..1_300).contains(&times[1_998]), "{}", times[1_998]);
    }

    #[test]
    fn a_clustered_feed_names_each_thing_in_one_stretch() {
        let clustered = feed(Order::Clustered, 7);
        let keys: Vec<u32> = clustered.iter().collect();
        let stretches = 1 + keys.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(stretches, 2_000);
        let mut shuffled: Vec<u32> = feed(Order::Shuffled, 7).iter().collect();
        shuffled.sort_unstable();
        assert_eq!(shuffled, keys, "the same references, in another order");
    }

    #[test]
    fn another_seed_is_another_feed() {
        assert!(
            !feed(Order::Shuffled, 7)
                .iter()
                .eq(feed(Order::Shuffled, 8).iter())
        );
    }

    #[test]
    fn no_two_things_share_a_name_or_an_id() {
        let names: HashSet<String> = (0..50_000).map(References::slug).collect();
        let ids: HashSet<String> = (0..50_000).map(References::external_id).collect();
        assert_eq!((names.len(), ids.len()), (50_000, 50_000));
    }
}
