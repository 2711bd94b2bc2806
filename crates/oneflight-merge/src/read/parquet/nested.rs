//! Nested schemas: records become JSON trees.

use super::open::Portions;
use super::render::{self, Meaning};
use crate::read::input::Limits;
use crate::rows::{Bad, Rows as Out, Tree};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Number, Value};
use std::fs::File;

/// The rows of a nested file.
pub(super) struct Rows {
    schema: TypePtr,
    records: RowIter<'static>,
    row: u64,
}

impl Rows {
    pub(super) fn new(reader: SerializedFileReader<File>) -> Self {
        let schema = reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .root_schema_ptr();
        Self {
            schema,
            records: RowIter::from_file_into(Box::new(reader)),
            row: 0,
        }
    }
}

impl Portions for Rows {
    fn row(&self) -> u64 {
        self.row
    }

    fn portion(&mut self, limits: Limits) -> Result<Option<(Out, Vec<Bad>)>, ParquetError> {
        let (mut trees, mut bad, mut bytes) = (Vec::new(), Vec::new(), 0);
        while !limits.reached(trees.len() + bad.len(), bytes) {
            let Some(record) = self.records.next() else {
                break;
            };
            let record = record?;
            self.row += 1;
            match object(record, &self.schema, &mut bytes) {
                Ok(value) => trees.push(Tree {
                    value,
                    parent: None,
                    line: self.row,
                }),
                Err(column) => {
                    let reason = "bytes that are not UTF-8 text".to_owned();
                    bad.push(Bad {
                        line: self.row,
                        column: Some(column),
                        value: None,
                        reason,
                    });
                }
            }
        }
        Ok((!trees.is_empty() || !bad.is_empty()).then_some((Out::Tree(trees), bad)))
    }
}

/// A group as an object. The error is the name of the column whose value has no text (C2).
fn object(row: Row, schema: &Type, bytes: &mut usize) -> Result<Value, String> {
    let types = schema.get_fields();
    let mut members = Map::new();
    for (name, field) in row.into_columns() {
        let kind = types.iter().find(|kind| kind.name() == name);
        let value = value(field, kind, bytes).map_err(|inner| {
            if inner.is_empty() {
                name.clone()
            } else {
                format!("{name}.{inner}")
            }
        })?;
        *bytes += name.len() + 4;
        members.insert(name, value);
    }
    Ok(Value::Object(members))
}

fn value(field: Field, kind: Option<&TypePtr>, bytes: &mut usize) -> Result<Value, String> {
    let kind = kind.map(|kind| &**kind);
    match field {
        Field::Null => Ok(Value::Null),
        Field::Bool(value) => Ok(Value::Bool(value)),
        Field::Group(row) => match kind {
            Some(kind) if kind.is_group() => object(row, kind, bytes),
            _ => object(row, &empty(), bytes),
        },
        Field::ListInternal(list) => {
            let element = kind.and_then(element);
            list.elements()
                .iter()
                .map(|item| value(item.clone(), element.as_ref(), bytes))
                .collect::<Result<_, _>>()
                .map(Value::Array)
        }
        Field::MapInternal(map) => {
            let pair = kind
                .and_then(|kind| kind.get_fields().first())
                .map(|pair| pair.get_fields());
            let mut members = Map::new();
            for (key, item) in map.entries() {
                let key = scalar(key, pair.and_then(|pair| pair.first()).map(|kind| &**kind))
                    .ok_or_else(String::new)?;
                let item = value(item.clone(), pair.and_then(|pair| pair.get(1)), bytes)?;
                members.insert(key, item);
            }
            Ok(Value::Object(members))
        }
        field => {
            let text = scalar(&field, kind).ok_or_else(String::new)?;
            *bytes += text.len();
            Ok(if is_number(&field, kind) {
                number(text)
            } else {
                Value::String(text)
            })
        }
    }
}

fn empty() -> Type {
    Type::group_type_builder("empty")
        .build()
        .unwrap_or_else(|_| unreachable!("a group without fields is a valid type"))
}

/// The type of a list's elements, by the rules of the format: a repeated group of one field is a wrapper, else the element itself.
fn element(list: &Type) -> Option<TypePtr> {
    if !list.is_group() {
        return None;
    }
    let repeated = list.get_fields().first()?;
    let legacy = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    match repeated.is_group() && repeated.get_fields().len() == 1 && !legacy {
        true => repeated.get_fields().first().cloned(),
        false => Some(repeated.clone()),
    }
}

fn is_number(field: &Field, kind: Option<&Type>) -> bool {
    let meaning = meaning(kind);
    match field {
        Field::Long(_) | Field::Int(_) => !matches!(
            meaning,
            Meaning::Timestamp(..) | Meaning::Time(_) | Meaning::Date
        ),
        Field::Byte(_)
        | Field::Short(_)
        | Field::UByte(_)
        | Field::UShort(_)
        | Field::UInt(_)
        | Field::ULong(_)
        | Field::Decimal(_) => true,
        Field::Float(value) => value.is_finite(),
        Field::Double(value) => value.is_finite(),
        Field::Float16(value) => value.to_f32().is_finite(),
        _ => false,
    }
}

/// A number that keeps its digits.
fn number(text: String) -> Value {
    match text.parse::<Number>() {
        Ok(number) => Value::Number(number),
        Err(_) => Value::String(text),
    }
}

fn meaning(kind: Option<&Type>) -> Meaning {
    kind.filter(|kind| kind.is_primitive())
        .map_or(Meaning::Plain, Meaning::of)
}

/// A value as text; none if it has no text.
fn scalar(field: &Field, kind: Option<&Type>) -> Option<String> {
    let meaning = meaning(kind);
    let mut out = String::new();
    match field {
        Field::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Field::Byte(value) => render::int64(i64::from(*value), Meaning::Plain, &mut out),
        Field::Short(value) => render::int64(i64::from(*value), Meaning::Plain, &mut out),
        Field::Int(value) => render::int32(*value, meaning, &mut out),
        Field::Long(value) => render::int64(*value, meaning, &mut out),
        Field::UByte(value) => render::int64(i64::from(*value), Meaning::Plain, &mut out),
        Field::UShort(value) => render::int64(i64::from(*value), Meaning::Plain, &mut out),
        Field::UInt(value) => render::int64(i64::from(*value), Meaning::Plain, &mut out),
        Field::ULong(value) => render::int64(value.cast_signed(), Meaning::Unsigned, &mut out),
        Field::Float16(value) => render::float(value.to_f32(), &mut out),
        Field::Float(value) => render::float(*value, &mut out),
        Field::Double(value) => render::double(*value, &mut out),
        Field::Decimal(value) => {
            let scale = u32::try_from(value.scale()).unwrap_or(0);
            return render::bytes(value.data(), Meaning::Decimal(scale), &mut out).then_some(out);
        }
        Field::Str(value) => out.push_str(value),
        Field::Bytes(value) => {
            return render::bytes(value.data(), meaning, &mut out).then_some(out);
        }
        Field::Date(value) => render::int32(*value, Meaning::Date, &mut out),
        Field::TimeMillis(value) => render::int32(*value, Meaning::Time(1_000), &mut out),
        Field::TimeMicros(value) => render::int64(*value, Meaning::Time(1_000_000), &mut out),
        Field::TimestampMillis(value) => render::int64(*value, stamp(meaning, 1_000), &mut out),
        Field::TimestampMicros(value) => render::int64(*value, stamp(meaning, 1_000_000), &mut out),
        Field::Null | Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            return None;
        }
    }
    Some(out)
}

/// The record reader has settled the unit; the schema knows whether it is in UTC.
fn stamp(meaning: Meaning, units: i64) -> Meaning {
    Meaning::Timestamp(units, matches!(meaning, Meaning::Timestamp(_, true)))
}
