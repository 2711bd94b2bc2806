//! Paths of a feed: patterns become files.
//!
//!   "football/new/{season}.{league}.json" ──▶ football/new/2010-11.en.1.json  { season: 2010-11, league: en.1 }
//!
//! G1. Files come sorted bytewise by path, each once.
//! G2. A placeholder takes as little as it can and at least one character, within one name; a second one of the same name must
//!     take the same text.
//! G3. As in a shell, `*`, `?` and `**` do not see names that begin with a dot, and `**` does not follow links to folders.

use super::error::{Kind, ReadError};
use crate::plan::Source;
use std::path::{Path, PathBuf};

/// A file that a pattern matched.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The path as the mapping would say it: relative to the data folder.
    pub(super) name: String,
    /// What the placeholders stood for.
    pub(super) captures: Vec<(String, String)>,
}

/// The files that a feed or a lookup reads, found but not opened.
///
/// # Errors
/// If there is none, the pattern is wrong, or a folder cannot be listed.
pub fn files(source: &Source, folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let found = expand(&source.path, folder, &source.at)?;
    Ok(found.into_iter().map(|found| found.path).collect())
}

/// The files that match `pattern`, relative to `folder`; at least one. `at` says where the pattern stands.
pub(super) fn expand(pattern: &str, folder: &Path, at: &str) -> Result<Vec<Found>, ReadError> {
    let wrong = |kind, why: String| {
        let why = if at.is_empty() {
            why
        } else {
            format!("{why} ({at})")
        };
        ReadError::new(kind, pattern, None, why)
    };
    let literal = folder.join(pattern);
    if literal.is_dir() {
        let shown = literal.display();
        return Err(wrong(
            Kind::Missing,
            format!("a file was expected, and `{shown}` is a folder"),
        ));
    }
    if literal.exists() {
        return Ok(vec![Found::root(literal, pattern)]);
    }
    let parts = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let steps = parts.map(Step::parse).collect::<Result<Vec<_>, _>>();
    let steps = steps.map_err(|why| wrong(Kind::Malformed, why))?;
    let root = match pattern.starts_with('/') {
        true => Found::root(PathBuf::from("/"), "/"),
        false => Found::root(folder.to_owned(), ""),
    };
    let mut found = Vec::new();
    let failed =
        |(path, e): Failed| ReadError::io(&path.display().to_string(), "list the folder", e);
    walk(root, &steps, &mut found).map_err(failed)?;
    let bytes = |found: &Found| found.path.as_os_str().as_encoded_bytes().to_vec();
    found.sort_by_cached_key(bytes);
    found.dedup_by(|a, b| a.path == b.path);
    if found.is_empty() {
        return Err(wrong(Kind::Missing, nothing(&steps, folder)));
    }
    Ok(found)
}

fn nothing(steps: &[Step], folder: &Path) -> String {
    let shown = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    if !shown.exists() {
        format!("the folder `{}` does not exist", shown.display())
    } else if steps.iter().all(|step| matches!(step, Step::Literal(_))) {
        format!("there is no such file in the folder `{}`", shown.display())
    } else {
        format!(
            "no file in the folder `{}` matches this pattern",
            shown.display()
        )
    }
}

/// One part of a pattern between slashes.
enum Step {
    Literal(String),
    /// `**`: any number of folders.
    Deep,
    Match(Vec<Token>),
}

enum Token {
    Char(char),
    /// `?`
    Any,
    /// `*`
    Run,
    /// `[ab]`, `[a-z]`, `[!a]`
    Set {
        inverted: bool,
        ranges: Vec<(char, char)>,
    },
    /// `{name}`
    Placeholder(String),
}

impl Step {
    fn parse(part: &str) -> Result<Self, String> {
        if part == "**" {
            return Ok(Self::Deep);
        }
        let mut tokens = Vec::new();
        let mut chars = part.chars().peekable();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '?' => Token::Any,
                '*' => Token::Run,
                '[' => set(&mut chars).ok_or_else(|| format!("`[` without `]` in `{part}`"))?,
                '{' => Token::Placeholder(placeholder(&mut chars, part)?),
                c => Token::Char(c),
            });
        }
        let literal = tokens.iter().all(|token| matches!(token, Token::Char(_)));
        Ok(if literal {
            Self::Literal(part.to_owned())
        } else {
            Self::Match(tokens)
        })
    }
}

fn set(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let inverted = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next()? {
            ']' if !ranges.is_empty() => return Some(Token::Set { inverted, ranges }),
            c => c,
        };
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                chars.nth(1);
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
}

fn placeholder(chars: &mut impl Iterator<Item = char>, part: &str) -> Result<String, String> {
    let mut name = String::new();
    for c in chars {
        match c {
            '}' if !name.is_empty() => return Ok(name),
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            _ => break,
        }
    }
    Err(format!(
        "a placeholder such as {{season}} was expected in `{part}`: a name of letters, digits and `_` between braces"
    ))
}

type Failed = (PathBuf, std::io::Error);

fn walk(from: Found, steps: &[Step], found: &mut Vec<Found>) -> Result<(), Failed> {
    let Some((step, rest)) = steps.split_first() else {
        if from.path.exists() && !from.path.is_dir() {
            found.push(from);
        }
        return Ok(());
    };
    match step {
        Step::Literal(name) => walk(from.child(name, from.captures.clone()), rest, found),
        Step::Deep => {
            for (name, plain_folder) in entries(&from.path)? {
                if plain_folder && !name.starts_with('.') {
                    walk(from.child(&name, from.captures.clone()), steps, found)?;
                }
            }
            walk(from, rest, found)
        }
        Step::Match(tokens) => {
            for (name, _) in entries(&from.path)? {
                let mut captures = from.captures.clone();
                let hidden =
                    name.starts_with('.') && !matches!(tokens.first(), Some(Token::Char('.')));
                if !hidden && matches(tokens, &name, &mut captures) {
                    walk(from.child(&name, captures), rest, found)?;
                }
            }
            Ok(())
        }
    }
}

impl Found {
    fn root(path: PathBuf, name: &str) -> Self {
        Self {
            path,
            name: name.to_owned(),
            captures: Vec::new(),
        }
    }

    fn child(&self, name: &str, captures: Vec<(String, String)>) -> Self {
        let slash = if self.name.is_empty() || self.name.ends_with('/') {
            ""
        } else {
            "/"
        };
        Self {
            path: self.path.join(name),
            name: format!("{}{slash}{name}", self.name),
            captures,
        }
    }
}

/// Names in a folder, and whether each is a folder that is no link. What is no folder has no entries.
fn entries(folder: &Path) -> Result<Vec<(String, bool)>, Failed> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |e| (folder.to_owned(), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A name that is no Unicode cannot be written in a pattern, so it cannot match one.
        if let Ok(name) = entry.file_name().into_string() {
            names.push((name, entry.file_type().map_err(failed)?.is_dir()));
        }
    }
    Ok(names)
}

fn matches(tokens: &[Token], name: &str, captures: &mut Vec<(String, String)>) -> bool {
    let Some((token, rest)) = tokens.split_first() else {
        return name.is_empty();
    };
    let mut chars = name.chars();
    match token {
        Token::Run => name
            .char_indices()
            .map(|(at, _)| at)
            .chain([name.len()])
            .any(|at| matches(rest, &name[at..], captures)),
        Token::Placeholder(word) => name
            .char_indices()
            .skip(1)
            .map(|(at, _)| at)
            .chain([name.len()])
            .any(|at| {
                let taken = &name[..at];
                if taken.is_empty()
                    || captures
                        .iter()
                        .any(|(other, text)| other == word && text != taken)
                {
                    return false;
                }
                let before = captures.len();
                if !captures.iter().any(|(other, _)| other == word) {
                    captures.push((word.clone(), taken.to_owned()));
                }
                let fits = matches(rest, &name[at..], captures);
                if !fits {
                    captures.truncate(before);
                }
                fits
            }),
        Token::Char(c) => chars.next() == Some(*c) && matches(rest, chars.as_str(), captures),
        Token::Any => chars.next().is_some() && matches(rest, chars.as_str(), captures),
        Token::Set { inverted, ranges } => {
            let inside = |c: char| ranges.iter().any(|&(low, high)| (low..=high).contains(&c));
            chars.next().is_some_and(|c| inside(c) != *inverted)
                && matches(rest, chars.as_str(), captures)
        }
    }
}
