//! The rows of a mapped chunk, and what each of them declares.

/// The rows that were mapped, in their order.
#[derive(Debug, Default)]
pub struct Log {
    lines: Vec<u64>,
    /// Where what a row declares ends in `declares`.
    ends: Vec<u32>,
    declares: Vec<Declares>,
}

/// A row that was mapped.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its line.
    pub line: u64,
    /// The records that it declares.
    pub declares: &'a [Declares],
}

/// One record that a row declares.
#[derive(Clone, Copy, Debug)]
pub struct Declares {
    /// Table.
    pub table: u32,
    /// Record.
    pub rec: u32,
    /// What the row did to a record that an earlier row of the chunk had declared.
    pub again: Again,
}

/// A record that is declared more than once in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// This row is the first to declare it.
    First,
    /// It was declared, and this row changed nothing.
    Same,
    /// It was declared, and this row changed it (by the policies of its attributes).
    Changed,
}

impl Log {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The rows, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut start = 0;
        self.lines.iter().zip(&self.ends).map(move |(&line, &end)| {
            let declares = &self.declares[start..end as usize];
            start = end as usize;
            Row { line, declares }
        })
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        self.lines.reserve(rows);
        self.ends.reserve(rows);
        self.declares.reserve(rows);
    }

    /// Says that the row that is being made declares this, too.
    #[inline]
    pub(crate) fn declare(&mut self, declares: Declares) {
        self.declares.push(declares);
    }

    /// Ends a row.
    #[inline]
    pub(crate) fn end_row(&mut self, line: u64) {
        self.lines.push(line);
        self.ends.push(self.declares.len() as u32);
    }
}
