//! A batch: its records, what each is asked as, and what became of it.
//!
//! ```text
//!   record ──encode──▶ ask ──hits──▶ need:  Row        there it is
//!                                           Link       the key is known, the external id is not
//!                                           Create     neither is
//!                                           Split      another id of the same source has the key
//!                                           Never      it cannot be
//! ```
//!
//! H1. In one round a key is created once, an external id is linked once, and one source links one id to one key; whoever comes
//!     second waits for the next round, when he sees what the first has done. So no row is made that nobody will own.
//! H2. Whoever waits keeps his place: those behind him who speak of his key or of his external id wait as well. So each record finds
//!     what those before it have left, as if it had come alone, whatever stands in a batch.

use super::claims::{Claims, Makers};
use super::policy;
use crate::dialect::{Ask, Create, Hit, Layout, check, encode, keeps};
use crate::error::Error;
use crate::record::{Outcome, Record};
use crate::schema::SameSource;
use crate::value::{Kind, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(super) type Handle = Box<[Value]>;

/// A batch in progress.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    pub(super) asks: Vec<Ask>,
    pub(super) done: Vec<Option<Result<Outcome, Error>>>,
    /// Records whose key has been suffixed.
    split: HashSet<usize>,
    /// Rows that this batch has made.
    pub(super) created: HashMap<Handle, Created>,
}

/// A row that was made.
#[derive(Clone, Debug)]
pub(super) struct Created {
    /// The records that it was made of, the one that counts as its maker first.
    pub(super) members: Vec<usize>,
    /// The attributes that it was made with.
    pub(super) values: Vec<Value>,
}

impl Batch {
    /// Takes the records; those that do not fit the table are done already.
    pub(super) fn new(layout: &Layout, mut records: Vec<Record>) -> Self {
        let mut asks = Vec::with_capacity(records.len());
        let mut done = Vec::with_capacity(records.len());
        for record in &mut records {
            let ask = fits(layout, record).and_then(|()| ask(layout, record));
            bring_near(layout, record);
            done.push(ask.as_ref().err().cloned().map(Err));
            asks.push(ask.unwrap_or_default());
        }
        Self {
            records,
            asks,
            done,
            split: HashSet::new(),
            created: HashMap::new(),
        }
    }

    pub(super) fn open(&self) -> Vec<usize> {
        (0..self.done.len())
            .filter(|&at| self.done[at].is_none())
            .collect()
    }

    /// What the records of a set are asked as. Of a whole batch nothing is copied.
    pub(super) fn asks_of(&self, set: &[usize]) -> Cow<'_, [Ask]> {
        if set.len() == self.asks.len() && set.is_sorted() {
            return Cow::Borrowed(&self.asks);
        }
        set.iter().map(|&at| self.asks[at].clone()).collect()
    }

    /// Gives a record a key of its own: the key with the external id behind it.
    pub(super) fn split(&mut self, layout: &Layout, at: usize) {
        let Ask {
            external: Some([_, Value::Text(id)]),
            key,
        } = &mut self.asks[at]
        else {
            return;
        };
        if let Some(Value::Text(last)) = key.as_mut().and_then(|key| key.last_mut()) {
            *last = format!("{last}~{id}").into();
            self.split.insert(at);
        } else {
            self.done[at] = Some(Err(Error::refused(format!(
                "table `{}`: another id of the same source has this key, and its last column is no text that could tell them apart",
                layout.table.name
            ))));
        }
    }

    /// What a hit's row is called in statements that change it.
    fn handle(&self, layout: &Layout, at: usize, hit: &Hit) -> Handle {
        match &layout.id {
            Some(_) => [hit.id.clone()].into(),
            None => self.records[at].key.clone().unwrap_or_default(),
        }
    }
}

fn fits(layout: &Layout, record: &Record) -> Result<(), Error> {
    let table = &layout.table;
    let wrong = |what: &str| {
        Err(Error::usage(format!(
            "a record for table `{}` {what}",
            table.name
        )))
    };
    if record.external.is_some() && table.crosswalk.is_none() {
        return wrong("has an external id, and the table has no crosswalk");
    }
    match &record.key {
        None if record.external.is_none() => return wrong("has neither a key nor an external id"),
        Some(key) if key.len() != layout.key.len() => {
            return wrong("has not one value for each key column");
        }
        Some(key) if key.iter().any(Value::is_null) => return wrong("has a key with a null in it"),
        _ => {}
    }
    if !record.attributes.is_empty() && record.attributes.len() != layout.attributes.len() {
        return wrong("has not one slot for each attribute");
    }
    let mut said = layout
        .attributes
        .iter()
        .zip(&record.attributes)
        .filter_map(|(col, said)| said.as_ref().map(|said| (col, said)));
    said.try_for_each(|(col, said)| check(layout.dialect, col, said))
}

/// Makes of what is said what the columns will have of it, so that it is found unchanged.
fn bring_near(layout: &Layout, record: &mut Record) {
    for (col, said) in layout.attributes.iter().zip(&mut record.attributes) {
        if let Some(near) = said.as_ref().and_then(|said| col.room.nearest(said)) {
            *said = Some(near);
        }
    }
}

fn ask(layout: &Layout, record: &Record) -> Result<Ask, Error> {
    let external = match (&record.external, &layout.links) {
        (Some(external), Some(links)) => {
            let source = Value::Text((*external.source).into());
            let id = Value::Text(external.id.clone());
            Some([
                encode_key(layout, &links.source, &source)?,
                encode_key(layout, &links.external_id, &id)?,
            ])
        }
        _ => None,
    };
    // A table without key columns knows its rows by their external ids, whatever stands in the record.
    let key = record.key.as_ref().filter(|key| !key.is_empty());
    let key = key.map(|key| {
        layout
            .key
            .iter()
            .zip(key)
            .map(|(col, value)| encode_key(layout, col, value))
            .collect()
    });
    Ok(Ask {
        external,
        key: key.transpose()?,
    })
}

fn encode_key(layout: &Layout, col: &crate::dialect::Col, value: &Value) -> Result<Value, Error> {
    if let Value::Text(text) = value
        && text.ends_with(' ')
        && col.kind == Kind::Text
        && col.pads()
    {
        return Err(Error::refused(format!(
            "column `{}`: the key ends in a space, and the column's collation takes no account of that",
            col.name
        )));
    }
    keeps(col, value)?;
    encode(layout.dialect, col, value)
}

/// What a record needs.
#[derive(Clone, Debug)]
pub(super) enum Need {
    /// Nothing: this is its row, an index into [`View::rows`].
    Row(usize),
    /// A link to the row that has its key.
    Link,
    /// A row.
    Create,
    /// A key of its own.
    Split,
    /// It cannot be.
    Never(Error),
}

/// A row that was found.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) handle: Handle,
    pub(super) id: Value,
    pub(super) attributes: Box<[Value]>,
}

/// What the records of a set need, in its order, and the rows that were found.
#[derive(Debug)]
pub(super) struct View {
    pub(super) needs: Vec<Need>,
    pub(super) rows: Vec<Row>,
}

impl View {
    /// Reads the hits for a set.
    pub(super) fn new(layout: &Layout, batch: &Batch, set: &[usize], hits: Vec<Hit>) -> Self {
        let mut best: Vec<Option<Hit>> = vec![None; set.len()];
        for hit in hits {
            // What an external id says goes before what a key says.
            match best.get_mut(hit.ask) {
                Some(place) if hit.by_external || place.is_none() => *place = Some(hit),
                _ => {}
            }
        }
        let mut view = Self {
            needs: Vec::with_capacity(set.len()),
            rows: Vec::new(),
        };
        let mut row_of: HashMap<Handle, usize> = HashMap::new();
        let mut makers = Makers::new(layout, set.iter().map(|&at| &batch.asks[at]));
        for (&at, hit) in set.iter().zip(best) {
            let is_promised = makers.promise(&batch.asks[at]);
            let need = match hit {
                None => missing(layout, &batch.asks[at], is_promised),
                Some(hit) if batch.asks[at].external.is_some() && !hit.by_external => {
                    unlinked(layout, batch, at, &hit)
                }
                Some(hit) => {
                    let handle = batch.handle(layout, at, &hit);
                    let row = *row_of.entry(handle.clone()).or_insert(view.rows.len());
                    if row == view.rows.len() {
                        view.rows.push(Row {
                            handle,
                            id: hit.id,
                            attributes: hit.attributes,
                        });
                    }
                    Need::Row(row)
                }
            };
            view.needs.push(need);
        }
        view
    }
}

/// What a record needs that was not found. One that waits for those before it (H2) stays open: it is still to be made.
fn missing(layout: &Layout, ask: &Ask, is_promised: bool) -> Need {
    match ask.key.is_some() || layout.key.is_empty() || is_promised {
        true => Need::Create,
        false => Need::Never(Error::refused(format!(
            "table `{}` knows no such external id, and without a key no row can be made",
            layout.table.name
        ))),
    }
}

fn unlinked(layout: &Layout, batch: &Batch, at: usize, hit: &Hit) -> Need {
    let same_source = layout
        .table
        .crosswalk
        .as_ref()
        .map(|crosswalk| crosswalk.same_source)
        .unwrap_or_default();
    let name = &layout.table.name;
    match same_source {
        _ if !hit.taken => Need::Link,
        SameSource::Link => Need::Link,
        SameSource::Split if !batch.split.contains(&at) => Need::Split,
        SameSource::Split => Need::Never(Error::refused(format!(
            "table `{name}`: another id of the same source has this key, also with the external id behind it"
        ))),
        SameSource::Error => Need::Never(Error::refused(format!(
            "table `{name}`: another id of the same source has this key"
        ))),
    }
}

/// What makes two records want the same row: their key, or without one their external id.
type Making<'b> = (Option<&'b [Value]>, Option<&'b [Value; 2]>);

/// What is written in one round.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Rows to make, sorted by key, and the records that each is made of.
    pub(super) creates: Vec<(Create, Created)>,
    /// External ids to link, sorted.
    pub(super) links: Vec<Ask>,
    /// The records that take part, as indexes into the set.
    pub(super) members: Vec<usize>,
}

impl Work {
    /// Chooses who takes part in a round (H1, H2). `needs` says what each record of the set needs.
    pub(super) fn new(
        layout: &Layout,
        batch: &Batch,
        set: &[usize],
        needs: impl Iterator<Item = Need>,
    ) -> Result<Self, Error> {
        let mut claims = Claims::new(layout);
        let mut making: HashMap<Making<'_>, Vec<usize>> = HashMap::new();
        let mut work = Self::default();
        for (position, (&at, need)) in set.iter().zip(needs).enumerate() {
            let ask @ Ask { external, key } = &batch.asks[at];
            let Some(part) = claims.part(ask, &need) else {
                continue;
            };
            let key = key.as_deref();
            if part.links {
                work.links.push(ask.clone());
            }
            if matches!(need, Need::Create) {
                let by = if key.is_some() {
                    None
                } else {
                    external.as_ref()
                };
                making.entry((key, by)).or_default().push(at);
            }
            work.members.push(position);
        }
        let creates: Result<Vec<_>, Error> = making
            .into_values()
            .map(|members| create(layout, batch, members))
            .collect();
        work.creates = creates?;
        work.creates
            .sort_unstable_by(|(a, _), (b, _)| (&a.key, &a.unless).cmp(&(&b.key, &b.unless)));
        work.links
            .sort_unstable_by(|a, b| a.external.cmp(&b.external));
        Ok(work)
    }
}

fn create(layout: &Layout, batch: &Batch, members: Vec<usize>) -> Result<(Create, Created), Error> {
    let table = &layout.table;
    let mut values = Vec::new();
    for (nth, &at) in members.iter().enumerate() {
        let said = &batch.records[at].attributes;
        match nth {
            0 => values = policy::fresh(table, said),
            // One who contradicts is refused when the outcomes are settled; here he changes nothing.
            _ => drop(policy::apply(table, &mut values, said)),
        }
    }
    let encoded = layout
        .attributes
        .iter()
        .zip(&values)
        .map(|(col, value)| encode(layout.dialect, col, value));
    let first = &batch.asks[members[0]];
    let is_sure = members.iter().any(|&at| batch.asks[at].external.is_none());
    let create = Create {
        unless: first.external.clone().filter(|_| !is_sure),
        key: first.key.clone().unwrap_or_default(),
        attributes: encoded.collect::<Result<_, _>>()?,
    };
    Ok((create, Created { members, values }))
}
