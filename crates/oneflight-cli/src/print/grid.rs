//! A table of names and numbers: names to the left, numbers to the right, two spaces between.

/// A table that is being filled.
#[derive(Debug)]
pub(crate) struct Grid {
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table with these heads; the first column holds names, all others numbers.
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|&head| head.to_owned()).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, name: &str, numbers: &[u64]) {
        let numbers = numbers.iter().map(|&n| super::count(n));
        self.cells(name, numbers);
    }

    /// Adds a row of numbers that are written already.
    pub(crate) fn cells(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(std::iter::once(super::plain(name)).chain(cells).collect());
    }

    /// The table as text, each line ended.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| chars(&row[column]))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - chars(cell));
                if column == 0 {
                    out.push_str(cell);
                    out.push_str(&padding);
                } else {
                    out.push_str("  ");
                    out.push_str(&padding);
                    out.push_str(cell);
                }
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_numbers_right() {
        let mut grid = Grid::new(&["feed", "read", "rejected"]);
        grid.row("airports", &[7_698, 0]);
        grid.row("café", &[12, 1]);
        assert_eq!(
            grid.render(),
            "feed       read  rejected\nairports  7,698         0\ncafé         12         1\n"
        );
    }
}
