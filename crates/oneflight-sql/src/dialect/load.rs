//! Loading rows by the column: which of them can go the cheap way, and the two statements of that way, in each dialect's words.
//!
//! ```text
//!            insert                                     differing
//!   sqlite   INSERT VALUES, all or none                 VALUES joined to the table
//!   mysql    INSERT literals, all or none               JSON_TABLE joined to the table
//!   postgres INSERT arrays, names those not made        arrays that no row of the table equals
//! ```
//!
//! I1. `insert` makes rows or changes nothing: it updates no row. Its statements return the numbers of rows that it has not made;
//!     a pipeline that cannot name them makes all or fails, best with [`Fault::Unique`](crate::driver::Fault::Unique).
//! I2. `insert` takes no value of a sequence for a row that is there.
//! I3. `differing` returns a pair for each row that is not there exactly as it is said: its number, and whether its key is there. It
//!     may return too many, never too few: those who are not returned need nothing and meet no conflict.
//! I4. Both take rows that fit (see [`misfits`]), whose keys are distinct.
//!
//! Where a dialect cannot ask which rows differ, they are loaded the general way.

use super::{Col, Dialect, Layout, Room, load_mysql, load_postgres, load_sqlite, text};
use crate::columns::{Cells, Columns, Values, span};
use crate::driver::{Pipeline, Rows};
use crate::schema::Policy;
use crate::value::{Kind, Value, ValueRef};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Inserts the rows that are missing (I1, I2). [`missed`] reads what comes back.
pub(crate) fn insert(layout: &Layout, rows: &Arc<Columns>) -> Pipeline {
    match layout.dialect {
        Dialect::Sqlite => load_sqlite::insert(layout, rows),
        Dialect::Postgres => load_postgres::insert(layout, rows),
        Dialect::MySql => load_mysql::insert(layout, rows),
    }
}

/// Asks which rows are not there exactly as said (I3); none if the dialect cannot ask. [`differ`] reads what comes back.
pub(crate) fn differing(layout: &Layout, rows: &Arc<Columns>) -> Option<Pipeline> {
    match layout.dialect {
        Dialect::Sqlite => Some(load_sqlite::differing(layout, rows)),
        Dialect::Postgres => Some(load_postgres::differing(layout, rows)),
        Dialect::MySql => load_mysql::differing(layout, rows),
    }
}

/// The attributes that some row says something of: what nobody says is left to the column's default.
pub(super) fn told(rows: &Columns) -> Vec<usize> {
    let says = |cells: &Cells| (0..cells.len()).any(|row| !cells.is_null(row));
    let attributes = rows.attributes().iter().enumerate();
    let told = attributes.filter(|(_, cells)| cells.as_ref().is_some_and(says));
    told.map(|(at, _)| at).collect()
}

/// The attributes in which a row that is there may differ: what is said once is nobody's business after that.
pub(super) fn compared(layout: &Layout, rows: &Columns) -> Vec<usize> {
    let said = layout.table.attributes.iter().zip(rows.attributes());
    let compared = said
        .enumerate()
        .filter(|(_, (attribute, cells))| cells.is_some() && attribute.policy != Policy::Once);
    compared.map(|(at, _)| at).collect()
}

/// The rows that [`insert`] has not made.
pub(crate) fn missed(came: &[Rows]) -> Vec<usize> {
    let numbers = came
        .iter()
        .flat_map(Rows::iter)
        .filter_map(|row| row.first());
    numbers
        .filter_map(|number| usize::try_from(number.as_i64()?).ok())
        .collect()
}

/// The rows that [`differing`] has found: number, and whether the key is there.
pub(crate) fn differ(came: &[Rows]) -> Vec<(usize, bool)> {
    let pair = |row: &[Value]| match row {
        [Value::Int(number), Value::Int(is_there), ..] => {
            Some((usize::try_from(*number).ok()?, *is_there != 0))
        }
        _ => None,
    };
    came.iter().flat_map(Rows::iter).filter_map(pair).collect()
}

/// Whether the columns are the table's; if not, no row fits.
pub(crate) fn fits(layout: &Layout, rows: &Columns) -> bool {
    let (key, attributes) = (rows.key(), rows.attributes());
    let said = layout.attributes.iter().zip(attributes);
    let said = said.filter_map(|(col, cells)| cells.as_ref().map(|cells| (col, cells)));
    !key.is_empty()
        && key.len() == layout.key.len()
        && attributes.len() == layout.attributes.len()
        && (layout.key.iter().zip(key).chain(said)).all(|(col, cells)| col.kind == cells.kind())
}

/// The rows of fitting columns that hold a null in their key, or a value that cannot travel, be told from another or be
/// kept as it is.
pub(crate) fn misfits(layout: &Layout, rows: &Columns) -> BTreeSet<usize> {
    let mut misfits = BTreeSet::new();
    for (col, cells) in layout.key.iter().zip(rows.key()) {
        if cells.has_nulls() {
            misfits.extend((0..cells.len()).filter(|&row| cells.is_null(row)));
        }
        if col.kind == Kind::Text && col.pads() {
            let ends_in_space =
                |row: &usize| cells.text(*row).is_some_and(|text| text.ends_with(' '));
            misfits.extend((0..cells.len()).filter(ends_in_space));
        }
    }
    let key = layout.key.iter().zip(rows.key());
    let attributes = layout.attributes.iter().zip(rows.attributes());
    let said = attributes.filter_map(|(col, cells)| Some((col, cells.as_ref()?)));
    for (col, cells) in key.chain(said) {
        unkept(col, cells, &mut misfits);
        untold(layout.dialect, cells, &mut misfits);
    }
    misfits
}

/// The cells that the column would not keep as they are.
fn unkept(col: &Col, cells: &Cells, misfits: &mut BTreeSet<usize>) {
    if col.room == Room::All {
        return;
    }
    let is_lost = |row: &usize| match (col.kind, cells.text(*row)) {
        (Kind::Text, Some(text)) => !col.room.keeps(ValueRef::Text(text)),
        (Kind::Decimal, Some(text)) => !col.room.keeps(ValueRef::Decimal(text)),
        _ => {
            let value = cells.value(*row);
            !col.room.keeps((&value).into()) || col.room.empties((&value).into())
        }
    };
    misfits.extend((0..cells.len()).filter(is_lost));
}

/// The cells that cannot travel.
fn untold(dialect: Dialect, cells: &Cells, misfits: &mut BTreeSet<usize>) {
    let mut add = |row: usize, fits: bool| {
        if !fits && !cells.is_null(row) {
            misfits.insert(row);
        }
    };
    match cells.values() {
        Values::Texts(text, ends) if dialect != Dialect::MySql && text.contains('\0') => {
            (0..ends.len()).for_each(|row| add(row, !text[span(ends, row)].contains('\0')));
        }
        Values::Reals(reals) => {
            // Two zeros are two values, and only PostgreSQL compares them so.
            let is_plain = |real: &f64| {
                real.is_finite()
                    && (dialect == Dialect::Postgres || real.to_bits() != (-0.0_f64).to_bits())
            };
            let fit = reals.iter().map(is_plain);
            fit.enumerate().for_each(|(row, fits)| add(row, fits));
        }
        Values::Days(days) => {
            let fit = days.iter().map(|days| text::DAYS.contains(&(*days).into()));
            fit.enumerate().for_each(|(row, fits)| add(row, fits));
        }
        Values::Ints(ints) if cells.kind() == Kind::Timestamp => {
            let fit = ints
                .iter()
                .map(|micros| text::DAYS.contains(&micros.div_euclid(text::MICROS_A_DAY)));
            fit.enumerate().for_each(|(row, fits)| add(row, fits));
        }
        _ => {}
    }
}
