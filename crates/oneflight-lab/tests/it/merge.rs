//! Every way on every database: 400 references, and the counts that come with them.

use oneflight_lab::feed::Order;
use oneflight_lab::merge::{Case, Events, Settings, Step, Way, run};
use oneflight_lab::result::{Figure, Results};
use testkit::services;

/// Settings of a run that takes a moment; `name` is nobody else's.
fn little(name: &str) -> Settings {
    let mut settings = Settings::default();
    (settings.references, settings.keys, settings.rows) = (400, 100, 300);
    (settings.connections, settings.part) = (8, 30);
    settings.round_trips_ms = vec![0, 2];
    settings.scratch = format!("oneflight_lab_{name}_{}", std::process::id());
    settings
}

/// What every run must come to, on whichever database.
async fn every_way_is_measured_and_counted(url: &str, name: &str) {
    let settings = little(name);
    let results = run(url, settings.clone(), &mut ()).await.unwrap();
    assert_eq!(results.skipped, [], "the test machine has every shell");
    let lags: Vec<u64> = results.lags.iter().map(|lag| lag.round_trip_ms).collect();
    for &ms in &lags {
        for order in [Order::Shuffled, Order::Clustered] {
            for way in Way::ALL {
                let figure = results.references(way, order, ms).unwrap();
                of_references(figure, &settings);
            }
        }
        of_rows(&results, ms);
    }
    // SQLite is in the process: whatever was asked for, no round trip is added.
    match url.starts_with("sqlite") {
        true => assert_eq!(lags, [0]),
        false => {
            assert_eq!(lags, [0, 2]);
            assert!(results.lags[1].measured_ms >= 2.0, "{:?}", results.lags);
        }
    }
}

fn of_references(figure: &Figure, settings: &Settings) {
    let scaled = figure.way.is_serial() && figure.round_trip_ms > 0;
    assert_eq!(figure.scaled_from, scaled.then_some(30), "{figure:?}");
    assert!(figure.seconds > 0.0 && figure.round_trips > 0, "{figure:?}");
    let trips = u64::from(settings.references + 2 * settings.keys);
    match figure.way {
        // Counted, so that a part can be scaled: a look-up for each reference, two statements for each key.
        Way::Sequential | Way::Mutex | Way::Queue => assert_eq!(figure.round_trips, trips),
        Way::Cached | Way::Flights => assert_eq!(figure.round_trips, 300),
        Way::Batches => assert!(figure.round_trips <= 40, "{figure:?}"),
        _ => {}
    }
    let audit = &figure.audit;
    if figure.way == Way::Naive {
        // Two that look at the same moment is what chance decides; that its books are right is not.
        assert_eq!((audit.distinct, audit.links), (100, 100), "{audit:?}");
        assert_eq!(audit.duplicates(), audit.orphans, "{audit:?}");
        assert_eq!(audit.strays, audit.orphans, "{audit:?}");
    } else {
        assert!(audit.is_right(), "{figure:?}");
        assert!(scaled || audit.rows == 100, "{audit:?}");
    }
}

fn of_rows(results: &Results, ms: u64) {
    for (way, runs) in [(Way::Sequential, 1), (Way::Batches, 2)] {
        for run in 1..=runs {
            let figure = results.rows(way, run, ms).unwrap();
            assert!(figure.audit.is_right(), "{figure:?}");
        }
    }
    let whole = results.rows(Way::Batches, 1, ms).unwrap();
    assert_eq!((whole.audit.facts, whole.audit.rows), (300, 300 + 300 + 10));
    let one_by_one = results.rows(Way::Sequential, 1, ms).unwrap();
    assert_eq!(one_by_one.round_trips, 4 * 300 + 2 * 610);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_is_measured_and_counted_on_sqlite() {
    every_way_is_measured_and_counted("sqlite:", "all").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_is_measured_and_counted_on_postgresql() {
    every_way_is_measured_and_counted(&services::postgres(), "all").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_is_measured_and_counted_on_mariadb() {
    every_way_is_measured_and_counted(&services::mariadb(), "all").await;
}

/// On a clustered feed, callers that begin side by side mean the same thing: all of them look it up before one has created it.
#[tokio::test(flavor = "multi_thread")]
async fn the_naive_way_leaves_duplicates_and_orphans() {
    let mut settings = little("naive");
    settings.cases = vec![Case::References];
    settings.ways = vec![Way::Naive];
    settings.orders = vec![Order::Clustered];
    settings.round_trips_ms = vec![10];
    let results = run(&services::postgres(), settings, &mut ()).await.unwrap();
    let audit = &results.figures[0].audit;
    assert!(audit.duplicates() > 0 && audit.orphans > 0, "{audit:?}");
    assert!(audit.strays > 0 && !audit.is_right(), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_take_a_handful_of_round_trips_and_one_connection() {
    let mut settings = little("batches");
    settings.cases = vec![Case::References];
    settings.ways = vec![Way::Batches];
    settings.round_trips_ms = vec![10];
    let results = run(&services::postgres(), settings, &mut ()).await.unwrap();
    for figure in &results.figures {
        assert!(
            figure.round_trips <= 5 && figure.connections == 1,
            "{figure:?}"
        );
    }
}

async fn databases(url: &str, name: &str) -> i64 {
    let sql = match url.starts_with("postgres") {
        true => format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'"),
        false => {
            format!("SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'")
        }
    };
    testkit::count(url, &sql).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_scratch_name_is_left_alone() {
    for (url, name) in [
        (services::postgres(), "taken_p"),
        (services::mariadb(), "taken_m"),
    ] {
        let settings = little(name);
        let scratch = settings.scratch.clone();
        testkit::execute(&url, &format!("CREATE DATABASE {scratch}")).await;
        let refused = run(&url, settings, &mut ()).await.unwrap_err();
        let there = databases(&url, &scratch).await;
        testkit::execute(&url, &format!("DROP DATABASE {scratch}")).await;
        assert!(refused.is_taken(), "{refused}");
        assert!(refused.to_string().contains(&scratch), "{refused}");
        assert_eq!(there, 1);
    }
}

/// Ends the run that it is told of: it never comes back from the third step.
struct UpToTheThird(tokio::sync::mpsc::Sender<()>);

impl Events for UpToTheThird {
    fn began(&mut self, step: Step) {
        if step.number == 3 {
            // Whoever waits for it drops the run; there is one message, and room for it.
            let _ = self.0.try_send(());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_dropped_drops_its_database() {
    for (url, name) in [
        (services::postgres(), "dropped_p"),
        (services::mariadb(), "dropped_m"),
    ] {
        let mut settings = little(name);
        settings.round_trips_ms = vec![20];
        let scratch = settings.scratch.clone();
        let (told, mut third) = tokio::sync::mpsc::channel(1);
        let mut events = UpToTheThird(told);
        tokio::select! {
            ended = run(&url, settings, &mut events) => panic!("{ended:?}"),
            _ = third.recv() => {}
        }
        assert_eq!(databases(&url, &scratch).await, 0, "{url}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_of_the_database() {
    let settings = little("nowhere");
    let error = run("postgres://u@127.0.0.1:1/postgres", settings, &mut ())
        .await
        .unwrap_err();
    assert!(error.is_database(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_json_and_come_back_from_it() {
    let mut settings = little("json");
    settings.ways = vec![Way::Sequential, Way::Batches];
    let results = run("sqlite:", settings, &mut ()).await.unwrap();
    let text = serde_json::to_string(&results).unwrap();
    let back: Results = serde_json::from_str(&text).unwrap();
    assert_eq!(back.figures, results.figures);
    assert!(text.contains(r#""way":"batches""#), "{text}");
}
