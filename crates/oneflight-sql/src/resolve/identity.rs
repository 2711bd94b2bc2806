//! What makes two records one flight, and what makes them worth a second look.
//!
//!   Record ─┬─▶ identity   the external id if there is one, else the key: whom it is about
//!           └─▶ detail     all else that it says of that row: 0 if nothing
//!
//! I1. Two records with one identity are about one row. (The reverse need not hold: a key and an external id can lead to one
//!     row. That they do not make two is the store's affair, which locks both.)
//! I2. Equal identities have equal bytes, and nothing else has.
//! I3. Two records with one identity and one detail are the same record, but for spellings that are set once.

use crate::record::{External, Record};
use crate::schema::{Policy, Table};
use crate::value::Value;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

/// A record that is wanted: the key of a flight.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identity: Box<[u8]>,
    print: u128,
    detail: u64,
    round: Round,
    epoch: u64,
    record: Record,
}

/// Which flight a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Round {
    /// The flight that all records of one identity share.
    Shared,
    /// A flight for the records that say the same of it: the shared one said something else.
    Detail(u64),
}

impl Wanted {
    /// The same record, for a flight with those only that say the same.
    pub(crate) fn for_itself(&self) -> Self {
        let Inner {
            identity,
            print,
            detail,
            epoch,
            record,
            ..
        } = &*self.0;
        let (print, detail, epoch, round) = (*print, *detail, *epoch, Round::Detail(*detail));
        Self(Arc::new(Inner {
            identity: identity.clone(),
            print,
            detail,
            round,
            epoch,
            record: record.clone(),
        }))
    }

    pub(crate) fn record(&self) -> &Record {
        &self.0.record
    }

    /// The fingerprint of the identity: what is remembered is known by it.
    pub(crate) fn print(&self) -> u128 {
        self.0.print
    }

    pub(crate) fn detail(&self) -> u64 {
        self.0.detail
    }
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        (a.print, a.round, a.epoch) == (b.print, b.round, b.epoch) && a.identity == b.identity
    }
}

impl Eq for Wanted {}

impl Hash for Wanted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The print is a hash already, and says it all but for the round, which equality looks at.
        state.write_u64(self.0.print as u64);
    }
}

/// Takes fingerprints. Keyed with secrets of this process, because what is remembered is told apart by the print alone: who can
/// choose keys must not be able to choose two with one print.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    low: RandomState,
    high: RandomState,
}

impl Printer {
    /// The record as a key for flights (I1 to I3). Those of one epoch share them: what was asked for before all was forgotten is
    /// no answer for who asks after it.
    pub(crate) fn wanted(&self, record: Record, table: &Table, epoch: u64) -> Wanted {
        let identity = match (&record.external, &record.key) {
            (Some(external), _) => of_external(external),
            (None, key) => of_key(key.as_deref().unwrap_or_default()),
        };
        let print = self.print(&identity);
        let detail = self.detail(&record, table);
        let (identity, round) = (identity.into(), Round::Shared);
        Wanted(Arc::new(Inner {
            identity,
            print,
            detail,
            round,
            epoch,
            record,
        }))
    }

    fn print(&self, identity: &[u8]) -> u128 {
        u128::from(self.high.hash_one(identity)) << 64 | u128::from(self.low.hash_one(identity))
    }

    /// What the record says beside whom it is about; 0 if nothing.
    fn detail(&self, record: &Record, table: &Table) -> u64 {
        let mut said = Vec::new();
        if let (Some(_), Some(key)) = (&record.external, &record.key) {
            said = of_key(key);
        }
        for (at, (value, attribute)) in record.attributes.iter().zip(&table.attributes).enumerate()
        {
            match value {
                None | Some(Value::Null) => {}
                Some(_) if attribute.policy == Policy::Once => {}
                Some(value) => {
                    said.extend_from_slice(&(at as u32).to_le_bytes());
                    encode(value, &mut said);
                }
            }
        }
        if said.is_empty() {
            0
        } else {
            self.low.hash_one(&said).max(1)
        }
    }
}

fn of_external(external: &External) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + external.source.len() + external.id.len());
    bytes.push(b'x');
    encode_bytes(external.source.as_bytes(), &mut bytes);
    encode_bytes(external.id.as_bytes(), &mut bytes);
    bytes
}

fn of_key(key: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    bytes.push(b'k');
    key.iter().for_each(|value| encode(value, &mut bytes));
    bytes
}

/// Appends a value so that it can be read back, which nobody does: then different lists have different bytes (I2).
fn encode(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(0),
        Value::Text(text) => tagged(1, text.as_bytes(), bytes),
        Value::Int(int) => tagged(2, &int.to_le_bytes(), bytes),
        Value::Real(real) => tagged(3, &real.to_bits().to_le_bytes(), bytes),
        Value::Decimal(text) => tagged(4, text.as_bytes(), bytes),
        Value::Bool(bool) => tagged(5, &[u8::from(*bool)], bytes),
        Value::Date(days) => tagged(6, &days.to_le_bytes(), bytes),
        Value::Timestamp(micros) => tagged(7, &micros.to_le_bytes(), bytes),
        Value::Uuid(uuid) => tagged(8, uuid, bytes),
        Value::Bytes(blob) => tagged(9, blob, bytes),
    }
}

fn tagged(tag: u8, value: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(tag);
    encode_bytes(value, bytes);
}

fn encode_bytes(value: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Entity, Fold, Kind};

    fn users() -> Entity {
        let table = Table::builder("users")
            .id("id")
            .key_text("email_key", Fold::FULL)
            .shown("email");
        table
            .attribute("name", Kind::Text)
            .crosswalk("users_xref")
            .build()
            .unwrap()
    }

    fn wanted(printer: &Printer, draft: impl Into<Draft>) -> Wanted {
        let users = users();
        printer.wanted(draft.into().into_record(&users).unwrap(), users.table(), 0)
    }

    #[test]
    fn two_spellings_are_one_flight_and_say_nothing_more() {
        let printer = Printer::default();
        let (a, b) = (
            wanted(&printer, "Ada@Example.org"),
            wanted(&printer, " ada@example.ORG"),
        );
        assert_eq!(a, b);
        assert_eq!((a.detail(), b.detail()), (0, 0));
        assert_ne!(a, wanted(&printer, "bob@example.org"));
    }

    #[test]
    fn attributes_make_no_other_flight_until_it_has_landed() {
        let printer = Printer::default();
        let ada = wanted(&printer, Draft::new().key("a").set("name", "Ada"));
        let augusta = wanted(&printer, Draft::new().key("a").set("name", "Augusta"));
        assert_eq!(ada, augusta);
        assert_ne!(ada.detail(), augusta.detail());
        assert_ne!(ada.for_itself(), augusta.for_itself());
        assert_ne!(ada.for_itself(), ada);
        assert_eq!(
            ada.for_itself(),
            wanted(&printer, Draft::new().key("a").set("name", "Ada")).for_itself()
        );
    }

    #[test]
    fn an_external_id_says_who_it_is_and_the_key_is_a_detail() {
        let printer = Printer::default();
        let plain = wanted(&printer, Draft::new().external("opta", "1"));
        let keyed = wanted(&printer, Draft::new().external("opta", "1").key("a"));
        assert_eq!(plain, keyed);
        assert_eq!(plain.detail(), 0);
        assert_ne!(
            keyed.detail(),
            wanted(&printer, Draft::new().external("opta", "1").key("b")).detail()
        );
        assert_ne!(plain, wanted(&printer, Draft::new().external("opt", "a1")));
    }

    #[test]
    fn values_of_different_kinds_or_cuts_have_different_bytes() {
        let all = [
            vec![Value::Text("ab".into()), Value::Text("c".into())],
            vec![Value::Text("a".into()), Value::Text("bc".into())],
            vec![Value::Decimal("ab".into()), Value::Text("c".into())],
            vec![Value::Int(1)],
            vec![Value::Timestamp(1)],
            vec![Value::Date(1)],
            vec![Value::Bool(true)],
            vec![Value::Null],
            vec![Value::Bytes(Box::default())],
        ];
        for (at, a) in all.iter().enumerate() {
            assert!(
                all[..at].iter().all(|b| of_key(a) != of_key(b)),
                "I2: {a:?}"
            );
        }
    }
}
