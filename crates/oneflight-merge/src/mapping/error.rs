//! What is wrong with a mapping: where, what stands there, and what would be right.

use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;

/// All that is wrong with a mapping, in the order of the file. One to a line when displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingErrors(Vec<MappingError>);

/// One thing that is wrong with a mapping. Displayed as `file:line:column: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingError {
    file: String,
    line: usize,
    column: usize,
    message: String,
}

impl MappingErrors {
    /// The errors.
    pub fn iter(&self) -> std::slice::Iter<'_, MappingError> {
        self.0.iter()
    }
}

impl<'e> IntoIterator for &'e MappingErrors {
    type Item = &'e MappingError;
    type IntoIter = std::slice::Iter<'e, MappingError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for MappingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl StdError for MappingErrors {}

impl MappingError {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, in characters, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, and what would be right.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )
    }
}

impl StdError for MappingError {}

/// Collects what is wrong while a mapping is read.
#[derive(Debug)]
pub(crate) struct Problems<'t> {
    file: &'t str,
    text: &'t str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'t> Problems<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            found: RefCell::default(),
        }
    }

    /// Notes what is wrong at a place in the text.
    pub(crate) fn note(&self, at: usize, message: impl Into<String>) {
        self.found.borrow_mut().push((at, message.into()));
    }

    /// Notes that a name is not one of those that are possible: no such `what`.
    pub(crate) fn unknown(&self, at: usize, what: &str, name: &str, possible: &[&str]) {
        let near = nearest(name, possible)
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        let listed = if possible.is_empty() {
            "there are none".into()
        } else {
            format!("possible: {}", possible.join(", "))
        };
        self.note(at, format!("`{name}` is no {what}{near} ({listed})"));
    }

    /// True if nothing is wrong so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// `file:line` of a place in the text.
    pub(crate) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.file, self.line_and_column(at).0)
    }

    /// What has been found.
    pub(crate) fn into_errors(self) -> MappingErrors {
        let mut found = self.found.take();
        if found.is_empty() {
            found.push((0, "the mapping cannot be understood".into()));
        }
        found.sort_by_key(|(at, _)| *at);
        found.dedup();
        let errors = found.into_iter().map(|(at, message)| {
            let (line, column) = self.line_and_column(at);
            MappingError {
                file: self.file.to_owned(),
                line,
                column,
                message,
            }
        });
        MappingErrors(errors.collect())
    }

    fn line_and_column(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

/// The start of a span, where there is one.
pub(crate) fn start(span: Option<Range<usize>>) -> Option<usize> {
    span.map(|span| span.start)
}

/// The possible name that is most like this one, if any is like it.
fn nearest<'p>(name: &str, possible: &[&'p str]) -> Option<&'p str> {
    let name = name.to_lowercase();
    let far = (name.chars().count() / 3).max(1);
    possible
        .iter()
        .map(|possible| {
            (
                strsim::damerau_levenshtein(&name, &possible.to_lowercase()),
                *possible,
            )
        })
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, possible)| possible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_file_line_and_column_and_a_near_name() {
        let problems = Problems::new("m.toml", "a = 1\nß = 2 x");
        problems.unknown(13, "key", "colums", &["key", "columns"]);
        let errors = problems.into_errors();
        assert_eq!(
            errors.to_string(),
            "m.toml:2:7: `colums` is no key; did you mean `columns`? (possible: key, columns)"
        );
    }
}
