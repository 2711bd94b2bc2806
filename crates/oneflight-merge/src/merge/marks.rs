//! What a chunk says of which keys: by that, turns know whether it may be written beside others.
//!
//! A1. Marks of two records have one key exactly if the records have a key or an external id in common, or may get one. They are the
//!     same mark only if the records say the same, so that it does not matter which is first.
//! A2. Where external ids lead to rows, two records may mean one row and have nothing in common: the database knows. So those that
//!     say more than who they are have a mark of the table, too.

use super::turns::Mark;
use foldhash::fast::RandomState;
use oneflight_sql::{Policy, Record, SameSource, Table, Value};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

/// The key of the mark of a whole table (A2).
const TABLE: u64 = 0;

/// Of records that join each other's flights: a mark for the key, one for the external id, and one for the key that both may make.
pub(crate) fn of_records(table: &Table, records: &[Record], hasher: &RandomState) -> Vec<Mark> {
    let mut marks = Vec::with_capacity(2 * records.len());
    for record in records {
        let key = record.key.as_ref().filter(|key| !key.is_empty());
        let external = record.external.as_ref();
        let external = external.map(|external| (&external.source, &external.id));
        let mut said = hasher.build_hasher();
        let mut says_more = false;
        (key, external).hash(&mut said);
        for (value, attribute) in record.attributes.iter().zip(&table.attributes) {
            // How a key is spelled does not count: of those who share a flight, the first is asked.
            if attribute.policy != Policy::Once {
                value.hash(&mut said);
                says_more |= !matches!(value, None | Some(Value::Null));
            }
        }
        let said = said.finish();
        let split = split(table, record).map(|key| hasher.hash_one(key));
        let key = key.map(|key| hasher.hash_one(key));
        let external = external.map(|external| hasher.hash_one(external));
        let of_record = key.into_iter().chain(external).chain(split);
        marks.extend(of_record.map(|key| Mark { key, said }));
        if says_more && table.crosswalk.is_some() {
            marks.push(Mark { key: TABLE, said });
        }
    }
    marks
}

/// The key that a record gets if its own is another's, too.
fn split(table: &Table, record: &Record) -> Option<Box<[Value]>> {
    let crosswalk = table.crosswalk.as_ref()?;
    let (key, external) = (record.key.as_ref()?, record.external.as_ref()?);
    let (Value::Text(last), before) = key.split_last()? else {
        return None;
    };
    let last = Value::from(format!("{last}~{}", external.id));
    let split = before.iter().cloned().chain([last]);
    (crosswalk.same_source == SameSource::Split).then(|| split.collect())
}

/// Of facts, which join nothing: whoever has one of their keys has to wait, whatever he says.
pub(crate) fn of_facts(keys: Vec<u64>, chunk: u64) -> Vec<Mark> {
    let mark = |key| Mark { key, said: chunk };
    keys.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::turns::Turns;
    use futures_util::FutureExt as _;
    use oneflight_sql::{External, Fold, Kind};

    #[test]
    fn those_who_say_more_of_a_row_that_both_may_mean_take_turns() {
        let club = Table::builder("club").id("id");
        let club = club.key_text("name", Fold::EXACT);
        let club = club.attribute("city", Kind::Text).crosswalk("club_xref");
        let table = club.build().unwrap();
        let record = |name: Option<&str>, id: Option<&str>, city: Option<&str>| Record {
            key: name.map(|name| [Value::from(name)].into()),
            external: id.map(|id| External {
                source: "feed".into(),
                id: id.into(),
            }),
            attributes: [city.map(Value::from)].into(),
        };
        let hasher = RandomState::default();
        let marks = |record| of_records(table.table(), &[record], &hasher);
        let turns = Turns::new(1);
        let by_name = marks(record(Some("c1"), None, Some("X")));
        let flying = turns.fly(0, 0, by_name).now_or_never().unwrap();
        drop(flying.0);
        let asks = turns.fly(0, 1, marks(record(None, Some("i2"), None)));
        drop(asks.now_or_never().expect("A2: it only asks").0);
        let by_id = turns.fly(0, 2, marks(record(None, Some("i1"), Some("Y"))));
        assert!(by_id.now_or_never().is_none(), "A2");
    }
}
