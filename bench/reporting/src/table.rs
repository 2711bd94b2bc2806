//! A table in Markdown that can be read as text too.

use std::fmt;

/// Rows of cells under a heading.
#[derive(Debug)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// What is measured, and how.
    pub note: String,
    /// What stands above the columns.
    pub head: Vec<String>,
    /// A name, then figures.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// One without rows.
    #[must_use]
    pub fn new(title: &str, note: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "### {}\n\n{}\n\n", self.title, self.note)?;
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .chain(self.head.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        line(f, &self.head, &widths)?;
        for (column, width) in widths.iter().enumerate() {
            let end = if column == 0 { '-' } else { ':' };
            write!(f, "|{}{end}", "-".repeat(width + 1))?;
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| line(f, row, &widths))
    }
}

/// Names to the left, figures to the right.
fn line(f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if column == 0 {
            write!(f, "| {cell:<width$} ")?;
        } else {
            write!(f, "| {cell:>width$} ")?;
        }
    }
    writeln!(f, "|")
}

/// A figure with as many digits as mean something; a dash for none.
#[must_use]
pub fn number(figure: Option<f64>) -> String {
    match figure {
        None => "–".to_owned(),
        Some(value) if value.fract().abs() < 0.000_5 => grouped(value),
        Some(value) if value.abs() < 0.095 => format!("{value:.3}"),
        Some(value) if value.abs() < 10.0 => format!("{value:.2}"),
        Some(value) if value.abs() < 100.0 => format!("{value:.1}"),
        Some(value) => grouped(value),
    }
}

/// A ratio.
#[must_use]
pub fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => "–".to_owned(),
        Some(ratio) if ratio < 100.0 => format!("{ratio:.2}×"),
        Some(ratio) => format!("{}×", grouped(ratio)),
    }
}

/// A whole number, thousands apart.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value <= -0.5 { "-" } else { "" });
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        let figures = [0.009, 1.0, 2.345, 61.23, 1234.5, 1e6].map(|figure| number(Some(figure)));
        assert_eq!(
            figures,
            ["0.009", "1", "2.35", "61.2", "1,234", "1,000,000"]
        );
        assert_eq!(number(None), "–");
        let ratios = [Some(1.634), Some(9_279.4), None].map(times);
        assert_eq!(ratios, ["1.63×", "9,279×", "–"]);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new("T", "n", &["who", "ns"]);
        table.rows.push(vec!["a peer".into(), "7".into()]);
        let text = table.to_string();
        assert_eq!(
            text,
            "### T\n\nn\n\n| who    | ns |\n|--------|---:|\n| a peer |  7 |\n"
        );
    }
}
