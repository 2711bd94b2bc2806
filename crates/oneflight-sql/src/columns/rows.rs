//! The rows of a table, column by column.

use super::cells::Cells;
use crate::record::Record;
use crate::schema::Table;

/// Rows of one table, column by column: the key columns, then one slot for each attribute.
///
/// # Examples
/// ```
/// use oneflight_sql::{Cells, Columns, Kind, Value};
///
/// let mut game = Cells::new(Kind::Int);
/// let mut goals = Cells::new(Kind::Int);
/// for row in 0..3 {
///     game.push_int(row);
///     goals.push_int(2 * row);
/// }
/// // Of the second attribute nobody says anything.
/// let rows = Columns::new(vec![game], vec![Some(goals), None]);
/// assert_eq!(rows.len(), 3);
/// assert_eq!(rows.record(2).attributes[..], [Some(Value::Int(4)), None]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    len: usize,
    key: Vec<Cells>,
    attributes: Vec<Option<Cells>>,
}

impl Columns {
    /// Takes the key columns, in the order of [`Table::key`](crate::Table), and what is said of the attributes, in theirs. A
    /// slot is none if nobody says anything of that attribute.
    ///
    /// # Panics
    /// The columns are not equally long, or there is none.
    pub fn new(key: Vec<Cells>, attributes: Vec<Option<Cells>>) -> Self {
        let mut lens = key
            .iter()
            .chain(attributes.iter().flatten())
            .map(Cells::len);
        let Some(len) = lens.next() else {
            panic!("O1: columns without a column");
        };
        assert!(
            lens.all(|other| other == len),
            "O1: columns are not equally long"
        );
        Self {
            len,
            key,
            attributes,
        }
    }

    /// The rows of records, whose external ids are left out. What is not said where others say something is null, which says
    /// nothing of a row that exists.
    ///
    /// # Panics
    /// A record has no key, does not fit the table, or holds a value of another kind than its column's.
    pub fn of(table: &Table, records: &[Record]) -> Self {
        let mut key: Vec<Cells> = table
            .key
            .iter()
            .map(|column| Cells::with_capacity(column.kind, records.len()))
            .collect();
        for record in records {
            let values = record.key.as_deref().unwrap_or_default();
            assert_eq!(values.len(), key.len(), "one value for each key column");
            key.iter_mut()
                .zip(values)
                .for_each(|(cells, value)| cells.push(value));
        }
        let attributes = table.attributes.iter().enumerate().map(|(at, attribute)| {
            let said = |record: &Record| record.attributes.get(at).cloned().flatten();
            records
                .iter()
                .any(|record| said(record).is_some())
                .then(|| {
                    let mut cells = Cells::with_capacity(attribute.column.kind, records.len());
                    for record in records {
                        match said(record) {
                            Some(value) => cells.push(&value),
                            None => cells.push_null(),
                        }
                    }
                    cells
                })
        });
        let attributes = attributes.collect();
        Self {
            len: records.len(),
            key,
            attributes,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key columns.
    pub fn key(&self) -> &[Cells] {
        &self.key
    }

    /// The attributes.
    pub fn attributes(&self) -> &[Option<Cells>] {
        &self.attributes
    }

    /// One row as a record without an external id.
    ///
    /// # Panics
    /// There is no such row.
    pub fn record(&self, row: usize) -> Record {
        assert!(row < self.len, "row {row} of {}", self.len);
        let said = |cells: &Option<Cells>| cells.as_ref().map(|cells| cells.value(row));
        Record {
            key: Some(self.key.iter().map(|cells| cells.value(row)).collect()),
            external: None,
            attributes: self.attributes.iter().map(said).collect(),
        }
    }

    /// These rows, in this order.
    ///
    /// # Panics
    /// There is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let select = |cells: &Option<Cells>| cells.as_ref().map(|cells| cells.select(rows));
        Self {
            len: rows.len(),
            key: self.key.iter().map(|cells| cells.select(rows)).collect(),
            attributes: self.attributes.iter().map(select).collect(),
        }
    }
}
