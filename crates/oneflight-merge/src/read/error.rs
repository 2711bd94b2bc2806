//! Why a feed could not be read: the file, the line, what was wrong, and what was expected.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// A feed that cannot be read, or not to its end.
#[derive(Debug)]
pub struct ReadError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    file: String,
    line: Option<u64>,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No file, or not a file.
    Missing,
    /// A column or a member is not there.
    Header,
    /// The file ends too early.
    Truncated,
    /// Bytes that do not belong to the encoding.
    Encoding,
    /// Anything else that is wrong with what stands in the file.
    Malformed,
    /// The system could not read it.
    Io,
}

impl ReadError {
    pub(super) fn new(
        kind: Kind,
        file: &str,
        line: Option<u64>,
        message: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            file: file.to_owned(),
            line,
            message: message.into(),
            source: None,
        }))
    }

    /// A row that cannot be read, where none may be passed over.
    pub(crate) fn row(file: &str, bad: &crate::rows::Bad) -> Self {
        Self::new(Kind::Malformed, file, Some(bad.line), bad.reason.clone())
    }

    pub(super) fn io(file: &str, what: &str, source: io::Error) -> Self {
        let kind = if source.kind() == io::ErrorKind::NotFound {
            Kind::Missing
        } else {
            Kind::Io
        };
        let mut error = Self::new(kind, file, None, format!("cannot {what}"));
        error.0.source = Some(Box::new(source));
        error
    }

    /// The file: a path, a pattern that matches nothing, or `<stdin>`.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, where there is one (1-based; for Parquet the row).
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// True if there is no such file.
    pub fn is_missing(&self) -> bool {
        self.0.kind == Kind::Missing
    }

    /// True if a column, or a member on the way to the rows, is not there.
    pub fn is_header(&self) -> bool {
        self.0.kind == Kind::Header
    }

    /// True if the file ends before its content does.
    pub fn is_truncated(&self) -> bool {
        self.0.kind == Kind::Truncated
    }

    /// True if the file is in another encoding than the mapping says.
    pub fn is_encoding(&self) -> bool {
        self.0.kind == Kind::Encoding
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            file,
            line,
            message,
            ..
        } = &*self.0;
        match line {
            Some(line) => write!(f, "{file}:{line}: {message}"),
            None => write!(f, "{file}: {message}"),
        }
    }
}

impl StdError for ReadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

/// At most 200 characters of what stands there, in one line, for messages.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    let mut shown: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// Names between back-ticks, at most thirty of them.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 30;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{}`", shortened(name).escape_debug()))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST {
        text.push_str(&format!(", and {} more", names.len() - MOST));
    }
    if text.is_empty() {
        "none".to_owned()
    } else {
        text
    }
}
