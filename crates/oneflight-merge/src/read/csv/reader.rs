//! The reader of delimited text: header, width, lines, and what is wrong with a row.
//!
//! W1. Every row has as many cells as there are columns; another row is bad, told with both numbers.
//! W2. Empty lines and comments are no rows.

use super::record::{Dialect, Extent, Found, line_ends};
use super::run::{Run, Runs};
use crate::plan::Csv;
use crate::read::error::{Kind, ReadError, listed, shortened};
use crate::read::input::{Limits, Opened, Part, Reading};
use crate::read::text::Text;
use crate::rows::{Bad, Flat, Rows};
use std::collections::HashSet;

struct Reader {
    text: Text,
    dialect: Dialect,
    runs: Runs,
    width: usize,
    /// The line that the rest of the text begins on.
    line: u64,
    /// The size of the last chunk's text, which the next one will be about as long as.
    expect: usize,
}

/// Reads the header, and checks that it has what is needed.
pub(in crate::read) fn start(text: Text, name: &str, csv: &Csv) -> Result<Opened, ReadError> {
    check_dialect(name, csv)?;
    let mut reader = Reader {
        text,
        dialect: Dialect::new(csv),
        runs: Runs::default(),
        width: 0,
        line: 1,
        expect: 1 << 16,
    };
    let columns = match &csv.columns {
        Some(columns) => {
            reader.check_first_row(columns.len())?;
            columns.clone()
        }
        None => reader.header(&csv.needs)?,
    };
    let missing: Vec<&str> = csv
        .needs
        .iter()
        .map(String::as_str)
        .filter(|need| !columns.iter().any(|column| column == need))
        .collect();
    if !missing.is_empty() {
        let hint = other_delimiter(&columns, csv.delimiter);
        let columns = listed(columns.iter().map(String::as_str));
        let message = format!(
            "no column {}; the columns are {columns}{hint}",
            listed(missing)
        );
        return Err(ReadError::new(
            Kind::Header,
            name,
            Some(reader.line.saturating_sub(1).max(1)),
            message,
        ));
    }
    reader.width = columns.len();
    Ok(Opened {
        reading: Box::new(reader),
        columns,
    })
}

fn check_dialect(name: &str, csv: &Csv) -> Result<(), ReadError> {
    let all = [Some(csv.delimiter), csv.quote, csv.escape, csv.comment];
    let wrong = if all
        .into_iter()
        .flatten()
        .any(|byte| !byte.is_ascii() || matches!(byte, b'\n' | b'\r'))
    {
        "delimiter, quote, escape and comment must be ASCII characters, and no end of a line"
    } else if csv.quote == Some(csv.delimiter) || csv.escape == Some(csv.delimiter) {
        "the delimiter must differ from the quote and the escape character"
    } else {
        return Ok(());
    };
    Err(ReadError::new(Kind::Malformed, name, None, wrong))
}

/// A hint for a header that is one column because it was split at the wrong character.
fn other_delimiter(columns: &[String], delimiter: u8) -> String {
    let [column] = columns else {
        return String::new();
    };
    match [';', '\t', '|', ',']
        .into_iter()
        .find(|&c| c != char::from(delimiter) && column.contains(c))
    {
        Some('\t') => "; the delimiter may be a tab (`\\t`)".to_owned(),
        Some(c) => format!("; the delimiter may be `{c}`"),
        None => String::new(),
    }
}

impl Reading for Reader {
    fn next(&mut self, limits: Limits) -> Result<Option<Part>, ReadError> {
        let mut flat = Flat::new(self.width);
        flat.text.reserve(self.expect);
        let mut bad = Vec::new();
        let mut bad_bytes = 0;
        loop {
            let most = limits.left(flat.len() + bad.len(), flat.text.len() + bad_bytes);
            let Some(most) = most else { break };
            if self.run(most, &mut flat) {
                continue;
            }
            let Some((extent, stray)) = self.record(&mut flat)? else {
                break;
            };
            let cells = flat.spans.len() - flat.lines.len() * self.width;
            if cells == self.width && !stray {
                flat.end_row(self.line);
            } else {
                bad_bytes += extent.bytes;
                bad.push(self.bad(extent, cells, stray));
                flat.drop_cells();
            }
            self.pass(extent);
        }
        if flat.is_empty() && bad.is_empty() {
            return Ok(None);
        }
        self.expect = flat.text.len() + flat.text.len() / 16;
        Ok(Some(Part {
            rows: Rows::Flat(flat),
            bad,
            bytes_read: self.text.bytes_read(),
        }))
    }
}

impl Reader {
    /// Reads plain rows, as far as they come one after the other; false if the next one is not plain, or not in sight.
    fn run(&mut self, most: Limits, flat: &mut Flat) -> bool {
        let most = Run {
            rows: most.rows,
            bytes: most.bytes,
        };
        let (rest, ended) = (self.text.rest(), self.text.ended());
        let run = self.runs.run(&self.dialect, rest, ended, most, flat);
        flat.end_lines(self.line, run.rows);
        self.pass(Extent {
            bytes: run.bytes,
            lines: run.rows as u64,
        });
        run.rows > 0
    }

    /// Parses the next record into `flat`, and stays at its start. Returns how far it reaches and whether text stands after a
    /// closing quote; none at the end of the file.
    fn record(&mut self, flat: &mut Flat) -> Result<Option<(Extent, bool)>, ReadError> {
        loop {
            let found = match self.text.rest() {
                "" if self.text.ended() => return Ok(None),
                "" => Found::More,
                rest => self.dialect.record(rest, self.text.ended(), flat),
            };
            match found {
                Found::Record(extent) => return Ok(Some((extent, false))),
                Found::Stray(extent) => return Ok(Some((extent, true))),
                Found::Nothing(extent) => self.pass(extent),
                Found::Unclosed(below) => return Err(self.unclosed(self.line + below)),
                Found::More => {
                    self.text.check_row(
                        self.text.rest().len(),
                        self.line,
                        "a row that begins here (is a quote not closed?) is",
                    )?;
                    self.text.fill()?;
                }
            }
        }
    }

    fn pass(&mut self, extent: Extent) {
        self.text.consume(extent.bytes);
        self.runs.pass(extent.bytes);
        self.line += extent.lines;
    }

    fn unclosed(&self, line: u64) -> ReadError {
        let end = self.line + line_ends(self.text.rest().as_bytes());
        self.text.error(
            Kind::Truncated,
            end,
            format!("truncated: quote opened at line {line}, and never closed"),
        )
    }

    fn bad(&self, extent: Extent, cells: usize, stray: bool) -> Bad {
        let row = self.text.rest()[..extent.bytes].trim_end_matches(['\n', '\r']);
        let reason = if cells == self.width && stray {
            "text stands between a closing quote and the next delimiter; a quote inside quotes is doubled".to_owned()
        } else {
            format!(
                "the row has {cells} {}; {} expected",
                if cells == 1 { "field" } else { "fields" },
                self.width
            )
        };
        Bad {
            line: self.line,
            column: None,
            value: Some(shortened(row)),
            reason,
        }
    }

    fn header(&mut self, needs: &[String]) -> Result<Vec<String>, ReadError> {
        let mut flat = Flat::default();
        let Some((extent, _)) = self.record(&mut flat)? else {
            let wanted = if needs.is_empty() {
                String::new()
            } else {
                format!(" with {}", listed(needs.iter().map(String::as_str)))
            };
            return Err(self.text.error(
                Kind::Header,
                self.line,
                format!("the file is empty; a header{wanted} was expected"),
            ));
        };
        flat.width = flat.spans.len();
        let columns: Vec<String> = (0..flat.width)
            .map(|at| flat.cell(0, at).unwrap_or_default().trim().to_owned())
            .collect();
        let mut seen = HashSet::new();
        if let Some(twice) = columns
            .iter()
            .find(|name| !name.is_empty() && !seen.insert(name.as_str()))
        {
            let names = listed(columns.iter().map(String::as_str));
            return Err(self.text.error(
                Kind::Header,
                self.line,
                format!("the column `{twice}` stands in the header twice: {names}"),
            ));
        }
        self.pass(extent);
        Ok(columns)
    }

    /// A file without a header tells a wrong delimiter by its first row: it is one cell.
    fn check_first_row(&mut self, width: usize) -> Result<(), ReadError> {
        let mut flat = Flat::default();
        let Some(_) = self.record(&mut flat)? else {
            return Ok(());
        };
        if width > 1 && flat.spans.len() == 1 {
            flat.width = 1;
            let cell = flat.cell(0, 0).unwrap_or_default().to_owned();
            let shown = shortened(&cell);
            let hint = other_delimiter(&[cell], self.dialect.delimiter());
            let message = format!("the first row has 1 field `{shown}`; {width} expected{hint}");
            return Err(self.text.error(Kind::Header, self.line, message));
        }
        Ok(())
    }
}
