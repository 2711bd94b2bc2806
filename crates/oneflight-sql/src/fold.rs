//! Folding: which spellings are one key.
//!
//!   " Große  ELSTER " ──nfc──trim──space──┬──case──nfc──▶ "grosse elster"   the key: stored, indexed
//!                                         └─────────────▶ "Große ELSTER"    shown
//!
//! The fold is done here, once, and what it returns is what is stored, remembered and compared bytewise. No collation and no
//! `LOWER()` of any database has a say, so the cache, the batch and the index agree on every engine.
//!
//! O1. Folding is idempotent: a folded text folds to itself.
//! O2. A text that is not blank never folds to an empty key.
//! O3. The steps of a fold are always done in the order of the picture, however they were written.

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A set of folding steps: what two spellings may differ in and still be one key.
///
/// White space is what Unicode calls White_Space, the no-break space included, and the four ASCII separators U+001C to U+001F
/// (as in Python and Java). Accents are never folded but by [`Fold::SLUG`]: `Gerson` and `Gérson` are two people.
///
/// # Examples
/// ```
/// use oneflight_sql::Fold;
///
/// assert_eq!(Fold::FULL.apply("  Weiße\u{a0}ELSTER "), "weisse elster");
/// assert_eq!(Fold::FULL.shown("  Weiße\u{a0}ELSTER "), "Weiße ELSTER");
/// assert_eq!(Fold::SLUG.apply("Ærøskøbing & Søn"), "aeroskobing-son");
/// assert_eq!(Fold::parse("trim case").unwrap(), Fold::TRIM | Fold::CASE);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fold(u8);

impl Fold {
    /// No step: the text as it is.
    pub const EXACT: Self = Self(0);
    /// No white space at either end.
    pub const TRIM: Self = Self(1);
    /// Unicode normal form C: a letter with an accent is one thing, in however many pieces it was written.
    pub const NFC: Self = Self(2);
    /// A run of white space is one space.
    pub const SPACE: Self = Self(4);
    /// Full Unicode case folding: `ß` is `ss`, both small sigmas are one, `İ` is `i̇`. It knows no language.
    pub const CASE: Self = Self(8);
    /// All of the above: what people mean by "the same name".
    pub const FULL: Self = Self(15);
    /// Lower-case ASCII words joined by `-`, transliterated from any script, after [`Fold::FULL`]. A text of which nothing
    /// would be left (`!!!`) stays as `FULL` folds it.
    pub const SLUG: Self = Self(31);

    /// Reads a fold as it is written in a mapping: the names of its steps, with white space or commas between them.
    ///
    /// The names are `exact`, `trim`, `nfc`, `space`, `case`, `full` and `slug`; their order means nothing.
    ///
    /// # Errors
    /// A name that is none of these; the message lists them.
    pub fn parse(text: &str) -> Result<Self, ParseFoldError> {
        let mut names = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|name| !name.is_empty())
            .peekable();
        if names.peek().is_none() {
            return Err(ParseFoldError(Box::default()));
        }
        names.try_fold(Self::EXACT, |fold, name| {
            match NAMES.iter().find(|(known, _)| *known == name) {
                Some((_, step)) => Ok(fold | *step),
                None => Err(ParseFoldError(name.into())),
            }
        })
    }

    /// True if every step of `other` is a step of this fold.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The key of `text`. Borrowed if nothing changes.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.key_of(self.shown(text))
    }

    /// The spelling of `text` to show: all steps but [`Fold::CASE`] and [`Fold::SLUG`]. Borrowed if nothing changes.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        if self.contains(Self::NFC) && !text.is_ascii() {
            shown = then(shown, nfc);
        }
        if self.contains(Self::TRIM) {
            shown = then(shown, |text| Cow::Borrowed(text.trim_matches(is_space)));
        }
        if self.contains(Self::SPACE) {
            then(shown, join_spaces)
        } else {
            shown
        }
    }

    /// What [`Fold::apply`] and [`Fold::shown`] give, in one go.
    ///
    /// # Examples
    /// ```
    /// use oneflight_sql::Fold;
    ///
    /// let (key, shown) = Fold::FULL.both("Weiße  Elster");
    /// assert_eq!((&*key, &*shown), ("weisse elster", "Weiße Elster"));
    /// ```
    pub fn both<'a>(&self, text: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
        let shown = self.shown(text);
        let key = match &shown {
            Cow::Borrowed(shown) => self.key_of(Cow::Borrowed(shown)),
            Cow::Owned(shown) => Cow::Owned(self.key_of(Cow::Borrowed(shown)).into_owned()),
        };
        (key, shown)
    }

    /// The key of a text that is shown so.
    fn key_of<'a>(&self, shown: Cow<'a, str>) -> Cow<'a, str> {
        let mut key = shown;
        if self.contains(Self::CASE) {
            key = then(key, fold_case);
            // The case of ASCII leaves it ASCII.
            if self.contains(Self::NFC) && !key.is_ascii() {
                key = then(key, nfc);
            }
        }
        if self.has_slug() {
            then(key, slug)
        } else {
            key
        }
    }

    fn has_slug(self) -> bool {
        self.0 & 16 != 0
    }
}

impl Default for Fold {
    /// [`Fold::EXACT`].
    fn default() -> Self {
        Self::EXACT
    }
}

impl BitOr for Fold {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromStr for Fold {
    type Err = ParseFoldError;

    fn from_str(text: &str) -> Result<Self, ParseFoldError> {
        Self::parse(text)
    }
}

/// Writes the shortest text that [`Fold::parse`] reads as this fold.
impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMES.iter().find(|(_, fold)| fold == self) {
            return f.write_str(name);
        }
        let steps = NAMES[1..5]
            .iter()
            .filter(|(_, step)| self.contains(*step))
            .map(|(name, _)| *name);
        f.write_str(&steps.collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Debug for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fold({self})")
    }
}

/// A fold that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFoldError(Box<str>);

impl fmt::Display for ParseFoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            "" => f.write_str("a fold without a step")?,
            name => write!(f, "unknown fold `{name}`")?,
        }
        f.write_str(": expected exact, full, slug, or some of trim, nfc, space, case")
    }
}

impl std::error::Error for ParseFoldError {}

/// The names, single steps at 1 to 4 in the order in which they are written.
const NAMES: [(&str, Fold); 7] = [
    ("exact", Fold::EXACT),
    ("trim", Fold::TRIM),
    ("nfc", Fold::NFC),
    ("space", Fold::SPACE),
    ("case", Fold::CASE),
    ("full", Fold::FULL),
    ("slug", Fold::SLUG),
];

const CASE_MAPPER: CaseMapperBorrowed<'static> = CaseMapper::new();

/// Does one more step, and keeps what is borrowed borrowed.
fn then(text: Cow<'_, str>, step: impl for<'s> FnOnce(&'s str) -> Cow<'s, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => step(text),
        Cow::Owned(text) => match step(&text) {
            Cow::Borrowed(same) if same.len() == text.len() => Cow::Owned(text),
            Cow::Borrowed(part) => Cow::Owned(part.to_owned()),
            Cow::Owned(new) => Cow::Owned(new),
        },
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn nfc(text: &str) -> Cow<'_, str> {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

fn join_spaces(text: &str) -> Cow<'_, str> {
    if has_single_spaces(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut last_is_space = false;
    let is_done = text.chars().all(|c| {
        let fits = c == ' ' && !last_is_space || !is_space(c);
        last_is_space = c == ' ';
        fits
    });
    if is_done {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    for c in text.chars() {
        match is_space(c) {
            false => joined.push(c),
            true if !joined.ends_with(' ') => joined.push(' '),
            true => {}
        }
    }
    Cow::Owned(joined)
}

/// True for ASCII in which no white space stands but single spaces; written so that no byte waits for the one before.
fn has_single_spaces(text: &[u8]) -> bool {
    let odd = |byte: &u8| matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f) || !byte.is_ascii();
    let pairs = text.iter().zip(text.iter().skip(1));
    let is_double = |(a, b): (&u8, &u8)| *a == b' ' && *b == b' ';
    !text.iter().fold(false, |found, byte| found | odd(byte))
        && !pairs.fold(false, |found, pair| found | is_double(pair))
}

fn fold_case(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    CASE_MAPPER.fold_string(text)
}

fn slug(text: &str) -> Cow<'_, str> {
    let ascii = deunicode::deunicode_with_tofu_cow(text, " ");
    let mut slug = String::with_capacity(ascii.len());
    for word in ascii
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() || slug == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn full(text: &str) -> String {
        Fold::FULL.apply(text).into_owned()
    }

    /// The definition that the public data sets are counted by, step by step and without short cuts.
    fn by_definition(text: &str) -> String {
        let text: String = text.nfc().collect();
        let text = CASE_MAPPER
            .fold_string(text.trim_matches(is_space))
            .nfc()
            .collect::<String>();
        text.split(is_space)
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn all_folds() -> impl Iterator<Item = Fold> {
        (0..32).map(Fold)
    }

    fn random_text(rng: &mut SmallRng) -> String {
        const NASTY: &[char] = &[
            ' ', '\u{a0}', '\t', '\u{3000}', '\u{85}', '\u{2028}', '\u{1f}', 'a', 'A', 'Z', 'i',
            'I', 'İ', 'ı', 'ß', 'ẞ', 'Σ', 'σ', 'ς', '\u{300}', '\u{301}', '\u{307}', '\u{308}',
            '\u{327}', '\u{345}', 'α', 'ᾳ', 'ᾼ', 'ῷ', 'ΐ', 'ǰ', 'ŉ', 'ﬃ', 'é', 'Å', '\u{212b}',
            '\u{1100}', '\u{1161}', '\u{11a8}', '가', '\u{200d}', '-', '!', '😀', 'Ꭰ', 'ꭰ',
        ];
        (0..rng.random_range(0..12))
            .map(|_| match rng.random_range(0..4) {
                0 => rng.random::<char>(),
                1 => char::from(rng.random_range(0..128u8)),
                _ => NASTY[rng.random_range(0..NASTY.len())],
            })
            .collect()
    }

    #[test]
    fn every_character_folds_as_defined_and_folding_is_idempotent() {
        // Beyond these there are only private and unassigned characters.
        for c in ('\0'..='\u{33fff}').chain('\u{e0000}'..='\u{e0fff}') {
            for text in [format!("{c}"), format!("a{c}\u{301}\u{345}B")] {
                assert_eq!(full(&text), by_definition(&text), "U+{:04X}", c as u32);
                for fold in [Fold::FULL, Fold::SLUG, Fold::CASE | Fold::NFC] {
                    let once = fold.apply(&text);
                    assert_eq!(
                        fold.apply(&once),
                        once,
                        "O1: U+{:04X} under {fold}",
                        c as u32
                    );
                }
            }
        }
    }

    #[test]
    fn random_texts_fold_as_defined_and_folding_is_idempotent() {
        let mut rng = SmallRng::seed_from_u64(7);
        for _ in 0..50_000 {
            let text = random_text(&mut rng);
            assert_eq!(full(&text), by_definition(&text), "{text:?}");
            for fold in all_folds() {
                let once = fold.apply(&text);
                assert_eq!(fold.apply(&once), once, "O1: {text:?} under {fold:?}");
                assert_eq!(
                    fold.shown(&fold.shown(&text)),
                    fold.shown(&text),
                    "O1: {text:?} under {fold:?}"
                );
                assert_eq!(
                    fold.apply(&fold.shown(&text)),
                    once,
                    "{text:?} and its spelling under {fold:?}"
                );
                let both = fold.both(&text);
                assert_eq!(
                    both,
                    (once.clone(), fold.shown(&text)),
                    "{text:?} under {fold:?}"
                );
                assert!(
                    !once.is_empty() || text.chars().all(is_space),
                    "O2: {text:?} under {fold:?}"
                );
            }
        }
    }

    #[test]
    fn spellings_of_one_name_fold_to_one_key() {
        for (a, b) in [
            ("Straße", "STRASSE"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
            ("Cafe\u{301}", "CAFÉ"),
            ("Anfield\u{a0}", " anfield"),
            ("Rio  De\tJaneiro", "rio de janeiro"),
            ("Å", "\u{212b}"),
            ("ﬁne", "FINE"),
            ("İ", "i\u{307}"),
        ] {
            assert_eq!(full(a), full(b));
        }
        for (a, b) in [
            ("Gerson", "Gérson"),
            ("Nguyen", "Nguyễn"),
            ("007", "7"),
            ("I", "ı"),
            ("a b", "ab"),
        ] {
            assert_ne!(full(a), full(b));
        }
    }

    #[test]
    fn each_step_does_its_own_thing_only() {
        assert_eq!(Fold::EXACT.apply(" É  x "), " É  x ");
        assert_eq!(Fold::TRIM.apply("\u{a0} É  x\u{2003}"), "É  x");
        assert_eq!(Fold::SPACE.apply(" É\u{a0} x "), " É x ");
        assert_eq!(Fold::CASE.apply(" É  X "), " é  x ");
        assert_eq!(Fold::NFC.apply("E\u{301} "), "É ");
    }

    #[test]
    fn a_slug_is_ascii_words_or_the_folded_text() {
        for (text, slug) in [
            ("Hello,  World!", "hello-world"),
            ("北京", "bei-jing"),
            ("Ünïcödé -- Straße", "unicode-strasse"),
            ("already-a-slug-2", "already-a-slug-2"),
            ("C#", "c"),
            (" !!! ", "!!!"),
            ("", ""),
        ] {
            assert_eq!(Fold::SLUG.apply(text), slug);
        }
    }

    #[test]
    fn what_does_not_change_is_borrowed() {
        for text in ["", "plain ascii text", "grün", "weisse elster"] {
            assert!(matches!(Fold::FULL.apply(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(matches!(Fold::SLUG.apply("a-slug"), Cow::Borrowed(_)));
        assert!(matches!(
            Fold::FULL.apply("  trimmed is a part "),
            Cow::Borrowed("trimmed is a part")
        ));
    }

    #[test]
    fn a_fold_is_read_in_any_order_and_written_shortest() {
        assert_eq!(Fold::parse("trim nfc space case"), Ok(Fold::FULL));
        assert_eq!(Fold::parse("case,space, nfc trim"), Ok(Fold::FULL));
        assert_eq!("slug".parse(), Ok(Fold::SLUG));
        assert_eq!(Fold::parse("exact"), Ok(Fold::EXACT));
        assert_eq!(Fold::parse("case trim").unwrap().to_string(), "trim case");
        for fold in [Fold::EXACT, Fold::FULL, Fold::SLUG, Fold::NFC | Fold::SPACE] {
            assert_eq!(Fold::parse(&fold.to_string()), Ok(fold));
        }
    }

    #[test]
    fn an_unknown_fold_is_refused_and_the_message_lists_the_known_ones() {
        let message = Fold::parse("trim lower").unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown fold `lower`: expected exact, full, slug, or some of trim, nfc, space, case"
        );
        assert!(
            Fold::parse(" , ")
                .unwrap_err()
                .to_string()
                .starts_with("a fold without a step")
        );
    }
}
