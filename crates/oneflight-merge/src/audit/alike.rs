//! Keys that look alike: pairs that a person should look at. Hints, never findings.
//!
//!   "São Bento" ─▶ plain "sao bento" ─┬─ same plain form, other text          Accents
//!                                     ├─ same words in another order          Words
//!                                     └─ same after leaving out one letter    Letter
//!
//! L1. Never every text against every other: texts are sorted by what they have in common, and only neighbours are compared.
//! L2. Texts whose numbers differ are never alike: `737-300` and `737-400` are two things.
//! L3. Leaving out one letter of each finds a letter that is missing, added, changed, moved, or swapped with its neighbour: all
//!     pairs at an edit distance of 1, and those at a distance of 2 that are slips of one letter.

use super::report::{Alike, Why};
use foldhash::fast::FixedState;
use std::collections::HashSet;
use std::hash::BuildHasher as _;
use unicode_normalization::UnicodeNormalization as _;

/// Texts of one table that are compared, at most; the rest is left out, and the report says so.
pub(super) const MAX_TEXTS: usize = 500_000;
/// Pairs that are kept for the report, at most; all are counted.
pub(super) const MAX_PAIRS: usize = 100;
/// So many texts that differ by one letter are a pattern (`Group A` to `Group Z`), not slips.
const PATTERN: usize = 12;
/// Shorter texts that differ by a letter are usually two things.
const SHORTEST: usize = 5;
/// Shorter words that differ by a letter are usually two things, and a text of any number of words holds them.
const SHORTEST_WORD: usize = 4;
/// Longer texts are not compared letter by letter.
const LONGEST: usize = 200;

/// Texts that are collected, each with the rest of its key.
#[derive(Debug, Default)]
pub(super) struct Texts {
    texts: Vec<Text>,
    cut: bool,
}

#[derive(Debug)]
struct Text {
    /// What the other parts of the key are: only texts with the same are compared.
    scope: u64,
    shown: Box<str>,
    /// Small letters and digits without accents, words separated by one space.
    plain: Box<str>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// How many pairs.
    pub(super) count: u64,
    /// The first of them.
    pub(super) pairs: Vec<Alike>,
    /// True if there were more than [`MAX_TEXTS`] texts.
    pub(super) cut: bool,
}

impl Texts {
    /// Adds a text; `scope` stands for the other parts of its key.
    pub(super) fn add(&mut self, scope: u64, shown: &str) {
        if self.texts.len() >= MAX_TEXTS {
            self.cut = true;
            return;
        }
        let plain = plain(shown);
        if plain.chars().count() >= 3 {
            self.texts.push(Text {
                scope,
                shown: shown.into(),
                plain: plain.into(),
            });
        }
    }

    /// Finds the pairs.
    pub(super) fn pairs(mut self) -> Found {
        // In the order of the texts, so that the same table always gives the same report.
        self.texts.sort_unstable_by(|a, b| {
            (&a.plain, &a.shown, a.scope).cmp(&(&b.plain, &b.shown, b.scope))
        });
        let mut finder = Finder {
            texts: &self.texts,
            seen: HashSet::new(),
            pairs: Vec::new(),
        };
        finder.same(Why::Accents, |text| text.plain.to_string());
        finder.same(Why::Words, |text| {
            let mut words: Vec<&str> = text.plain.split(' ').collect();
            words.sort_unstable();
            words.join(" ")
        });
        finder.slips();
        let mut pairs = finder.pairs;
        pairs.sort_unstable();
        let count = pairs.len() as u64;
        pairs.truncate(MAX_PAIRS);
        let pairs = pairs.into_iter().map(|(why, a, b)| Alike {
            one: self.texts[a as usize].shown.to_string(),
            other: self.texts[b as usize].shown.to_string(),
            why,
        });
        Found {
            count,
            pairs: pairs.collect(),
            cut: self.cut,
        }
    }
}

struct Finder<'t> {
    texts: &'t [Text],
    seen: HashSet<(u32, u32)>,
    pairs: Vec<(Why, u32, u32)>,
}

impl Finder<'_> {
    /// Texts that have the same form.
    fn same(&mut self, why: Why, form: impl Fn(&Text) -> String) {
        let texts = self.texts;
        let forms = (0u32..)
            .zip(texts)
            .map(|(at, text)| (hash(text.scope, &form(text)), at))
            .collect();
        for group in grouped(forms) {
            for pair in group.windows(2) {
                self.add(why, pair[0], pair[1]);
            }
        }
    }

    /// Texts that are the same after leaving out a letter (L3).
    fn slips(&mut self) {
        let texts = self.texts;
        let mut forms = Vec::new();
        let mut short = String::new();
        for (at, text) in (0u32..).zip(texts) {
            let chars = text.plain.chars().count();
            if !(SHORTEST..=LONGEST).contains(&chars) {
                continue;
            }
            forms.push((hash(text.scope, &text.plain), at));
            for (out, c) in text.plain.char_indices().filter(|(_, c)| !c.is_numeric()) {
                short.clear();
                short.push_str(&text.plain[..out]);
                short.push_str(&text.plain[out + c.len_utf8()..]);
                forms.push((hash(text.scope, &short), at));
            }
        }
        for mut group in grouped(forms) {
            group.dedup();
            if group.len() > PATTERN {
                continue;
            }
            for (i, &a) in group.iter().enumerate() {
                for &b in &group[i + 1..] {
                    if is_slip(&texts[a as usize].plain, &texts[b as usize].plain) {
                        self.add(Why::Letter, a, b);
                    }
                }
            }
        }
    }

    fn add(&mut self, why: Why, a: u32, b: u32) {
        let differ = self.texts[a as usize].shown != self.texts[b as usize].shown;
        if differ && self.seen.insert((a.min(b), a.max(b))) {
            self.pairs.push((why, a.min(b), a.max(b)));
        }
    }
}

/// The groups of at least two that have one hash, in the order of the texts within each.
fn grouped(mut forms: Vec<(u64, u32)>) -> Vec<Vec<u32>> {
    forms.sort_unstable();
    let groups = forms
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1);
    groups
        .map(|group| group.iter().map(|form| form.1).collect())
        .collect()
}

fn hash(scope: u64, form: &str) -> u64 {
    FixedState::default().hash_one((scope, form))
}

/// True if two texts differ by a letter within a word that is long enough, and not in a number (L2).
fn is_slip(a: &str, b: &str) -> bool {
    if a == b
        || !a
            .chars()
            .filter(|c| c.is_numeric())
            .eq(b.chars().filter(|c| c.is_numeric()))
    {
        return false;
    }
    if strsim::osa_distance(a, b) > 2 {
        return false;
    }
    let (one, other): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
    // Otherwise it is a space that is missing.
    let differ = one.len() == other.len();
    !differ
        || one
            .iter()
            .zip(&other)
            .all(|(a, b)| a == b || a.chars().count().max(b.chars().count()) >= SHORTEST_WORD)
}

/// Small letters and digits, without accents, in words.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd().flat_map(char::to_lowercase) {
        match c {
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'đ' | 'ð' => out.push('d'),
            'ı' => out.push('i'),
            c if unicode_normalization::char::is_combining_mark(c)
                || matches!(c, '\'' | '’' | '.') => {}
            c if c.is_alphanumeric() => out.push(c),
            _ if out.ends_with(' ') || out.is_empty() => {}
            _ => out.push(' '),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(texts: &[&str]) -> Vec<(String, String, Why)> {
        let mut all = Texts::default();
        for text in texts {
            all.add(0, text);
        }
        all.pairs()
            .pairs
            .into_iter()
            .map(|pair| (pair.one, pair.other, pair.why))
            .collect()
    }

    #[test]
    fn texts_that_differ_in_accents_words_or_a_letter_look_alike() {
        for (one, other, why) in [
            ("Estadio do Sol", "Estádio do Sol", Why::Accents),
            ("Gerson", "Gérson", Why::Accents),
            ("St. Johns", "St John's", Why::Accents),
            ("Lodz", "Łódź", Why::Accents),
            ("FC Sevilla", "Sevilla FC", Why::Words),
            ("Liverpool", "Liverpol", Why::Letter),
            ("Barcelona", "Bacrelona", Why::Letter),
            ("Manchester", "Manchesler", Why::Letter),
            ("New castle", "Newcastle", Why::Letter),
        ] {
            let found = pairs(&[one, other]);
            assert_eq!(found.len(), 1, "{one} / {other}: {found:?}");
            assert_eq!(found[0].2, why, "{one} / {other}");
        }
    }

    #[test]
    fn texts_that_are_two_things_do_not() {
        for two in [
            ["Boeing 737-300", "Boeing 737-400"],
            ["2010-11", "2011-12"],
            ["Iran", "Iraq"],
            ["Group A stage", "Group B stage"],
            ["Arsenal", "Everton"],
            ["!!!", "???"],
        ] {
            assert_eq!(pairs(&two), [], "{two:?}");
        }
        let alphabet: Vec<String> = ('a'..='z').map(|c| format!("Section {c}{c}{c}x")).collect();
        assert_eq!(
            pairs(&alphabet.iter().map(String::as_str).collect::<Vec<_>>()),
            []
        );
    }

    #[test]
    fn texts_under_different_keys_are_not_compared() {
        let mut all = Texts::default();
        all.add(1, "Gerson");
        all.add(2, "Gérson");
        assert_eq!(all.pairs().count, 0);
    }

    #[test]
    fn a_hundred_thousand_texts_take_no_time_to_speak_of() {
        let mut all = Texts::default();
        for n in 0..100_000_u64 {
            // Far apart from each other: each digit of the number becomes a syllable.
            let syllables = [
                "bab", "cec", "did", "fof", "gug", "kyk", "lol", "mim", "nun", "pep",
            ];
            let word: String = n
                .to_string()
                .bytes()
                .map(|digit| syllables[usize::from(digit - b'0')])
                .collect();
            all.add(0, &format!("{word} football club"));
        }
        all.add(0, "Liverpool");
        all.add(0, "Liverpol");
        let found = all.pairs();
        assert!(
            found.pairs.iter().any(|pair| pair.one == "Liverpol"),
            "{:?}",
            found.pairs
        );
    }
}
