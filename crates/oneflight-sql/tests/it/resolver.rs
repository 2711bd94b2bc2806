//! The resolver over real databases: the same promises on each.

use crate::gate::Gate;
use futures_util::FutureExt as _;
use oneflight_sql::driver::{self, Driver};
use oneflight_sql::{
    Draft, Effect, Entity, Error, Fold, Kind, Options, Outcome, Pending, Policy, Resolver,
    SameSource, Table, ValueRef, ddl,
};
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use testkit::Database;

/// Writes each test once for every database.
macro_rules! resolver_contract {
    ($($test:ident),+ $(,)?) => {
        resolver_contract!(@ sqlite "sqlite:".to_owned() => $($test)+);
        resolver_contract!(@ postgres testkit::services::postgres() => $($test)+);
        resolver_contract!(@ mariadb testkit::services::mariadb() => $($test)+);
    };
    (@ $backend:ident $url:expr => $($test:ident)+) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(testkit::Database::create(&$url).await).await;
                }
            )+
        }
    };
}

resolver_contract!(
    sixty_four_tasks_and_one_key_make_one_row,
    two_processes_make_one_row_and_agree,
    thousands_of_keys_are_a_few_round_trips,
    a_failure_is_shared_and_not_remembered,
    a_dropped_leader_harms_nobody,
    a13_what_is_in_flight_when_forget_comes_is_not_stored,
    a_row_that_others_deleted_is_found_missing_after_forget,
    who_joins_has_its_own_attributes_put_to_the_row,
    a_record_that_says_the_same_again_is_served_from_memory,
    what_is_lent_is_answered_as_memory_would_answer_the_record,
    find_creates_nothing_and_sees_what_is_there,
    external_ids_go_before_keys_and_leave_no_orphan,
    two_ids_of_one_source_under_one_slug_are_two_rows,
    one_bad_record_of_many_fails_alone,
    who_takes_his_answer_first_is_told_of_the_creation,
    every_answer_lands_before_it_is_taken,
    keys_of_all_kinds_are_found_again,
    an_answer_that_nobody_polls_holds_up_nobody,
    a_future_dropped_at_any_point_leaves_all_as_it_should_be,
    spellings_stay_apart_whatever_the_collation,
    without_a_unique_index_it_refuses_and_prints_the_statement,
);

async fn connect(db: &Database) -> Arc<dyn Driver> {
    driver::connect(db.url(), driver::Options::default())
        .await
        .unwrap()
}

fn users() -> Entity {
    let table = Table::builder("users")
        .id("id")
        .key_text("email_key", Fold::FULL)
        .shown("email");
    table
        .attribute("name", Kind::Text)
        .attribute("born", Kind::Int)
        .policy(Policy::Take)
        .build()
        .unwrap()
}

async fn resolver(db: &Database, entity: &Entity, options: Options) -> Resolver {
    let driver = connect(db).await;
    ddl::prepare(&driver, &[entity.table().clone()])
        .await
        .unwrap();
    Resolver::new(driver, entity.clone(), options)
        .await
        .unwrap()
}

/// A resolver behind a gate that is open.
async fn gated(db: &Database, entity: &Entity, options: Options) -> (Resolver, Arc<Gate>) {
    let driver = connect(db).await;
    ddl::prepare(&driver, &[entity.table().clone()])
        .await
        .unwrap();
    let gate = Gate::before(driver);
    let resolver = Resolver::new(
        Arc::clone(&gate) as Arc<dyn Driver>,
        entity.clone(),
        options,
    )
    .await
    .unwrap();
    (resolver, gate)
}

async fn rows(db: &Database, table: &str) -> i64 {
    testkit::count(db.url(), &format!("SELECT count(*) FROM {table}")).await
}

async fn all(answers: Vec<tokio::task::JoinHandle<Result<Outcome, Error>>>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for answer in answers {
        outcomes.push(answer.await.unwrap().unwrap());
    }
    outcomes
}

fn ids(outcomes: &[Outcome]) -> HashSet<i64> {
    outcomes
        .iter()
        .map(|outcome| outcome.id_i64().unwrap())
        .collect()
}

fn created(outcomes: &[Outcome]) -> usize {
    outcomes
        .iter()
        .filter(|outcome| outcome.effect == Effect::Created)
        .count()
}

/// Lets everything run that can run.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        // SLEEP: a real database answers in its own time, and no script can drive it; the condition decides, not the clock.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("never came: {what}");
}

async fn sixty_four_tasks_and_one_key_make_one_row(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    let spellings = [
        "Ada@Example.org",
        "ada@example.org ",
        "ADA@EXAMPLE.ORG",
        "\u{a0}ada@example.org",
    ];
    let tasks = (0..64)
        .map(|n| tokio::spawn(users.resolve(spellings[n % 4])))
        .collect();
    let outcomes = all(tasks).await;
    assert_eq!(
        (outcomes.len(), ids(&outcomes).len(), created(&outcomes)),
        (64, 1, 1)
    );
    assert_eq!(rows(&db, "users").await, 1);
    let stats = users.stats();
    assert_eq!((stats.asked, stats.created, stats.failed), (64, 1, 0));
    assert_eq!(stats.hits + stats.led + stats.joined, 64);
}

async fn two_processes_make_one_row_and_agree(db: Database) {
    let entity = users();
    let processes = [
        resolver(&db, &entity, Options::new()).await,
        resolver(&db, &entity, Options::new()).await,
    ];
    let keys = |n: usize| format!("user{}@example.org", n % 50);
    let ask = |process: &Resolver| {
        (0..400)
            .map(|n| tokio::spawn(process.resolve(keys(n))))
            .collect::<Vec<_>>()
    };
    let (first, second) = (ask(&processes[0]), ask(&processes[1]));
    let (first, second) = (all(first).await, all(second).await);
    assert_eq!(rows(&db, "users").await, 50);
    let of = |outcomes: &[Outcome]| {
        outcomes
            .iter()
            .map(|o| o.id_i64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&first), of(&second));
    assert_eq!(created(&first) + created(&second), 50);
    assert_eq!(
        testkit::count(db.url(), "SELECT max(id) FROM users").await,
        50,
        "an id was burnt"
    );
}

async fn thousands_of_keys_are_a_few_round_trips(db: Database) {
    let entity = users();
    let driver = connect(&db).await;
    ddl::prepare(&driver, &[entity.table().clone()])
        .await
        .unwrap();
    let users = Resolver::new(Arc::clone(&driver), entity, Options::new().remember(0))
        .await
        .unwrap();
    let keys: Vec<String> = (0..15_000)
        .map(|n| format!("user{}@example.org", n % 4_000))
        .collect();
    let mut trips = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let before = driver.round_trips();
        let outcomes = users
            .resolve_many(&keys)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        trips.push(driver.round_trips() - before);
        answers.push(
            outcomes
                .iter()
                .map(|o| o.id_i64().unwrap())
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(ids_of(&answers[0]), 4_000);
    assert_eq!(rows(&db, "users").await, 4_000);
    let stats = users.stats();
    assert_eq!(
        (stats.created, stats.batches, stats.led, stats.joined),
        (4_000, 2, 8_000, 22_000)
    );
    let most = if driver.is_pipelined() {
        [2, 1]
    } else {
        [60, 10]
    };
    assert!(
        trips[0] <= most[0] && trips[1] <= most[1],
        "{trips:?} round trips"
    );
}

fn ids_of(ids: &[i64]) -> usize {
    ids.iter().collect::<HashSet<_>>().len()
}

async fn a_failure_is_shared_and_not_remembered(db: Database) {
    let (users, gate) = gated(&db, &users(), Options::new()).await;
    gate.fail_next(1);
    let answers = users
        .resolve_many(["a@example.org", "b@example.org", "a@example.org"])
        .await;
    let errors: Vec<String> = answers
        .into_iter()
        .map(|answer| answer.unwrap_err().to_string())
        .collect();
    assert!(
        errors.iter().all(|error| error.contains("out of order")),
        "{errors:?}"
    );
    assert_eq!(users.stats().remembered, 0);
    assert_eq!(
        users.resolve("a@example.org").await.unwrap().effect,
        Effect::Created
    );
    assert_eq!(rows(&db, "users").await, 1);
}

async fn a_dropped_leader_harms_nobody(db: Database) {
    let (users, gate) = gated(&db, &users(), Options::new()).await;
    gate.close();
    let came = gate.arrived();
    let leader = tokio::spawn(users.resolve("a@example.org"));
    until("the leader's batch", || gate.arrived() > came).await;
    let waiters: Vec<_> = (0..8)
        .map(|_| tokio::spawn(users.resolve("A@example.org")))
        .collect();
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    gate.open();
    let outcomes = all(waiters).await;
    assert_eq!(
        (ids(&outcomes).len(), created(&outcomes), users.stats().led),
        (1, 1, 1)
    );
    assert_eq!(rows(&db, "users").await, 1);
}

async fn a13_what_is_in_flight_when_forget_comes_is_not_stored(db: Database) {
    let (users, gate) = gated(&db, &users(), Options::new()).await;
    gate.close();
    let came = gate.arrived();
    let early = tokio::spawn(users.resolve("a@example.org"));
    until("the batch", || gate.arrived() > came).await;
    users.forget(" A@EXAMPLE.org").unwrap();
    gate.open();
    let early = early.await.unwrap().unwrap();
    assert_eq!(
        (early.effect, users.stats().remembered),
        (Effect::Created, 0)
    );
    let late = users.resolve("a@example.org").await.unwrap();
    assert_eq!(
        (late.effect, late.id_i64()),
        (Effect::Found, early.id_i64())
    );
    assert_eq!(users.stats().remembered, 1);
    users.forget_all();
    assert_eq!(users.stats().remembered, 0);
}

async fn a_row_that_others_deleted_is_found_missing_after_forget(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    let first = users.resolve("a@example.org").await.unwrap();
    testkit::execute(db.url(), "DELETE FROM users").await;
    assert_eq!(
        users.resolve("a@example.org").await.unwrap().id_i64(),
        first.id_i64(),
        "remembered"
    );
    users.forget("a@example.org").unwrap();
    assert_eq!(
        users.resolve("a@example.org").await.unwrap().effect,
        Effect::Created
    );
    assert_eq!(rows(&db, "users").await, 1);
}

async fn who_joins_has_its_own_attributes_put_to_the_row(db: Database) {
    let (users, gate) = gated(&db, &users(), Options::new()).await;
    gate.close();
    let came = gate.arrived();
    let plain = tokio::spawn(users.resolve("a@example.org"));
    until("the batch", || gate.arrived() > came).await;
    let said = [
        Draft::new().key("a@example.org").set("name", "Ada"),
        Draft::new()
            .key("A@example.org")
            .set("name", "Ada")
            .set("born", 1815),
        Draft::new().key("a@example.org").set("name", "Augusta"),
        Draft::new().key("a@example.org"),
    ];
    let answers = tokio::spawn(users.resolve_many(said));
    gate.open();
    let plain = plain.await.unwrap().unwrap();
    let answers = answers
        .await
        .unwrap()
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert!(
        answers
            .iter()
            .all(|answer| answer.id_i64() == plain.id_i64())
    );
    assert_eq!(created(&answers) + created(&[plain]), 1);
    assert_eq!(
        answers.iter().map(|answer| answer.conflicts).sum::<u32>(),
        1,
        "{answers:?}"
    );
    let names = testkit::texts(db.url(), "SELECT name FROM users").await;
    assert_eq!(names, [Some("Ada".to_owned())]);
    assert_eq!(
        testkit::count(db.url(), "SELECT born FROM users").await,
        1815
    );
    assert_eq!(users.stats().batches, 2);
}

async fn a_record_that_says_the_same_again_is_served_from_memory(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    let ada = |name: &str| Draft::new().key("a@example.org").set("name", name);
    users.resolve(ada("Ada")).await.unwrap();
    users.resolve(ada("Ada")).await.unwrap();
    users.resolve("a@example.org").await.unwrap();
    assert_eq!((users.stats().hits, users.stats().batches), (2, 1));
    let other = users.resolve(ada("Augusta")).await.unwrap();
    assert_eq!((other.conflicts, users.stats().batches), (1, 2));
    assert_eq!(
        users.resolve(ada("Augusta")).await.unwrap().conflicts,
        1,
        "a conflict is told again"
    );
    assert_eq!(users.stats().hits, 3);
    // Others may have written to a column that takes what is new, so each record goes to the database.
    for _ in 0..2 {
        users
            .resolve(Draft::new().key("a@example.org").set("born", 1815))
            .await
            .unwrap();
    }
    assert_eq!((users.stats().hits, users.stats().batches), (3, 4));
}

async fn what_is_lent_is_answered_as_memory_would_answer_the_record(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    let recall = |said: &[(usize, ValueRef<'static>)]| {
        let note = users.note(None, [ValueRef::Text("ada")], said.iter().copied());
        users.recall(&[note]).into_iter().flatten().next()
    };
    assert!(recall(&[]).is_none());
    let (name, other) = (ValueRef::Text("Ada"), ValueRef::Text("Augusta"));
    let draft = Draft::new().key("Ada").set("name", "Ada");
    let made = users.resolve(draft).await.unwrap();
    let asked = users.stats().asked;
    // What says nothing, the same, or only how the key is spelled, is answered.
    for said in [&[][..], &[(1, name)], &[(1, ValueRef::Null)], &[(0, other)]] {
        let known = recall(said).map(|known| (known.id, known.effect));
        assert_eq!(known, Some((made.id.clone(), Effect::Found)), "{said:?}");
    }
    assert_eq!(users.stats().asked, asked + 4);
    // What says something else, or what has to be said each time, is not.
    assert!(recall(&[(1, other)]).is_none());
    assert!(recall(&[(1, name), (2, ValueRef::Int(1815))]).is_none());
    let draft = Draft::new().key("Ada").set("name", "Ada").set("born", 1815);
    assert_eq!(users.resolve(draft).await.unwrap().effect, Effect::Updated);
    assert!(recall(&[(1, name), (2, ValueRef::Int(1815))]).is_none());
    users.forget("ada").unwrap();
    assert!(recall(&[]).is_none());
}

async fn find_creates_nothing_and_sees_what_is_there(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    assert!(users.find("a@example.org").await.unwrap().is_none());
    assert_eq!(rows(&db, "users").await, 0);
    let id = users.resolve("a@example.org").await.unwrap().id_i64();
    users.forget_all();
    let found = users
        .find_many(["b@example.org", "A@example.org", "a@example.org"])
        .await;
    let found: Vec<Option<i64>> = found
        .into_iter()
        .map(|id| id.unwrap().and_then(|id| id.as_i64()))
        .collect();
    assert_eq!(found, [None, id, id]);
    assert_eq!(
        users.stats().remembered,
        1,
        "what was found is remembered, what was not is not"
    );
}

fn players(same_source: SameSource) -> Entity {
    let table = Table::builder("player")
        .id("id")
        .key_text("slug", Fold::SLUG)
        .shown("name");
    table
        .crosswalk("player_xref")
        .same_source(same_source)
        .build()
        .unwrap()
}

async fn external_ids_go_before_keys_and_leave_no_orphan(db: Database) {
    let entity = players(SameSource::Link);
    let processes = [
        resolver(&db, &entity, Options::new()).await,
        resolver(&db, &entity, Options::new()).await,
    ];
    // Every fourth reference spells the name in another way: same external id, another slug.
    let drafts = |seed: usize| {
        (0..600).map(move |n| {
            let player = (n * 7 + seed * 13) % 60;
            let name = format!(
                "Player {player}{}",
                if (n + seed).is_multiple_of(4) {
                    " Junior"
                } else {
                    ""
                }
            );
            Draft::new()
                .external("opta", format!("p{player}"))
                .key(name)
        })
    };
    let ask = |at: usize| {
        drafts(at)
            .map(|draft| tokio::spawn(processes[at].resolve(draft)))
            .collect::<Vec<_>>()
    };
    let (first, second) = (ask(0), ask(1));
    let outcomes = [all(first).await, all(second).await].concat();
    assert_eq!((ids(&outcomes).len(), created(&outcomes)), (60, 60));
    assert_eq!(
        (rows(&db, "player").await, rows(&db, "player_xref").await),
        (60, 60)
    );
    let orphans = "SELECT count(*) FROM player WHERE id NOT IN (SELECT entity_id FROM player_xref)";
    assert_eq!(testkit::count(db.url(), orphans).await, 0);
    let by_their_id = processes[0]
        .find(Draft::new().external("opta", "p7"))
        .await
        .unwrap();
    assert!(by_their_id.is_some());
}

async fn two_ids_of_one_source_under_one_slug_are_two_rows(db: Database) {
    let players = resolver(&db, &players(SameSource::Split), Options::new()).await;
    let john = |source: &str, id: &str| Draft::new().external(source, id).key("John Smith");
    let drafts = [
        john("opta", "1"),
        john("opta", "2"),
        john("opta", "1"),
        john("wiki", "Q1"),
    ];
    let mut outcomes = Vec::new();
    for draft in drafts {
        outcomes.push(players.resolve(draft).await.unwrap());
    }
    let id = |at: usize| outcomes[at].id_i64().unwrap();
    assert_ne!(id(0), id(1));
    assert_eq!((id(0), id(0)), (id(2), id(3)));
    assert_eq!(
        (rows(&db, "player").await, rows(&db, "player_xref").await),
        (2, 3)
    );
    let slugs = testkit::texts(db.url(), "SELECT slug FROM player ORDER BY id").await;
    assert_eq!(
        slugs,
        [
            Some("john-smith".to_owned()),
            Some("john-smith~2".to_owned())
        ]
    );
    let unknown = players
        .resolve(Draft::new().external("opta", "99"))
        .await
        .unwrap_err();
    assert!(!unknown.is_retryable(), "{unknown}");
}

async fn who_takes_his_answer_first_is_told_of_the_creation(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    let (mut first, mut second) = (users.resolve_many(["ada"]), users.resolve_many(["ada"]));
    second.landed().await;
    first.landed().await;
    let effect = |outcomes: Vec<Result<Outcome, Error>>| outcomes[0].as_ref().unwrap().effect;
    assert_eq!(effect(first.await), Effect::Created);
    assert_eq!(effect(second.await), Effect::Found);
    let mut known = users.resolve_many(["ada"]);
    known.landed().await;
    assert_eq!(effect(known.await), Effect::Found);
}

/// What every call gives back can be waited for without being taken.
async fn every_answer_lands_before_it_is_taken(db: Database) {
    async fn lands<T>(gate: &Gate, mut pending: Pending<T>) -> T {
        assert!(pending.landed().now_or_never().is_none());
        gate.open();
        pending.landed().await;
        pending.now_or_never().expect("it has landed")
    }
    let (users, gate) = gated(&db, &users(), Options::new()).await;
    gate.close();
    let ada = lands(&gate, users.resolve("ada")).await.unwrap();
    gate.close();
    let eve = lands(&gate, users.resolve_many(["eve"])).await.remove(0);
    assert_eq!(
        (ada.effect, eve.unwrap().effect),
        (Effect::Created, Effect::Created)
    );
    gate.close();
    assert_eq!(lands(&gate, users.find("bob")).await.unwrap(), None);
    gate.close();
    let found = lands(&gate, users.find_many(["bob", "ada"])).await;
    assert_eq!(found[1].as_ref().unwrap(), &Some(ada.id));
}

async fn one_bad_record_of_many_fails_alone(db: Database) {
    let table = Table::builder("ticket").id("id").key("number", Kind::Int);
    let entity = table
        .attribute("state", Kind::Text)
        .policy(Policy::Error)
        .build()
        .unwrap();
    let tickets = resolver(&db, &entity, Options::new()).await;
    let ticket = |number: i64, state: &str| Draft::new().key(number).set("state", state);
    tickets.resolve(ticket(7, "open")).await.unwrap();
    let answers = tickets
        .resolve_many((0..100).map(|n| ticket(n, "closed")))
        .await;
    let failed: Vec<usize> = answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| answer.is_err())
        .map(|(at, _)| at)
        .collect();
    assert_eq!(failed, [7]);
    assert_eq!(tickets.stats().failed, 1);
    assert_eq!(tickets.resolve(7).await.unwrap().effect, Effect::Found);
    assert_eq!(rows(&db, "ticket").await, 100);
}

async fn keys_of_all_kinds_are_found_again(db: Database) {
    use oneflight_sql::Value;
    let kinds = [
        (Kind::Text, Value::Text(" Exact ".into())),
        (Kind::Int, Value::Int(i64::MIN)),
        (Kind::Bool, Value::Bool(true)),
        (Kind::Date, Value::Date(20_000)),
        (Kind::Timestamp, Value::Timestamp(1_700_000_000_123_456)),
        (Kind::Uuid, Value::Uuid([7; 16])),
        (Kind::Bytes, Value::Bytes(Box::from([0, 255, 10]))),
        (Kind::Decimal, Value::Decimal("-12.5".into())),
    ];
    let mut table = Table::builder("thing").id("id");
    for (at, (kind, _)) in kinds.iter().enumerate() {
        table = table.key(format!("k{at}"), *kind).max_chars(40);
    }
    let things = resolver(&db, &table.build().unwrap(), Options::new().remember(0)).await;
    let draft = || {
        kinds
            .iter()
            .fold(Draft::new(), |draft, (_, value)| draft.key(value.clone()))
    };
    let made = things.resolve(draft()).await.unwrap();
    let found = things.resolve(draft()).await.unwrap();
    assert_eq!(
        (made.effect, found.effect, found.id_i64()),
        (Effect::Created, Effect::Found, made.id_i64())
    );
    assert_eq!(rows(&db, "thing").await, 1);
}

async fn an_answer_that_nobody_polls_holds_up_nobody(db: Database) {
    let users = resolver(&db, &users(), Options::new().batches_in_flight(1)).await;
    let never_polled = users.resolve("a@example.org");
    let same = users.resolve("a@example.org").await.unwrap();
    let other = users.resolve("b@example.org").await.unwrap();
    assert_ne!(same.id_i64(), other.id_i64());
    drop(never_polled);
    assert_eq!(rows(&db, "users").await, 2);
}

async fn a_future_dropped_at_any_point_leaves_all_as_it_should_be(db: Database) {
    let users = resolver(&db, &users(), Options::new()).await;
    for polls in 0..40 {
        let key = format!("user{polls}@example.org");
        let mut answer = users.resolve(&key);
        let mut left = polls;
        let is_done = std::future::poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(false);
            }
            left -= 1;
            Pin::new(&mut answer)
                .poll(cx)
                .map(|outcome| outcome.is_ok())
        });
        is_done.await;
        drop(answer);
        let outcome = users.resolve(&key).await.unwrap();
        assert_eq!(
            users.find(&key).await.unwrap(),
            Some(outcome.id),
            "{polls} polls"
        );
    }
    assert_eq!(rows(&db, "users").await, 40);
    assert_eq!(users.stats().failed, 0);
}

/// Spellings that one collation or another takes for the same.
const SPELLINGS: [&str; 25] = [
    "a",
    "A",
    "a ",
    " a",
    "á",
    "a\u{301}",
    "ss",
    "ß",
    "ẞ",
    "Müller",
    "Muller",
    "müller",
    "ﬀ",
    "ff",
    "😀",
    "😁",
    "007",
    "7",
    "i",
    "İ",
    "ı",
    "ø",
    "o",
    "\u{200d}a",
    "a\u{a0}",
];

async fn spellings_stay_apart_whatever_the_collation(db: Database) {
    let spellings = SPELLINGS;
    let entity = |name: &str, fold: Fold| {
        Table::builder(name)
            .id("id")
            .key_text("k", fold)
            .shown("spelled")
            .build()
            .unwrap()
    };
    for (name, fold) in [
        ("exact_key", Fold::EXACT),
        ("full_key", Fold::FULL),
        ("slug_key", Fold::SLUG),
    ] {
        let resolver = resolver(&db, &entity(name, fold), Options::new().remember(0)).await;
        let made = resolver
            .resolve_many(spellings)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        let keys: HashSet<_> = spellings
            .iter()
            .map(|spelling| fold.apply(spelling).into_owned())
            .collect();
        assert_eq!(
            (ids(&made).len(), rows(&db, name).await),
            (keys.len(), keys.len() as i64),
            "{name}"
        );
        let found = resolver.find_many(spellings).await;
        assert!(
            made.iter()
                .zip(found)
                .all(|(made, found)| found.unwrap().as_ref() == Some(&made.id)),
            "{name}"
        );
        let shown = testkit::texts(
            db.url(),
            &format!("SELECT spelled FROM {name} WHERE k = 'müller'"),
        )
        .await;
        assert_eq!(
            shown.first(),
            match name {
                "exact_key" => Some(Some("müller".to_owned())),
                "full_key" => Some(Some("Müller".to_owned())),
                _ => None,
            }
            .as_ref()
        );
    }
}

async fn without_a_unique_index_it_refuses_and_prints_the_statement(db: Database) {
    testkit::execute(db.url(), "CREATE TABLE users (id INTEGER PRIMARY KEY, email_key VARCHAR(255) NOT NULL, email TEXT, name TEXT, born INTEGER)").await;
    let refused = Resolver::new(connect(&db).await, users(), Options::new())
        .await
        .unwrap_err();
    assert!(refused.is_schema(), "{refused}");
    let message = refused.to_string();
    assert!(
        message.contains("UNIQUE") && message.contains("email_key"),
        "{message}"
    );
}
