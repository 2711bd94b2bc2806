//! A table of the mapping file, read with an eye on where everything stands.

use super::error::{Problems, start};
use toml_edit::{Item, TableLike, Value};

/// A table: `[a.b]`, or `{ … }`.
#[derive(Clone, Copy)]
pub(crate) struct Section<'t> {
    pub(crate) problems: &'t Problems<'t>,
    /// Where it begins, for what is missing from it.
    pub(crate) at: usize,
    table: &'t dyn TableLike,
}

/// A key and what it is set to.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'t> {
    pub(crate) problems: &'t Problems<'t>,
    pub(crate) key: &'t str,
    /// Where the key stands.
    pub(crate) at: usize,
    pub(crate) item: &'t Item,
}

/// A text and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

impl<'t> Section<'t> {
    pub(crate) fn new(problems: &'t Problems<'t>, at: usize, table: &'t dyn TableLike) -> Self {
        Self {
            problems,
            at,
            table,
        }
    }

    /// Its entries, in the order of the file.
    pub(crate) fn entries(&self) -> Vec<Entry<'t>> {
        let table = self.table;
        table
            .iter()
            .map(|(key, item)| self.entry(key, item))
            .collect()
    }

    /// The entry of this key.
    pub(crate) fn get(&self, key: &str) -> Option<Entry<'t>> {
        let (key, item) = self.table.get_key_value(key)?;
        Some(self.entry(key.get(), item))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Notes every key that is not one of these.
    pub(crate) fn only(&self, what: &str, possible: &[&str]) {
        for entry in self.entries() {
            if !possible.contains(&entry.key) {
                self.problems.unknown(entry.at, what, entry.key, possible);
            }
        }
    }

    /// The text of this key.
    pub(crate) fn text(&self, key: &str) -> Option<Text<'t>> {
        self.get(key)?.text()
    }

    /// The truth of this key.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.flag()
    }

    /// The texts of this key: one, or a list of them.
    pub(crate) fn texts(&self, key: &str) -> Option<Vec<Text<'t>>> {
        self.get(key)?.texts()
    }

    /// The table of this key.
    pub(crate) fn section(&self, key: &str) -> Option<Section<'t>> {
        self.get(key)?.section("a table")
    }

    fn entry(&self, key: &'t str, item: &'t Item) -> Entry<'t> {
        let at = start(self.table.key(key).and_then(toml_edit::Key::span))
            .or(start(item.span()))
            .unwrap_or(self.at);
        Entry {
            problems: self.problems,
            key,
            at,
            item,
        }
    }
}

impl<'t> Entry<'t> {
    /// Where its value stands.
    pub(crate) fn value_at(&self) -> usize {
        start(self.item.span()).unwrap_or(self.at)
    }

    /// Notes that another type of value was expected.
    pub(crate) fn expected<T>(&self, what: &str) -> Option<T> {
        self.problems.note(
            self.value_at(),
            format!(
                "`{}`: expected {what}, not {}",
                self.key,
                article(self.item.type_name())
            ),
        );
        None
    }

    pub(crate) fn text(&self) -> Option<Text<'t>> {
        match self.item.as_str() {
            Some(text) => Some(Text {
                text,
                at: self.value_at(),
            }),
            None => self.expected("a text in quotes"),
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        self.item
            .as_bool()
            .or_else(|| self.expected("true or false"))
    }

    pub(crate) fn number(&self) -> Option<i64> {
        self.item
            .as_integer()
            .or_else(|| self.expected("a whole number"))
    }

    pub(crate) fn texts(&self) -> Option<Vec<Text<'t>>> {
        if let Some(text) = self.item.as_str() {
            return Some(vec![Text {
                text,
                at: self.value_at(),
            }]);
        }
        let Some(array) = self.item.as_array() else {
            return self.expected("a text, or a list of texts");
        };
        let texts = array.iter().map(|value| match value.as_str() {
            Some(text) => Some(Text {
                text,
                at: start(value.span()).unwrap_or(self.at),
            }),
            None => {
                let at = start(value.span()).unwrap_or(self.at);
                self.problems.note(
                    at,
                    format!(
                        "`{}`: expected texts in quotes, not {}",
                        self.key,
                        article(value.type_name())
                    ),
                );
                None
            }
        });
        texts.collect()
    }

    pub(crate) fn section(&self, what: &str) -> Option<Section<'t>> {
        match self.item.as_table_like() {
            Some(table) => Some(Section {
                problems: self.problems,
                at: self.at,
                table,
            }),
            None => self.expected(what),
        }
    }

    /// A text, or a number or a truth as the text that it is written by.
    pub(crate) fn scalar(&self) -> Option<String> {
        let text = match self.item.as_value() {
            Some(Value::String(text)) => text.value().clone(),
            Some(Value::Integer(number)) => number.value().to_string(),
            Some(Value::Boolean(truth)) => truth.value().to_string(),
            Some(Value::Float(number)) => number.value().to_string(),
            Some(Value::Datetime(time)) => time.value().to_string(),
            _ => return self.expected("a text, a number, true or false"),
        };
        Some(text)
    }
}

fn article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}
