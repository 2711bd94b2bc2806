//! Find or create: one flight per key, one batch for all keys that wait.
//!
//!   resolve ─▶ draft ─▶ record ─▶ memory? ──hit──────────────────────────────▶ outcome
//!                                    │miss                                      ▲
//!                                    ▼                                          │ says the same
//!                            flight by identity ──batch──▶ Store::merge ──▶ landed
//!                                    ▲                                          │ says something else
//!                                    └──────── flight for itself ◀──────────────┘
//!
//! R1. A record is queued by the call, before its future is polled: calls are sent in their order.
//! R2. Of those who wait for one creation, one is told [`Effect::Created`].
//! R3. Whatever a record says is put to the row: a flight that another record led is followed by one for what it did not say.
//! R4. Memory is filled by the batch itself, after its commit and before anybody has the answer.

use super::draft::Draft;
use super::entity::Entity;
use super::flights::{Flights, Landed};
use super::identity::{Print, Printer, Wanted};
use super::memory::{Memory, Remembered};
use super::options::Options;
use super::pending::Pending;
use super::stats::{Counters, Stats};
use crate::driver::Driver;
use crate::error::Error;
use crate::record::{Effect, Outcome};
use crate::schema::{Policy, Table};
use crate::store::Store;
use crate::value::{Value, ValueRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Answers *which id has this key?* and creates the row if there is none: once, however many ask at once, in however many
/// processes.
///
/// It is a handle: clone it freely, all clones share their flights and their memory. Make one for each table and process.
///
/// It works on connections of its own and commits what it creates at once. Call it before your transaction, not within it: a row
/// that you roll back later is then there all the same, which harms nobody, while a row created in a long transaction would make
/// all others wait who need it.
#[derive(Clone, Debug)]
pub struct Resolver(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    entity: Entity,
    printer: Printer,
    memory: Arc<Memory>,
    counters: Arc<Counters>,
    flights: Flights,
    /// How often all was forgotten.
    epoch: AtomicU64,
}

impl Resolver {
    /// A resolver for `entity`: a [`Table`](crate::Table), or what [`Table::builder`](crate::Table::builder) made.
    ///
    /// # Cancel safety
    /// Dropping it leaves nothing behind.
    ///
    /// # Errors
    /// The database can't be reached; the table is not there or not as described; no unique index covers exactly the key. The
    /// message says which, and prints the statement that would create the index.
    pub async fn new(
        driver: impl Into<Arc<dyn Driver>>,
        entity: impl Into<Entity>,
        options: Options,
    ) -> Result<Self, Error> {
        let entity = entity.into();
        let store = Store::open(driver.into(), entity.table().clone()).await?;
        Ok(Self::with(store, entity, options))
    }

    /// A resolver on top of a store that is open already: the catalog is not read again.
    ///
    /// It takes the store's table as a plain [`Table`](crate::Table) is taken by [`Resolver::new`]: every key is exact.
    ///
    /// # Examples
    /// ```
    /// # use oneflight_sql::{Effect, Kind, Options, Resolver, Store, Table, ddl, driver};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    /// let tags = Table::builder("tags").id("id").key("name", Kind::Text).build()?;
    /// # ddl::prepare(&db, &[tags.table().clone()]).await?;
    /// let store = Store::open(db, tags.table().clone()).await?;
    /// let tags = Resolver::over(store.clone(), Options::new());
    /// assert_eq!(tags.resolve("rust").await?.effect, Effect::Created);
    /// # Ok(()) }
    /// ```
    pub fn over(store: Store, options: Options) -> Self {
        let entity = Entity::from(store.table().clone());
        Self::with(store.apart(), entity, options)
    }

    fn with(store: Store, entity: Entity, options: Options) -> Self {
        let memory = Arc::new(Memory::new(options.remember));
        let counters = Arc::new(Counters::default());
        let flights = Flights::new(store, Arc::clone(&memory), Arc::clone(&counters), &options);
        Self(Arc::new(Inner {
            entity,
            printer: Printer::default(),
            memory,
            counters,
            flights,
            epoch: AtomicU64::new(0),
        }))
    }

    /// Finds the row that is meant, or creates it, and puts to it what is said of it.
    ///
    /// The question goes out at once; the future that comes back is its answer. A record that says nothing but who it is about is
    /// answered from memory, or by whichever flight is up. One that brings attributes is answered from memory only if it is the
    /// same as the last one, and its attributes are such that once is enough ([`Policy::Fill`], [`Policy::Keep`],
    /// [`Policy::Once`]).
    ///
    /// If the row is created, exactly one of those who wait for it is told [`Effect::Created`].
    ///
    /// # Errors
    /// The draft does not fit the table; an attribute under [`Policy::Error`] differs; the database refused this record, or could
    /// not be reached in several attempts. Errors are shared by those who wait, and not remembered.
    ///
    /// # Examples
    /// ```
    /// # use oneflight_sql::{Draft, Effect, Fold, Kind, Options, Resolver, Table, ddl, driver};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    /// let users = Table::builder("users").id("id").key_text("email_key", Fold::FULL).shown("email");
    /// let users = users.attribute("name", Kind::Text).build()?;
    /// # ddl::prepare(&db, &[users.table().clone()]).await?;
    /// let users = Resolver::new(db, users, Options::new()).await?;
    ///
    /// let ada = users.resolve(Draft::new().key("Ada@Example.org").set("name", "Ada")).await?;
    /// assert_eq!(ada.effect, Effect::Created);
    /// let again = users.resolve("  ada@example.ORG ").await?;
    /// assert_eq!(again.effect, Effect::Found);
    /// assert_eq!(again.id_i64(), ada.id_i64());
    /// # Ok(()) }
    /// ```
    pub fn resolve(&self, draft: impl Into<Draft>) -> Pending<Result<Outcome, Error>> {
        let wanted = match self.lookup(draft.into()) {
            Ask::Known(answer) => return Pending::known(answer),
            Ask::Wanted(wanted) => wanted,
        };
        let landing = self.0.flights.merge(vec![wanted.clone()]);
        let inner = Arc::clone(&self.0);
        Pending::flying(landing, |landed| async move {
            let mut answers = inner.settle(vec![(0, wanted)], landed).await;
            answers.pop().map_or_else(unanswered, |(_, answer)| answer)
        })
    }

    /// Finds or creates many at once; the answers come in the order of the drafts.
    ///
    /// All that memory does not know goes in one batch (or in as few as [`Options::max_batch`] lets it). The same key may come
    /// twice. Of several records of one key, the first is put to the row first, then the others that say something else.
    ///
    /// # Errors
    /// Each draft has its own, as with [`Resolver::resolve`].
    pub fn resolve_many<D: Into<Draft>>(
        &self,
        drafts: impl IntoIterator<Item = D>,
    ) -> Pending<Vec<Result<Outcome, Error>>> {
        let mut answers = Vec::new();
        let mut waiting = Vec::new();
        for (at, draft) in drafts.into_iter().enumerate() {
            answers.push(match self.lookup(draft.into()) {
                Ask::Known(answer) => Some(answer),
                Ask::Wanted(wanted) => {
                    waiting.push((at, wanted));
                    None
                }
            });
        }
        if waiting.is_empty() {
            return Pending::known(answers.into_iter().flatten().collect());
        }
        let landing = self
            .0
            .flights
            .merge(waiting.iter().map(|(_, wanted)| wanted.clone()).collect());
        let inner = Arc::clone(&self.0);
        Pending::flying(landing, |landed| async move {
            for (at, answer) in inner.settle(waiting, landed).await {
                answers[at] = Some(answer);
            }
            answers
                .into_iter()
                .map(|answer| answer.unwrap_or_else(unanswered))
                .collect()
        })
    }

    /// Takes note of a record of which the parts are lent, for [`Resolver::recall`]. Nothing of it is copied.
    ///
    /// The key is folded already, as in a [`Record`](crate::Record); with an external id it may be empty. Attributes come with their
    /// places in the table, in this order.
    ///
    /// # Panics
    /// The table has no such attribute.
    pub fn note<'v, K>(
        &self,
        external: Option<(&str, &str)>,
        key: K,
        attributes: impl IntoIterator<Item = (usize, ValueRef<'v>)>,
    ) -> Note
    where
        K: IntoIterator<Item = ValueRef<'v>>,
        K::IntoIter: Clone,
    {
        let Inner {
            entity, printer, ..
        } = &*self.0;
        let key = key.into_iter();
        let print = printer.print(external, key.clone());
        let mut is_once_enough = true;
        let said = attributes.into_iter().inspect(|(slot, value)| {
            is_once_enough &= is_said_once(entity.table(), *slot, value);
        });
        let beside = key.take_while(|_| external.is_some());
        let detail = printer.detail(entity.table(), beside, said);
        Note {
            print,
            detail,
            is_once_enough,
        }
    }

    /// The answers that memory has for records: what [`Resolver::resolve`] would say of each without asking the database; none if it
    /// would have to ask.
    ///
    /// The way for thousands of records of which most are known.
    ///
    /// # Examples
    /// ```
    /// # use oneflight_sql::{Effect, Kind, Options, Resolver, Table, ValueRef, ddl, driver};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    /// let tags = Table::builder("tags").id("id").key("name", Kind::Text).build()?;
    /// # ddl::prepare(&db, &[tags.table().clone()]).await?;
    /// let tags = Resolver::new(db, tags, Options::new()).await?;
    /// let made = tags.resolve("rust").await?;
    ///
    /// let notes = ["rust", "sql"].map(|name| tags.note(None, [ValueRef::Text(name)], []));
    /// let [rust, sql] = &tags.recall(&notes)[..] else { unreachable!("one answer each") };
    /// assert_eq!(rust.as_ref().map(|known| known.id_i64()), Some(made.id_i64()));
    /// assert!(sql.is_none());
    /// # Ok(()) }
    /// ```
    pub fn recall(&self, notes: &[Note]) -> Vec<Option<Outcome>> {
        let prints: Vec<_> = notes.iter().map(|note| note.print).collect();
        let rows = self.0.memory.get_many(&prints).into_iter().zip(notes);
        let known = rows.map(|(row, note)| answer(row?, note.detail, || note.is_once_enough));
        let known: Vec<Option<Outcome>> = known.collect();
        let hits = known.iter().flatten().count() as u64;
        self.0.counters.asked.add(hits);
        self.0.counters.hits.add(hits);
        known
    }

    /// The id of the row that is meant, or none. Never creates one, and links no external id.
    ///
    /// # Errors
    /// The draft does not fit the table, or the database could not be reached.
    pub fn find(&self, draft: impl Into<Draft>) -> Pending<Result<Option<Value>, Error>> {
        let wanted = match self.lookup_id(draft.into()) {
            Ask::Known(answer) => return Pending::known(answer),
            Ask::Wanted(wanted) => wanted,
        };
        let landing = self.0.flights.find(vec![wanted]);
        Pending::flying(landing, |mut found| async move {
            found.pop().unwrap_or_else(unanswered)
        })
    }

    /// The ids of many rows, in the order of the drafts, in one round trip for all that memory does not know.
    ///
    /// # Errors
    /// Each draft has its own, as with [`Resolver::find`].
    pub fn find_many<D: Into<Draft>>(
        &self,
        drafts: impl IntoIterator<Item = D>,
    ) -> Pending<Vec<Result<Option<Value>, Error>>> {
        let mut answers = Vec::new();
        let mut waiting = Vec::new();
        for (at, draft) in drafts.into_iter().enumerate() {
            answers.push(match self.lookup_id(draft.into()) {
                Ask::Known(answer) => answer,
                Ask::Wanted(wanted) => {
                    waiting.push((at, wanted));
                    unanswered()
                }
            });
        }
        if waiting.is_empty() {
            return Pending::known(answers);
        }
        let (places, wanted): (Vec<usize>, Vec<Wanted>) = waiting.into_iter().unzip();
        let landing = self.0.flights.find(wanted);
        Pending::flying(landing, |found| async move {
            for (at, found) in places.into_iter().zip(found) {
                answers[at] = found;
            }
            answers
        })
    }

    /// Forgets the id that is remembered for a key, or for an external id: the row is gone, or another one has its key now.
    ///
    /// The next call asks the database; what is in flight when this is called answers those who wait, and is not remembered.
    /// A row that was known by its key and by external ids is to be forgotten by each.
    ///
    /// # Errors
    /// The draft does not fit the table.
    pub fn forget(&self, draft: impl Into<Draft>) -> Result<(), Error> {
        let wanted = self.wanted(draft.into())?;
        self.0.memory.forget(wanted.print());
        self.0.flights.forget(&wanted);
        Ok(())
    }

    /// Forgets all that is remembered.
    pub fn forget_all(&self) {
        // ORDERING: Release pairs with the Acquire in `wanted`: who asks after this returned is in the new epoch.
        self.0.epoch.fetch_add(1, Ordering::Release);
        self.0.memory.forget_all();
    }

    /// What has been done so far, in numbers.
    pub fn stats(&self) -> Stats {
        let flights = self.0.flights.led_and_joined();
        self.0.counters.read(flights, self.0.memory.len())
    }

    /// The table, and how its keys are folded.
    pub fn entity(&self) -> &Entity {
        &self.0.entity
    }

    fn wanted(&self, draft: Draft) -> Result<Wanted, Error> {
        let record = draft.into_record(&self.0.entity)?;
        // ORDERING: Acquire, see `forget_all`.
        let epoch = self.0.epoch.load(Ordering::Acquire);
        Ok(self.0.printer.wanted(record, self.0.entity.table(), epoch))
    }

    fn lookup(&self, draft: Draft) -> Ask<Result<Outcome, Error>> {
        self.0.counters.asked.add(1);
        let wanted = match self.wanted(draft) {
            Ok(wanted) => wanted,
            Err(error) => return Ask::Known(Err(error)),
        };
        match self
            .0
            .memory
            .get(wanted.print())
            .and_then(|row| self.0.answer(&wanted, row))
        {
            Some(outcome) => {
                self.0.counters.hits.add(1);
                Ask::Known(Ok(outcome))
            }
            None => Ask::Wanted(wanted),
        }
    }

    fn lookup_id(&self, draft: Draft) -> Ask<Result<Option<Value>, Error>> {
        self.0.counters.asked.add(1);
        match self.wanted(draft) {
            Err(error) => Ask::Known(Err(error)),
            Ok(wanted) => match self.0.memory.get(wanted.print()) {
                // With a key beside it, an external id that nobody knows yet is found by that key: others may bring other keys.
                None if wanted.record().external.is_some() => Ask::Wanted(wanted.for_itself()),
                Some(row) => {
                    self.0.counters.hits.add(1);
                    Ask::Known(Ok(Some(row.id)))
                }
                None => Ask::Wanted(wanted),
            },
        }
    }
}

/// What is to be known of a record to recall its row: see [`Resolver::note`].
#[derive(Clone, Copy, Debug)]
pub struct Note {
    print: Print,
    detail: u64,
    is_once_enough: bool,
}

/// What a look at memory comes to.
enum Ask<T> {
    Known(T),
    Wanted(Wanted),
}

/// What is said where an answer was lost: not that there is no such row.
fn unanswered<T>() -> Result<T, Error> {
    Err(Error::internal("a record was answered by nobody"))
}

/// The outcome for a record that says `detail`, if what is remembered of its row is enough to tell.
fn answer(row: Remembered, said: u64, is_once_enough: impl FnOnce() -> bool) -> Option<Outcome> {
    let Remembered {
        id,
        detail,
        conflicts,
    } = row;
    let conflicts = match said {
        0 => 0,
        said if said == detail && is_once_enough() => conflicts,
        _ => return None,
    };
    Some(Outcome {
        id,
        effect: Effect::Found,
        conflicts,
    })
}

/// True if putting the value to its row again would change nothing, whoever wrote to the row meanwhile.
fn is_said_once(table: &Table, slot: usize, value: &ValueRef<'_>) -> bool {
    let attribute = &table.attributes[slot];
    // What dates a row is taken if it is later, whatever its own policy.
    let dates = table.newest_by.as_ref() == Some(&attribute.column.name);
    let is_once = matches!(attribute.policy, Policy::Fill | Policy::Keep | Policy::Once);
    matches!(value, ValueRef::Null) || (is_once && !dates)
}

impl Inner {
    /// The outcome for `wanted`, if what is remembered of its row is enough to tell.
    fn answer(&self, wanted: &Wanted, row: Remembered) -> Option<Outcome> {
        answer(row, wanted.detail(), || {
            let said = wanted.record().attributes.iter().enumerate();
            let mut said = said.filter_map(|(slot, value)| Some((slot, value.as_ref()?)));
            said.all(|(slot, value)| is_said_once(self.entity.table(), slot, &value.into()))
        })
    }

    /// Hands out what has landed, and puts to the rows what the flights that were joined did not say (R3).
    async fn settle(
        &self,
        waiting: Vec<(usize, Wanted)>,
        landed: Vec<Result<Arc<Landed>, Error>>,
    ) -> Vec<(usize, Result<Outcome, Error>)> {
        let mut answers = Vec::with_capacity(waiting.len());
        let mut again = Vec::new();
        for ((at, wanted), landed) in waiting.into_iter().zip(landed) {
            match landed {
                Ok(landed) if landed.is_enough_for(&wanted) => answers.push((at, landed.take())),
                Ok(landed) => again.push((at, wanted.for_itself(), landed)),
                Err(error) => answers.push((at, Err(error))),
            }
        }
        if again.is_empty() {
            return answers;
        }
        let landed_again = self
            .flights
            .merge(again.iter().map(|(_, wanted, _)| wanted.clone()).collect())
            .await;
        for ((at, _, first), second) in again.into_iter().zip(landed_again) {
            let answer = second.and_then(|landed| landed.take());
            answers.push((at, answer.map(|outcome| first.also(outcome))));
        }
        answers
    }
}
