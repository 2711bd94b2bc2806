//! Paths: where in a row a value stands.
//!
//!   name   a.b   a[0].b   .   ^.name   ^^.a.b   "odd.name".b   @file   @season
//!
//! In a list of elements (`each`) also `a[*].b` (all elements) and `..name` (every value of that name, at any depth).
//!
//! A1. In a flat file a name is the name of a column as it stands, dots and all.

use std::fmt;

/// Where a single value stands.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// As it is written in the mapping.
    pub(crate) text: String,
    /// How many levels up it begins: the number of `^`.
    pub(crate) up: usize,
    pub(crate) to: To,
}

/// What a path leads to.
#[derive(Clone, Debug)]
pub(crate) enum To {
    /// Something that is known of the file or of the line.
    Special(Special),
    /// The row or element itself.
    Here,
    /// A value within it.
    Within {
        /// In a flat file: index of the column's name among the names that the feed uses.
        name: usize,
        /// In a nested file: the steps.
        steps: Vec<Step>,
    },
}

/// What is known besides the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// `@file`: the file's name with its folders.
    File,
    /// `@stem`: without folders and extension.
    Stem,
    /// `@line`.
    Line,
    /// `@source`: the name of the source.
    Source(String),
    /// `@season`: what a placeholder of the feed's path stood for.
    Capture(String),
}

/// A step into a nested value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a member of an object.
    Member(String),
    /// Into one element of an array.
    Index(usize),
    /// Into all elements.
    All,
    /// To every member of this name, at any depth.
    Deep(String),
}

/// Where a list of elements stands.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) path: Path,
    /// What separates the elements in a text.
    pub(crate) split: Option<String>,
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathError(pub(crate) String);

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How paths are read: it depends on the feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar<'f> {
    /// The source's name.
    pub(crate) source: &'f str,
    /// The placeholders of the feed's path.
    pub(crate) captures: &'f [String],
    /// True if all rows are flat, so that a name may hold any character.
    pub(crate) flat: bool,
}

impl Path {
    /// Reads a path; adds the name that it uses to `names`.
    pub(crate) fn parse(
        text: &str,
        grammar: Grammar<'_>,
        names: &mut Vec<String>,
    ) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError(
                "a path is empty; `.` is the element itself".into(),
            ));
        }
        if let Some(special) = text.strip_prefix('@') {
            let to = To::Special(special_of(special, grammar)?);
            return Ok(Self {
                text: text.to_owned(),
                up: 0,
                to,
            });
        }
        let inner = text.trim_start_matches('^');
        let up = text.len() - inner.len();
        let inner = if up > 0 {
            inner.strip_prefix('.').unwrap_or(inner)
        } else {
            inner
        };
        let to = if inner.is_empty() || inner == "." {
            To::Here
        } else {
            let flat = if grammar.flat { unquote(inner) } else { None };
            let steps = match (grammar.flat, flat) {
                (true, Some(name)) => vec![Step::Member(name)],
                (true, None) if !inner.starts_with("..") => vec![Step::Member(inner.to_owned())],
                _ => steps(inner)?,
            };
            let name = match &steps[..] {
                [Step::Member(name)] => name.clone(),
                _ => inner.to_owned(),
            };
            To::Within {
                name: number(names, name),
                steps,
            }
        };
        Ok(Self {
            text: text.to_owned(),
            up,
            to,
        })
    }

    /// True if it leads to one value at most.
    pub(crate) fn is_single(&self) -> bool {
        match &self.to {
            To::Within { steps, .. } => !steps
                .iter()
                .any(|step| matches!(step, Step::All | Step::Deep(_))),
            To::Special(_) | To::Here => true,
        }
    }

    /// True if it leads to the row or element itself.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.to, To::Here)
    }

    /// True if it leads to something that is known of the file or of the line.
    pub(crate) fn is_special(&self) -> bool {
        matches!(self.to, To::Special(_))
    }

    /// The first member of the row that it uses: the column that must be there.
    pub(crate) fn first_name(&self) -> Option<&str> {
        match &self.to {
            To::Within { steps, .. } => match steps.first() {
                Some(Step::Member(name)) => Some(name),
                _ => None,
            },
            To::Special(_) | To::Here => None,
        }
    }
}

fn special_of(name: &str, grammar: Grammar<'_>) -> Result<Special, PathError> {
    match name {
        "file" => Ok(Special::File),
        "stem" => Ok(Special::Stem),
        "line" => Ok(Special::Line),
        "source" => Ok(Special::Source(grammar.source.to_owned())),
        _ if grammar.captures.iter().any(|capture| capture == name) => {
            Ok(Special::Capture(name.to_owned()))
        }
        _ => {
            let known = ["file", "stem", "line", "source"]
                .into_iter()
                .chain(grammar.captures.iter().map(String::as_str));
            let known: Vec<String> = known.map(|name| format!("`@{name}`")).collect();
            Err(PathError(format!(
                "`@{name}` is not known; there are {} (a placeholder `{{{name}}}` in the feed's path would make it)",
                known.join(", ")
            )))
        }
    }
}

/// Reads `a.b[0]."c.d"[*]..e`.
fn steps(text: &str) -> Result<Vec<Step>, PathError> {
    let wrong = |what: &str| {
        PathError(format!(
            "`{text}` is not a path: {what}; a path is written like `a.b[0].c`"
        ))
    };
    let mut steps = Vec::new();
    let mut rest = text;
    // A path begins as if a dot stood before it.
    let mut dot = true;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            let (name, after) = name(after).ok_or_else(|| wrong("a name is missing after `..`"))?;
            steps.push(Step::Deep(name));
            (rest, dot) = (after, false);
        } else if let Some(after) = rest.strip_prefix('.') {
            if dot {
                return Err(wrong("a name is missing before a dot"));
            }
            (rest, dot) = (after, true);
        } else if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after
                .split_once(']')
                .ok_or_else(|| wrong("a `]` is missing"))?;
            steps.push(match index {
                "*" => Step::All,
                _ => Step::Index(
                    index
                        .parse()
                        .map_err(|_| wrong("between `[` and `]` stands a number or `*`"))?,
                ),
            });
            (rest, dot) = (after, false);
        } else {
            if !dot {
                return Err(wrong("a dot is missing"));
            }
            let (name, after) = name(rest).ok_or_else(|| wrong("a name is missing"))?;
            steps.push(Step::Member(name));
            (rest, dot) = (after, false);
        }
    }
    if dot {
        Err(wrong("it ends in a dot"))
    } else {
        Ok(steps)
    }
}

/// A name, quoted or not, at the beginning of `text`, and what follows it.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(inner) = text.strip_prefix('"') {
        let (name, rest) = inner.split_once('"')?;
        return Some((name.to_owned(), rest));
    }
    let end = text.find(['.', '[', ']', '"']).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

/// The name of a flat column in quotes, without them.
fn unquote(text: &str) -> Option<String> {
    text.strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
}

fn number(names: &mut Vec<String>, name: String) -> usize {
    match names.iter().position(|known| *known == name) {
        Some(at) => at,
        None => {
            names.push(name);
            names.len() - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Path, PathError> {
        let captures = ["season".to_owned()];
        Path::parse(
            text,
            Grammar {
                source: "s",
                captures: &captures,
                flat: false,
            },
            &mut Vec::new(),
        )
    }

    fn within(text: &str) -> (usize, Vec<Step>) {
        match parse(text) {
            Ok(Path {
                up,
                to: To::Within { steps, .. },
                ..
            }) => (up, steps),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn member(name: &str) -> Step {
        Step::Member(name.into())
    }

    #[test]
    fn a_path_walks_members_elements_and_enclosing_objects() {
        assert_eq!(within("a"), (0, vec![member("a")]));
        assert_eq!(
            within("a.b[0].c d"),
            (
                0,
                vec![member("a"), member("b"), Step::Index(0), member("c d")]
            )
        );
        assert_eq!(within("^.x"), (1, vec![member("x")]));
        assert_eq!(within("^^x.y"), (2, vec![member("x"), member("y")]));
        assert_eq!(within("\"a.b\".c"), (0, vec![member("a.b"), member("c")]));
        assert_eq!(within("..id"), (0, vec![Step::Deep("id".into())]));
        assert_eq!(
            within("a[*].b"),
            (0, vec![member("a"), Step::All, member("b")])
        );
        assert!(matches!(
            parse("."),
            Ok(Path {
                up: 0,
                to: To::Here,
                ..
            })
        ));
        assert!(matches!(
            parse("^"),
            Ok(Path {
                up: 1,
                to: To::Here,
                ..
            })
        ));
    }

    #[test]
    fn a_name_with_an_at_sign_is_known_or_refused() {
        assert!(matches!(
            parse("@season"),
            Ok(Path {
                to: To::Special(Special::Capture(_)),
                ..
            })
        ));
        let error = parse("@saison").expect_err("it is not known").to_string();
        assert!(
            error.contains("`@season`") && error.contains("`@file`"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_path_is_refused_with_what_is_missing() {
        for (text, what) in [
            ("", "empty"),
            ("a.", "ends in a dot"),
            ("a[", "`]`"),
            ("a[x]", "number"),
            ("a..", "after `..`"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn in_a_flat_file_a_name_is_a_column_as_it_stands() {
        let mut names = Vec::new();
        let flat = Grammar {
            source: "s",
            captures: &[],
            flat: true,
        };
        for text in ["home.team [1]", "\"@id\"", "^.planes"] {
            Path::parse(text, flat, &mut names).expect(text);
        }
        assert_eq!(names, ["home.team [1]", "@id", "planes"]);
    }
}
