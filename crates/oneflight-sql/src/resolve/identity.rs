//! What makes two records one flight, and what makes them worth a second look.
//!
//!   Record ─┬─▶ identity   the external id if there is one, else the key: whom it is about
//!           └─▶ detail     all else that it says of that row: 0 if nothing
//!
//! I1. Two records with one identity are about one row. (The reverse need not hold: a key and an external id can lead to one
//!     row. That they do not make two is the store's affair, which locks both.)
//! I2. Equal identities have equal bytes, and nothing else has.
//! I3. Two records with one identity and one detail are the same record, but for spellings that are set once.
//! I4. A record and what is lent of it have one print and one detail.

use crate::record::{External, Record};
use crate::schema::{Policy, Table};
use crate::value::ValueRef;
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

/// A record that is wanted: the key of a flight.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identity: Box<[u8]>,
    print: Print,
    detail: u64,
    round: Round,
    epoch: u64,
    record: Record,
}

/// The fingerprint of an identity. Two of a million keys share one with a chance of about 10⁻²⁷.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Print(pub(crate) u64, pub(crate) u64);

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
    pub(crate) fn print(&self) -> Print {
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
        state.write_u64(self.0.print.0);
    }
}

/// Takes fingerprints. Keyed with secrets of this process, because what is remembered is told apart by the print alone: who can
/// choose keys must not be able to choose two with one print.
#[derive(Debug)]
pub(crate) struct Printer(SipHasher13);

impl Default for Printer {
    fn default() -> Self {
        let secret = || RandomState::new().hash_one(0_u8);
        Self(SipHasher13::new_with_keys(secret(), secret()))
    }
}

impl Printer {
    /// The record as a key for flights (I1 to I3). Those of one epoch share them: what was asked for before all was forgotten is
    /// no answer for who asks after it.
    pub(crate) fn wanted(&self, record: Record, table: &Table, epoch: u64) -> Wanted {
        let external = record.external.as_ref().map(of_external);
        let key = || record.key.iter().flatten().map(ValueRef::from);
        let mut identity = Vec::with_capacity(64);
        match external {
            Some(external) => put_external(external, &mut identity),
            None => put_key(key(), &mut identity),
        }
        let mut hasher = self.0;
        hasher.put(&identity);
        let print = finish(&hasher);
        let key = key().take_while(|_| external.is_some());
        let said = (0..).zip(&record.attributes);
        let said = said.filter_map(|(slot, value)| Some((slot, value.as_ref()?.into())));
        let detail = self.detail(table, key, said);
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

    /// The print of whoever has this external id, or without one this key (I4).
    pub(crate) fn print<'v>(
        &self,
        external: Option<(&str, &str)>,
        key: impl Iterator<Item = ValueRef<'v>>,
    ) -> Print {
        let mut hasher = self.0;
        match external {
            Some(external) => put_external(external, &mut hasher),
            None => put_key(key, &mut hasher),
        }
        finish(&hasher)
    }

    /// What is said beside whom it is about; 0 if nothing. `key` is empty if the key says whom; slots come in their order.
    pub(crate) fn detail<'v>(
        &self,
        table: &Table,
        key: impl Iterator<Item = ValueRef<'v>>,
        said: impl Iterator<Item = (usize, ValueRef<'v>)>,
    ) -> u64 {
        let mut hasher = self.0;
        let mut key = key.peekable();
        let mut is_silent = key.peek().is_none();
        if !is_silent {
            put_key(key, &mut hasher);
        }
        for (slot, value) in said {
            if matches!(value, ValueRef::Null) || table.attributes[slot].policy == Policy::Once {
                continue;
            }
            is_silent = false;
            hasher.put(&(slot as u32).to_le_bytes());
            put(value, &mut hasher);
        }
        if is_silent {
            0
        } else {
            finish(&hasher).0.max(1)
        }
    }
}

fn finish(hasher: &SipHasher13) -> Print {
    let print = hasher.finish128();
    Print(print.h1, print.h2)
}

/// Where bytes go: into a list, or at once into a print.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for SipHasher13 {
    fn put(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }
}

fn of_external(external: &External) -> (&str, &str) {
    (&external.source, &external.id)
}

fn put_external((source, id): (&str, &str), sink: &mut impl Sink) {
    sink.put(b"x");
    put_bytes(source.as_bytes(), sink);
    put_bytes(id.as_bytes(), sink);
}

fn put_key<'v>(key: impl Iterator<Item = ValueRef<'v>>, sink: &mut impl Sink) {
    sink.put(b"k");
    key.for_each(|value| put(value, sink));
}

/// Adds a value so that it could be read back, which nobody does: then different lists have different bytes (I2).
fn put(value: ValueRef<'_>, sink: &mut impl Sink) {
    match value {
        ValueRef::Null => sink.put(&[0]),
        ValueRef::Text(text) => tagged(1, text.as_bytes(), sink),
        ValueRef::Int(int) => tagged(2, &int.to_le_bytes(), sink),
        ValueRef::Real(real) => tagged(3, &real.to_bits().to_le_bytes(), sink),
        ValueRef::Decimal(text) => tagged(4, text.as_bytes(), sink),
        ValueRef::Bool(bool) => tagged(5, &[u8::from(bool)], sink),
        ValueRef::Date(days) => tagged(6, &days.to_le_bytes(), sink),
        ValueRef::Timestamp(micros) => tagged(7, &micros.to_le_bytes(), sink),
        ValueRef::Uuid(uuid) => tagged(8, &uuid, sink),
        ValueRef::Bytes(blob) => tagged(9, blob, sink),
    }
}

fn tagged(tag: u8, value: &[u8], sink: &mut impl Sink) {
    sink.put(&[tag]);
    put_bytes(value, sink);
}

fn put_bytes(value: &[u8], sink: &mut impl Sink) {
    sink.put(&(value.len() as u64).to_le_bytes());
    sink.put(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Entity, Fold, Kind, Value};

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
    fn what_is_lent_of_a_record_has_its_print_and_its_detail() {
        let (printer, users) = (Printer::default(), users());
        for (external, key, name) in [
            (None, Some("ada"), None),
            (
                None,
                Some("ada"),
                Some("Ada, of whom much more can be said"),
            ),
            (Some(("opta", "p17733")), Some("ada"), Some("Ada")),
            (Some(("opta", "p17733")), None, None),
        ] {
            let mut draft = Draft::new();
            if let Some(key) = key {
                draft = draft.key(key).set("email", key);
            }
            if let Some((source, id)) = external {
                draft = draft.external(source, id);
            }
            if let Some(name) = name {
                draft = draft.set("name", name);
            }
            let whole = wanted(&printer, draft);
            let key = || key.map(ValueRef::Text).into_iter();
            let said = [(0, key().next()), (1, name.map(ValueRef::Text))];
            let said = said
                .into_iter()
                .filter_map(|(slot, value)| Some((slot, value?)));
            let beside = key().take_while(|_| external.is_some());
            let detail = printer.detail(users.table(), beside, said);
            assert_eq!(printer.print(external, key()), whole.print(), "I4");
            assert_eq!(detail, whole.detail(), "I4");
        }
    }

    #[test]
    fn values_of_different_kinds_or_cuts_have_different_bytes() {
        fn of_key(values: &[Value]) -> Vec<u8> {
            let mut bytes = Vec::new();
            put_key(values.iter().map(ValueRef::from), &mut bytes);
            bytes
        }
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
