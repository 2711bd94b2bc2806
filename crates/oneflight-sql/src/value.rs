//! Values and their kinds: what a key or an attribute can hold on every database alike.

use crate::dialect::{date, timestamp, uuid};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Text of any length. Bytewise comparison, whatever the database's collation.
    Text,
    /// A 64-bit signed integer.
    Int,
    /// A 64-bit float. Never part of a key.
    Real,
    /// An exact decimal number, held as its canonical text.
    Decimal,
    /// True or false.
    Bool,
    /// A calendar day.
    Date,
    /// A point in time, in microseconds, UTC.
    Timestamp,
    /// A UUID.
    Uuid,
    /// Bytes.
    Bytes,
}

/// One value. Equality is exact: `Real` compares bits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// No value.
    Null,
    /// Text. Holds no NUL character (PostgreSQL cannot store one).
    Text(Box<str>),
    /// An integer.
    Int(i64),
    /// A finite float.
    Real(f64),
    /// A decimal in canonical form: optional `-`, no leading zeros but one before the point, no trailing zeros after it.
    Decimal(Box<str>),
    /// True or false.
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Bytes.
    Bytes(Box<[u8]>),
}

/// One value, borrowed: what is only looked at needs no copy.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueRef<'v> {
    /// No value.
    Null,
    /// Text.
    Text(&'v str),
    /// An integer.
    Int(i64),
    /// A finite float.
    Real(f64),
    /// A decimal in canonical form, see [`Value::Decimal`].
    Decimal(&'v str),
    /// True or false.
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Bytes.
    Bytes(&'v [u8]),
}

impl<'v> From<&'v Value> for ValueRef<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Text(text) => Self::Text(text),
            Value::Int(int) => Self::Int(*int),
            Value::Real(real) => Self::Real(*real),
            Value::Decimal(text) => Self::Decimal(text),
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Date(days) => Self::Date(*days),
            Value::Timestamp(micros) => Self::Timestamp(*micros),
            Value::Uuid(uuid) => Self::Uuid(*uuid),
            Value::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Text(text) => Self::Text(text.into()),
            ValueRef::Int(int) => Self::Int(int),
            ValueRef::Real(real) => Self::Real(real),
            ValueRef::Decimal(text) => Self::Decimal(text.into()),
            ValueRef::Bool(bool) => Self::Bool(bool),
            ValueRef::Date(days) => Self::Date(days),
            ValueRef::Timestamp(micros) => Self::Timestamp(micros),
            ValueRef::Uuid(uuid) => Self::Uuid(uuid),
            ValueRef::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

impl fmt::Display for Kind {
    /// The kind as a mapping calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Int => "integer",
            Self::Real => "real",
            Self::Decimal => "decimal",
            Self::Bool => "boolean",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Uuid => "uuid",
            Self::Bytes => "bytes",
        })
    }
}

impl fmt::Display for Value {
    /// The value as a person would write it: days and times by ISO 8601, bytes in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Text(text) | Self::Decimal(text) => f.write_str(text),
            Self::Int(int) => write!(f, "{int}"),
            Self::Real(real) => write!(f, "{real}"),
            Self::Bool(bool) => write!(f, "{bool}"),
            Self::Date(days) => match date((*days).into()) {
                Some(date) => f.write_str(&date),
                None => write!(f, "day {days} from 1970-01-01"),
            },
            Self::Timestamp(micros) => match timestamp(*micros) {
                Some(time) => f.write_str(time.trim_end_matches('0').trim_end_matches('.')),
                None => write!(f, "microsecond {micros} from 1970-01-01"),
            },
            Self::Uuid(bytes) => f.write_str(&uuid(bytes)),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl Value {
    /// True if there is no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value with its kind, for a message.
    pub(crate) fn told(&self) -> String {
        match self.kind() {
            Some(kind) => format!("the {kind} `{self}`"),
            None => self.to_string(),
        }
    }

    /// The integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The kind of the value; none for null.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Null => return None,
            Self::Text(_) => Kind::Text,
            Self::Int(_) => Kind::Int,
            Self::Real(_) => Kind::Real,
            Self::Decimal(_) => Kind::Decimal,
            Self::Bool(_) => Kind::Bool,
            Self::Date(_) => Kind::Date,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Uuid(_) => Kind::Uuid,
            Self::Bytes(_) => Kind::Bytes,
        })
    }
}

impl Ord for Value {
    /// By kind, then by value; texts and bytes bytewise, decimals by their text. A total order, not always the natural one.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Text(a), Self::Text(b)) | (Self::Decimal(a), Self::Decimal(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) | (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.to_bits().cmp(&b.to_bits()),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (a, b) => a
                .kind()
                .map(|kind| kind as u8)
                .cmp(&b.kind().map(|kind| kind as u8)),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Text(text) | Self::Decimal(text) => text.hash(state),
            Self::Int(int) | Self::Timestamp(int) => int.hash(state),
            Self::Real(real) => real.to_bits().hash(state),
            Self::Bool(bool) => bool.hash(state),
            Self::Date(day) => day.hash(state),
            Self::Uuid(uuid) => uuid.hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => |$it:ident| $value:expr),* $(,)?) => { $(
        impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $value
            }
        }
    )* };
}

value_from! {
    &str => |text| Self::Text(text.into()),
    String => |text| Self::Text(text.into()),
    Box<str> => |text| Self::Text(text),
    i64 => |int| Self::Int(int),
    i32 => |int| Self::Int(int.into()),
    u32 => |int| Self::Int(int.into()),
    f64 => |real| Self::Real(real),
    bool => |bool| Self::Bool(bool),
    [u8; 16] => |uuid| Self::Uuid(uuid),
    &[u8] => |bytes| Self::Bytes(bytes.into()),
    Vec<u8> => |bytes| Self::Bytes(bytes.into()),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
