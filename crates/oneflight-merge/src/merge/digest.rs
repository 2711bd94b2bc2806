//! The digest of a key whose parts may be null: one column of 16 bytes, `row_key`, that a unique index can cover on every
//! database (only PostgreSQL has unique indexes that take nulls for equal).
//!
//! It is SHA-256, cut to 128 bits, over the parts in the order of the key, each with a tag and its length, so that no two
//! different keys are written alike. It is stored, so its form must never change.

use oneflight_sql::ValueRef;
use sha2::{Digest as _, Sha256};

/// Collects the parts of a key.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Adds a part that is not there.
    pub(crate) fn null(&mut self) {
        self.part(0, &[]);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.part(1, text.as_bytes());
    }

    /// Adds a value.
    pub(crate) fn value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.null(),
            ValueRef::Text(text) => self.text(text),
            ValueRef::Int(int) => self.part(2, &int.to_be_bytes()),
            ValueRef::Real(real) => self.part(3, &real.to_be_bytes()),
            ValueRef::Decimal(text) => self.part(4, text.as_bytes()),
            ValueRef::Bool(bool) => self.part(5, &[u8::from(bool)]),
            ValueRef::Date(days) => self.part(6, &days.to_be_bytes()),
            ValueRef::Timestamp(micros) => self.part(7, &micros.to_be_bytes()),
            ValueRef::Uuid(uuid) => self.part(8, &uuid),
            ValueRef::Bytes(bytes) => self.part(9, bytes),
            // A kind of value that is newer than this function must not share a tag with another.
            other => self.part(255, format!("{other:?}").as_bytes()),
        }
    }

    /// The digest.
    pub(crate) fn finish(self) -> [u8; 16] {
        let digest: [u8; 32] = self.0.finalize().into();
        std::array::from_fn(|at| digest[at])
    }

    fn part(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag]);
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oneflight_sql::Value;

    fn digest(parts: &[Value]) -> [u8; 16] {
        let mut digest = Digest::default();
        for part in parts {
            digest.value(part.into());
        }
        digest.finish()
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let text = |s: &str| Value::Text(s.into());
        assert_ne!(
            digest(&[text("ab"), text("c")]),
            digest(&[text("a"), text("bc")])
        );
        assert_ne!(
            digest(&[Value::Null, text("")]),
            digest(&[text(""), Value::Null])
        );
        assert_ne!(digest(&[Value::Int(1)]), digest(&[text("1")]));
    }

    #[test]
    fn its_form_is_fixed_because_it_is_stored() {
        let bytes = digest(&[
            Value::Int(17),
            Value::Text("Pelé".into()),
            Value::Null,
            Value::Date(-1),
        ]);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "99c34e1bcae5a4e4ceaa26e0b0d5d840");
    }
}
