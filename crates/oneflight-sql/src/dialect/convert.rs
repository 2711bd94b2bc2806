//! Values as they travel (Q2), and back.

use super::{Col, Dialect, Room, text};
use crate::error::Error;
use crate::value::{Kind, Value};

/// The kind that a column's values travel as, on the way in.
pub(super) fn wire_in(dialect: Dialect, col: &Col) -> Kind {
    match (col.kind, dialect) {
        (Kind::Int | Kind::Real | Kind::Bytes, _) => col.kind,
        (Kind::Bool, Dialect::Postgres) => Kind::Bool,
        (Kind::Bool, _) => Kind::Int,
        (Kind::Uuid, Dialect::MySql) if col.db_type == "binary" => Kind::Bytes,
        _ => Kind::Text,
    }
}

/// The kind that a column's values travel as, on the way out.
pub(super) fn wire_out(dialect: Dialect, col: &Col) -> Kind {
    match (col.kind, dialect) {
        // Days and microseconds: no DateStyle and no time zone has a say.
        (Kind::Date | Kind::Timestamp, Dialect::Postgres | Dialect::MySql) => Kind::Int,
        _ => wire_in(dialect, col),
    }
}

/// A value as it travels.
pub(crate) fn encode(dialect: Dialect, col: &Col, value: &Value) -> Result<Value, Error> {
    let out_of_range = || {
        Error::refused(format!(
            "column `{}`: the year is not between 1 and 9999",
            col.name
        ))
    };
    Ok(match value {
        Value::Null => Value::Null,
        value if value.kind() != Some(col.kind) => {
            return Err(Error::usage(format!(
                "column `{}` is {}, and {} is not",
                col.name,
                col.kind,
                value.told()
            )));
        }
        Value::Text(text) if dialect != Dialect::MySql && text.contains('\0') => {
            return Err(Error::refused(format!(
                "column `{}`: the text holds a NUL character",
                col.name
            )));
        }
        Value::Text(_) | Value::Int(_) | Value::Bytes(_) => value.clone(),
        Value::Real(real) if real.is_finite() => value.clone(),
        Value::Real(_) => {
            return Err(Error::refused(format!(
                "column `{}`: the number is not finite",
                col.name
            )));
        }
        Value::Decimal(decimal) => Value::Text(decimal.clone()),
        Value::Bool(bool) if wire_in(dialect, col) == Kind::Int => Value::Int((*bool).into()),
        Value::Bool(_) => value.clone(),
        Value::Date(days) => {
            Value::Text(text::date((*days).into()).ok_or_else(out_of_range)?.into())
        }
        Value::Timestamp(micros) => {
            Value::Text(text::timestamp(*micros).ok_or_else(out_of_range)?.into())
        }
        Value::Uuid(uuid) if wire_in(dialect, col) == Kind::Bytes => {
            Value::Bytes(uuid.as_slice().into())
        }
        Value::Uuid(uuid) => Value::Text(text::uuid(uuid).into()),
    })
}

/// A value as it came. What is not of the column's kind stays as it is, and so is equal to nothing that is.
pub(crate) fn decode(dialect: Dialect, col: &Col, value: Value) -> Value {
    let read = match (col.kind, &value) {
        (Kind::Bool, Value::Int(int)) => Some(Value::Bool(*int != 0)),
        // SQLite, a column without a type: 5.0 is 5 to all that compares there.
        (Kind::Int, Value::Real(real)) => whole(*real).map(Value::Int),
        (Kind::Bool, Value::Real(real)) => Some(Value::Bool(*real != 0.0)),
        (Kind::Date, Value::Int(days)) => i32::try_from(*days).ok().map(Value::Date),
        (Kind::Date, Value::Text(text)) => text::parse_date(text).map(Value::Date),
        (Kind::Timestamp, Value::Int(micros)) if dialect != Dialect::Sqlite => {
            Some(Value::Timestamp(*micros))
        }
        (Kind::Timestamp, Value::Text(text)) => text::parse_timestamp(text).map(Value::Timestamp),
        (Kind::Decimal, Value::Text(text)) => Some(Value::Decimal(text::decimal(text).into())),
        (Kind::Decimal, Value::Int(int)) => Some(Value::Decimal(int.to_string().into())),
        (Kind::Decimal, Value::Real(real)) => {
            Some(Value::Decimal(text::decimal(&real.to_string()).into()))
        }
        (Kind::Real, Value::Int(int)) => Some(Value::Real(*int as f64)),
        (Kind::Real, Value::Real(_)) => col.room.nearest(&value),
        (Kind::Uuid, Value::Text(text)) => text::parse_uuid(text).map(Value::Uuid),
        (Kind::Uuid, Value::Bytes(bytes)) => <[u8; 16]>::try_from(&**bytes).ok().map(Value::Uuid),
        _ => None,
    };
    read.unwrap_or(value)
}

/// The integer that a float is, if it is one.
fn whole(real: f64) -> Option<i64> {
    let is_within = real.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&real);
    is_within.then_some(real as i64)
}

/// Whether the column would keep a value as it is.
pub(crate) fn keeps(col: &Col, value: &Value) -> Result<(), Error> {
    if col.room == Room::All || col.room.keeps(value.into()) {
        return Ok(());
    }
    Err(Error::refused(format!(
        "column `{}` is {} and would not keep `{value}` as it is: expected {}",
        col.name, col.full_type, col.room
    )))
}

/// Whether a value can travel, and would be kept as it is; dear for few kinds only.
pub(crate) fn check(dialect: Dialect, col: &Col, value: &Value) -> Result<(), Error> {
    keeps(col, value)?;
    match (value, col.kind) {
        (Value::Null, _) | (Value::Int(_), Kind::Int) | (Value::Bytes(_), Kind::Bytes) => Ok(()),
        (Value::Text(text), Kind::Text) if !text.contains('\0') => Ok(()),
        _ => encode(dialect, col, value).map(drop),
    }
}
