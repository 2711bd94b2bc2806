//! Values and their kinds: what a key or an attribute can hold on every database alike.

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
