//! Flat schemas: column readers side by side, a few rows at a time.
//!
//!   row group ──▶ column readers ──BATCH values each──▶ columns ──transposed──▶ Flat

use super::open::Portions;
use super::render::{self, Meaning};
use crate::read::input::Limits;
use crate::rows::{Bad, Flat, Rows as Out};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;

/// Rows that are turned into text at once, so that a chunk's limit in bytes is met closely.
const BATCH: usize = 1_024;

/// The rows of a flat file.
pub(super) struct Rows {
    reader: SerializedFileReader<File>,
    group: usize,
    columns: Vec<Column>,
    /// Rows of the current group that are not read yet.
    left: usize,
    row: u64,
}

struct Column {
    name: String,
    meaning: Meaning,
    optional: bool,
    reader: ColumnReader,
    levels: Vec<i16>,
    values: Values,
    /// The next value of the batch.
    at: usize,
}

#[derive(Default)]
struct Values {
    bools: Vec<bool>,
    ints: Vec<i32>,
    longs: Vec<i64>,
    int96s: Vec<Int96>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    bytes: Vec<ByteArray>,
    fixed: Vec<FixedLenByteArray>,
}

impl Rows {
    pub(super) fn new(reader: SerializedFileReader<File>) -> Self {
        Self {
            reader,
            group: 0,
            columns: Vec::new(),
            left: 0,
            row: 0,
        }
    }

    /// Opens row groups until one has rows. False at the end of the file.
    fn group(&mut self) -> Result<bool, ParquetError> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group)?;
            self.group += 1;
            self.left = usize::try_from(group.metadata().num_rows())
                .map_err(|e| ParquetError::General(e.to_string()))?;
            let descriptors = group.metadata().schema_descr_ptr();
            self.columns.clear();
            for at in 0..group.num_columns() {
                self.columns.push(Column::new(
                    &descriptors.column(at),
                    group.get_column_reader(at)?,
                ));
            }
        }
        Ok(true)
    }
}

impl Portions for Rows {
    fn row(&self) -> u64 {
        self.row
    }

    fn portion(&mut self, limits: Limits) -> Result<Option<(Out, Vec<Bad>)>, ParquetError> {
        let width = self
            .reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .num_columns();
        let mut flat = Flat::new(width);
        let mut bad = Vec::new();
        while !limits.reached(flat.len() + bad.len(), flat.text.len()) && self.group()? {
            let rows = BATCH
                .min(self.left)
                .min(limits.rows - flat.len() - bad.len());
            for column in &mut self.columns {
                column.read(rows)?;
            }
            for at in 0..rows {
                self.row += 1;
                let wrong = self
                    .columns
                    .iter_mut()
                    .map(|column| column.cell(at, &mut flat))
                    .filter(|fine| !fine)
                    .count();
                if wrong == 0 {
                    flat.end_row(self.row);
                } else {
                    bad.push(
                        self.columns
                            .iter()
                            .find_map(|column| column.complaint(at, self.row))
                            .unwrap_or_else(|| no_text(self.row)),
                    );
                    flat.drop_cells();
                }
            }
            self.left -= rows;
        }
        Ok((!flat.is_empty() || !bad.is_empty()).then_some((Out::Flat(flat), bad)))
    }
}

fn no_text(row: u64) -> Bad {
    Bad {
        line: row,
        column: None,
        value: None,
        reason: "a value that has no text".to_owned(),
    }
}

impl Column {
    fn new(descriptor: &ColumnDescPtr, reader: ColumnReader) -> Self {
        let kind = descriptor.self_type();
        Self {
            name: descriptor.name().to_owned(),
            meaning: Meaning::of(kind),
            optional: descriptor.max_def_level() > 0,
            reader,
            levels: Vec::new(),
            values: Values::default(),
            at: 0,
        }
    }

    /// Reads the next rows of this column.
    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.at = 0;
        self.levels.clear();
        let levels = self.optional.then_some(&mut self.levels);
        let values = &mut self.values;
        let read = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => fill(reader, rows, levels, &mut values.bools),
            ColumnReader::Int32ColumnReader(reader) => fill(reader, rows, levels, &mut values.ints),
            ColumnReader::Int64ColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.longs)
            }
            ColumnReader::Int96ColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.int96s)
            }
            ColumnReader::FloatColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.floats)
            }
            ColumnReader::DoubleColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.doubles)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.bytes)
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                fill(reader, rows, levels, &mut values.fixed)
            }
        }?;
        if read != rows || (self.optional && self.levels.len() != rows) {
            return Err(ParquetError::EOF(format!(
                "the column `{}` ends before its row group",
                self.name
            )));
        }
        Ok(())
    }

    /// Appends the cell of a row of the batch; cells are asked for in order. False if the value has no text (C2).
    fn cell(&mut self, row: usize, flat: &mut Flat) -> bool {
        if self.optional && self.levels[row] == 0 {
            flat.push(None);
            return true;
        }
        let start = flat.text.len();
        let (at, meaning, out) = (self.at, self.meaning, &mut flat.text);
        self.at += 1;
        let values = &self.values;
        let mut fine = true;
        match &self.reader {
            ColumnReader::BoolColumnReader(_) => {
                out.push_str(if values.bools[at] { "true" } else { "false" })
            }
            ColumnReader::Int32ColumnReader(_) => render::int32(values.ints[at], meaning, out),
            ColumnReader::Int64ColumnReader(_) => render::int64(values.longs[at], meaning, out),
            ColumnReader::Int96ColumnReader(_) => {
                render::int64(values.int96s[at].to_nanos(), meaning, out)
            }
            ColumnReader::FloatColumnReader(_) => render::float(values.floats[at], out),
            ColumnReader::DoubleColumnReader(_) => render::double(values.doubles[at], out),
            ColumnReader::ByteArrayColumnReader(_) => {
                fine = render::bytes(values.bytes[at].data(), meaning, out)
            }
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                fine = render::bytes(values.fixed[at].data(), meaning, out)
            }
        }
        flat.end_cell(start);
        fine
    }

    /// What is wrong with the cell that was appended last, if something is.
    fn complaint(&self, row: usize, line: u64) -> Option<Bad> {
        if self.optional && self.levels[row] == 0 {
            return None;
        }
        let at = self.at.checked_sub(1)?;
        let bytes = match &self.reader {
            ColumnReader::ByteArrayColumnReader(_) => self.values.bytes[at].data(),
            ColumnReader::FixedLenByteArrayColumnReader(_) => self.values.fixed[at].data(),
            _ => return None,
        };
        if render::bytes(bytes, self.meaning, &mut String::new()) {
            return None;
        }
        let value = bytes
            .iter()
            .take(32)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let reason = match self.meaning {
            Meaning::Decimal(_) => "a decimal of more than 128 bits".to_owned(),
            _ => "bytes that are not UTF-8 text".to_owned(),
        };
        Some(Bad {
            line,
            column: Some(self.name.clone()),
            value: Some(value),
            reason,
        })
    }
}

fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    values.clear();
    let mut done = 0;
    while done < rows {
        let (records, _, _) =
            reader.read_records(rows - done, levels.as_deref_mut(), None, values)?;
        if records == 0 {
            break;
        }
        done += records;
    }
    Ok(done)
}
