//! A column as an array of PostgreSQL, in its binary form, written straight from where the cells are kept.
//!
//! ```text
//!   1 (dimensions) · has nulls · type · length · 1 (first index) ‖ for each cell: its length, its bytes; a null is -1 long
//! ```
//!
//! Y1. A day travels as `date`, a time as `timestamp` (UTC), a UUID as `uuid`: no text is written to be read again. A decimal is a
//!     text.

use super::pipeline::BindColumn;
use crate::columns::{Cells, Values, span};
use crate::value::Kind;
use bytes::{BufMut, BytesMut};
use sqlx::encode::{Encode, IsNull as SqlxIsNull};
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, Postgres};
use std::error::Error as StdError;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// 2000-01-01, where PostgreSQL begins to count.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

type Wrong = Box<dyn StdError + Sync + Send>;

/// What a cell of this kind travels as, alone and in an array (Y1).
fn types(kind: Kind) -> (Type, Type) {
    match kind {
        Kind::Int => (Type::INT8, Type::INT8_ARRAY),
        Kind::Real => (Type::FLOAT8, Type::FLOAT8_ARRAY),
        Kind::Bool => (Type::BOOL, Type::BOOL_ARRAY),
        Kind::Date => (Type::DATE, Type::DATE_ARRAY),
        Kind::Timestamp => (Type::TIMESTAMP, Type::TIMESTAMP_ARRAY),
        Kind::Uuid => (Type::UUID, Type::UUID_ARRAY),
        Kind::Bytes => (Type::BYTEA, Type::BYTEA_ARRAY),
        Kind::Text | Kind::Decimal => (Type::TEXT, Type::TEXT_ARRAY),
    }
}

/// A column on its way: apart from [`BindColumn`], whose callers shall not see what the clients ask of it.
#[derive(Debug)]
pub(super) struct Array(pub(super) BindColumn);

impl Array {
    /// The type of the array.
    pub(super) fn array_type(&self) -> Type {
        self.0
            .cells()
            .map_or(Type::TEXT_ARRAY, |cells| types(cells.kind()).1)
    }

    fn write(&self, out: &mut impl BufMut) -> Result<(), Wrong> {
        let cells = self
            .0
            .cells()
            .ok_or("nobody says anything of this column")?;
        out.put_i32(1);
        out.put_i32(i32::from(cells.has_nulls()));
        out.put_u32(types(cells.kind()).0.oid());
        out.put_i32(i32::try_from(cells.len())?);
        out.put_i32(1);
        match cells.values() {
            Values::Ints(ints) if cells.kind() == Kind::Timestamp => {
                fixed(cells, ints, out, |micros| {
                    (micros - EPOCH_MICROS).to_be_bytes()
                });
            }
            Values::Ints(ints) => fixed(cells, ints, out, |int| int.to_be_bytes()),
            Values::Days(days) => fixed(cells, days, out, |days| (days - EPOCH_DAYS).to_be_bytes()),
            Values::Reals(reals) => fixed(cells, reals, out, |real| real.to_be_bytes()),
            Values::Bools(bools) => fixed(cells, bools, out, |bool| [u8::from(bool)]),
            Values::Uuids(uuids) => fixed(cells, uuids, out, |uuid| uuid),
            Values::Texts(text, ends) => varying(cells, text.as_bytes(), ends, out)?,
            Values::Bytes(bytes, ends) => varying(cells, bytes, ends, out)?,
        }
        Ok(())
    }
}

/// Cells that are all of one length.
fn fixed<T: Copy, const N: usize>(
    cells: &Cells,
    values: &[T],
    out: &mut impl BufMut,
    bytes: impl Fn(T) -> [u8; N],
) {
    for (row, &value) in values.iter().enumerate() {
        if cells.is_null(row) {
            out.put_i32(-1);
        } else {
            out.put_i32(N as i32);
            out.put_slice(&bytes(value));
        }
    }
}

/// Cells that have a length of their own.
fn varying(cells: &Cells, all: &[u8], ends: &[usize], out: &mut impl BufMut) -> Result<(), Wrong> {
    for row in 0..ends.len() {
        if cells.is_null(row) {
            out.put_i32(-1);
        } else {
            let bytes = &all[span(ends, row)];
            out.put_i32(i32::try_from(bytes.len())?);
            out.put_slice(bytes);
        }
    }
    Ok(())
}

impl ToSql for Array {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Wrong> {
        self.write(out)?;
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl sqlx::Type<Postgres> for Array {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(Type::TEXT_ARRAY.oid()))
    }
}

impl Encode<'_, Postgres> for Array {
    fn encode_by_ref(&self, out: &mut PgArgumentBuffer) -> Result<SqlxIsNull, Wrong> {
        let out: &mut Vec<u8> = out;
        self.write(out)?;
        Ok(SqlxIsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(Oid(self.array_type().oid())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::value::Value;
    use std::sync::Arc;

    fn written(kind: Kind, values: &[Value]) -> (Vec<u8>, Vec<u8>) {
        let mut cells = Cells::new(kind);
        values.iter().for_each(|value| cells.push(value));
        let columns = Arc::new(Columns::new(vec![cells], Vec::new()));
        let bind = Array(BindColumn { columns, at: 0 });
        let (mut far, mut near) = (BytesMut::new(), Vec::new());
        bind.write(&mut far).expect("it is short enough");
        bind.write(&mut near).expect("it is short enough");
        (far.to_vec(), near)
    }

    #[test]
    fn arrays_are_written_as_the_client_writes_its_own() {
        let own = |values: &dyn ToSql, ty: &Type| {
            let mut out = BytesMut::new();
            values
                .to_sql_checked(ty, &mut out)
                .expect("it can be written");
            out.to_vec()
        };
        let ints = [Value::Int(-7), Value::Null, Value::Int(i64::MAX)];
        let (far, near) = written(Kind::Int, &ints);
        assert_eq!(far, near);
        let theirs = vec![Some(-7_i64), None, Some(i64::MAX)];
        assert_eq!(far, own(&theirs, &Type::INT8_ARRAY));
        let texts = [Value::from("naïve"), Value::from("")];
        let theirs = vec![Some("naïve"), Some("")];
        assert_eq!(
            written(Kind::Text, &texts).0,
            own(&theirs, &Type::TEXT_ARRAY)
        );
        let bools = [Value::Bool(true), Value::Bool(false)];
        let theirs = vec![true, false];
        assert_eq!(
            written(Kind::Bool, &bools).0,
            own(&theirs, &Type::BOOL_ARRAY)
        );
        let reals = [Value::Real(1.5), Value::Real(-0.0)];
        let theirs = vec![1.5_f64, -0.0];
        assert_eq!(
            written(Kind::Real, &reals).0,
            own(&theirs, &Type::FLOAT8_ARRAY)
        );
    }

    #[test]
    fn days_and_times_are_counted_from_the_year_2000() {
        let days = [Value::Date(EPOCH_DAYS), Value::Date(0)];
        let (bytes, _) = written(Kind::Date, &days);
        assert_eq!(bytes[24..28], 0_i32.to_be_bytes());
        assert_eq!(bytes[32..36], (-EPOCH_DAYS).to_be_bytes());
        let (bytes, _) = written(Kind::Timestamp, &[Value::Timestamp(EPOCH_MICROS + 1)]);
        assert_eq!(bytes[24..32], 1_i64.to_be_bytes());
    }
}
