//! What a store promises, on every driver.

use crate::place::{
    Place, attribute, column, crosswalk, external, keyed, known_team, named, store_contract, team,
};
use oneflight_sql::{Effect, Error, Kind, Outcome, Policy, Record, SameSource, Table, Value};

store_contract!(
    rows_are_created_once_and_found_afterwards,
    what_exists_costs_one_round_trip_and_no_value_of_a_sequence,
    an_external_id_leads_before_the_key,
    two_ids_of_one_source_are_two_entities,
    two_ids_of_one_source_are_one_entity_if_the_table_says_so,
    two_ids_of_one_source_are_refused_if_the_table_says_so,
    records_of_one_batch_end_as_if_each_had_come_alone,
    a_table_without_a_key_is_known_by_its_external_ids,
    a_link_table_has_no_id,
    each_policy_is_applied_to_the_row_that_is_there,
    records_of_one_batch_meet_in_one_row,
    every_kind_survives_as_key_and_as_attribute,
    a_bad_record_fails_alone,
    spellings_that_a_collation_would_fold_stay_apart,
    names_may_hold_any_character,
    a_record_that_does_not_fit_is_told_so,
    many_records_take_few_transactions,
);

fn ids(outcomes: &[Result<Outcome, Error>]) -> Vec<Value> {
    outcomes
        .iter()
        .map(|outcome| outcome.as_ref().unwrap().id.clone())
        .collect()
}

fn effects(outcomes: &[Result<Outcome, Error>]) -> Vec<Effect> {
    outcomes
        .iter()
        .map(|outcome| outcome.as_ref().unwrap().effect)
        .collect()
}

fn conflicts(outcomes: &[Result<Outcome, Error>]) -> u32 {
    outcomes
        .iter()
        .map(|outcome| outcome.as_ref().unwrap().conflicts)
        .sum()
}

async fn rows_are_created_once_and_found_afterwards(place: Place) {
    use Effect::{Created, Found};
    let store = place.store(team()).await;
    let first = store.merge(vec![keyed("b"), keyed("a"), keyed("b")]).await;
    assert_eq!(effects(&first), [Created, Created, Found]);
    let again = store.merge(vec![keyed("a"), keyed("c"), keyed("b")]).await;
    assert_eq!(effects(&again), [Found, Created, Found]);
    let (first, again) = (ids(&first), ids(&again));
    assert_eq!(
        (&first[0], &first[1], &first[0]),
        (&first[2], &again[0], &again[2])
    );
    let found = store
        .find(&[keyed("c"), keyed("nobody"), keyed("a")])
        .await
        .unwrap();
    assert_eq!(
        found,
        [Some(again[1].clone()), None, Some(again[0].clone())]
    );
    assert_eq!(place.count("SELECT count(*) FROM team").await, 3);
    assert!(store.merge(Vec::new()).await.is_empty());
    assert!(store.find(&[]).await.unwrap().is_empty());
}

async fn what_exists_costs_one_round_trip_and_no_value_of_a_sequence(place: Place) {
    let store = place.store(team()).await;
    let records = |from: usize| {
        (from..from + 50)
            .map(|at| keyed(&format!("k{at}")))
            .collect::<Vec<_>>()
    };
    let before = place.driver.round_trips();
    store.merge(records(0)).await;
    if place.driver.is_pipelined() {
        assert_eq!(
            place.driver.round_trips() - before,
            1,
            "a batch with misses"
        );
    }
    for _ in 0..20 {
        store.merge(records(0)).await;
    }
    let before = place.driver.round_trips();
    assert!(
        effects(&store.merge(records(0)).await)
            .iter()
            .all(|effect| *effect == Effect::Found)
    );
    let trips = place.driver.round_trips() - before;
    // Behind a pooler sqlx needs a transaction around a look-up.
    assert_eq!(
        trips,
        if place.backend == crate::place::Backend::PgBouncerSqlx {
            3
        } else {
            1
        }
    );
    store.merge(records(25)).await;
    assert_eq!(place.last_id("team").await, 75, "no value was burnt");
}

async fn an_external_id_leads_before_the_key(place: Place) {
    use Effect::{Created, Found};
    let store = place.store(known_team(SameSource::Split)).await;
    let first = store
        .merge(vec![external("a", "1", keyed("arsenal")), keyed("chelsea")])
        .await;
    let renamed = store
        .merge(vec![
            external("a", "1", keyed("the-arsenal")),
            external("b", "7", keyed("arsenal")),
        ])
        .await;
    assert_eq!(
        (effects(&first), effects(&renamed)),
        (vec![Created, Created], vec![Found, Found])
    );
    assert_eq!(
        ids(&renamed),
        [ids(&first)[0].clone(), ids(&first)[0].clone()]
    );
    let only = Record {
        key: None,
        ..external("b", "7", keyed(""))
    };
    let unknown = Record {
        key: None,
        ..external("b", "8", keyed(""))
    };
    let outcomes = store.merge(vec![only.clone(), unknown.clone()]).await;
    assert_eq!(outcomes[0].as_ref().unwrap().id, ids(&first)[0]);
    assert!(outcomes[1].as_ref().unwrap_err().is_refused());
    let looked = store
        .find(&[only, unknown, external("a", "2", keyed("chelsea"))])
        .await
        .unwrap();
    assert_eq!(
        looked,
        [
            Some(ids(&first)[0].clone()),
            None,
            Some(ids(&first)[1].clone())
        ]
    );
    assert_eq!(place.count("SELECT count(*) FROM team").await, 2);
    assert_eq!(
        place.count("SELECT count(*) FROM team_xref").await,
        2,
        "a look-up links nothing"
    );
}

async fn two_ids_of_one_source_are_two_entities(place: Place) {
    let store = place.store(known_team(SameSource::Split)).await;
    let records = || {
        let same = ["1", "2", "3"].map(|id| external("a", id, keyed("arsenal")));
        same.into_iter()
            .chain([external("b", "1", keyed("arsenal"))])
            .collect::<Vec<_>>()
    };
    let first = ids(&store.merge(records()).await);
    assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
    assert_eq!(first[3], first[0]);
    assert_eq!(ids(&store.merge(records()).await), first);
    assert_eq!(
        store
            .find(&[external("a", "9", keyed("arsenal"))])
            .await
            .unwrap(),
        [None]
    );
    assert_eq!(
        place
            .count("SELECT count(*) FROM team WHERE slug IN ('arsenal', 'arsenal~2', 'arsenal~3')")
            .await,
        3
    );
    assert_eq!(place.last_id("team").await, 3);
}

async fn two_ids_of_one_source_are_one_entity_if_the_table_says_so(place: Place) {
    let store = place.store(known_team(SameSource::Link)).await;
    let records = vec![
        external("a", "1", keyed("arsenal")),
        external("a", "2", keyed("arsenal")),
    ];
    let first = ids(&store.merge(records.clone()).await);
    assert_eq!(first[0], first[1]);
    assert_eq!(ids(&store.merge(records).await), first);
    assert_eq!(place.count("SELECT count(*) FROM team_xref").await, 2);
}

async fn two_ids_of_one_source_are_refused_if_the_table_says_so(place: Place) {
    let store = place.store(known_team(SameSource::Error)).await;
    let records = vec![
        external("a", "1", keyed("arsenal")),
        external("a", "2", keyed("arsenal")),
    ];
    for _ in 0..2 {
        let outcomes = store.merge(records.clone()).await;
        assert!(outcomes[0].is_ok());
        assert!(outcomes[1].as_ref().unwrap_err().is_refused());
    }
    assert_eq!(place.count("SELECT count(*) FROM team_xref").await, 1);
}

/// Batches of `external id=key`; the key that each external id led to, if they had come one by one; how many rows there are, and
/// how many records were refused.
const BATCHES: [(SameSource, &str, &str, i64, usize); 6] = [
    // 2 is split from x; what it is called later changes nothing.
    (SameSource::Split, "1=x 2=x 2=y", "1=x 2=x~2", 2, 0),
    // y belongs to 2, who was refused x, and not to 3, who comes later.
    (SameSource::Error, "1=x 2=x 2=y 3=y", "1=x 2=y", 2, 2),
    // Without a key: refused before the id is known, found afterwards.
    (SameSource::Split, "1= 1=x 1=", "1=x", 1, 1),
    (SameSource::Link, "1=x 2=x 2=", "1=x 2=x", 1, 0),
    (SameSource::Split, "1=x 2=x 2= 3=", "1=x 2=x~2", 2, 1),
    // 2 leads to x already: y is left to 3.
    (SameSource::Link, "2=x 2=y 3=y", "2=x 3=y", 2, 0),
];

async fn records_of_one_batch_end_as_if_each_had_come_alone(place: Place) {
    let pairs = |text: &'static str| text.split(' ').filter_map(|pair| pair.split_once('='));
    for (nth, (same_source, said, linked, rows, refused)) in BATCHES.into_iter().enumerate() {
        let mut table = known_team(same_source);
        table.name = format!("team_{nth}");
        table.crosswalk = Some(crosswalk(&format!("xref_{nth}"), same_source));
        let store = place.store(table).await;
        let records = pairs(said).map(|(id, key)| {
            let record = external("a", id, keyed(key));
            let key = record.key.clone().filter(|_| !key.is_empty());
            Record { key, ..record }
        });
        let outcomes = store.merge(records.collect()).await;
        let errors: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
        assert!(errors.iter().all(|e| e.is_refused()), "{said}: {errors:?}");
        assert_eq!(errors.len(), refused, "{said}: {errors:?}");
        for (id, key) in pairs(linked) {
            let has_key = format!(
                "SELECT count(*) FROM team_{nth} t JOIN xref_{nth} x ON x.entity_id = t.id \
                 WHERE x.external_id = '{id}' AND t.slug = '{key}'"
            );
            assert_eq!(place.count(&has_key).await, 1, "{said}: {id} is {key}");
        }
        let links = format!("SELECT count(*) FROM xref_{nth}");
        let links = place.count(&links).await;
        assert_eq!(links, pairs(linked).count() as i64, "{said}");
        // Nor was an id spent on one that was refused.
        assert_eq!(place.last_id(&format!("team_{nth}")).await, rows, "{said}");
    }
}

async fn a_table_without_a_key_is_known_by_its_external_ids(place: Place) {
    let table = Table {
        key: Vec::new(),
        ..known_team(SameSource::Split)
    };
    let store = place.store(table).await;
    let record = |id: &str, name: &str| Record {
        key: None,
        ..external("a", id, named("", name))
    };
    let first = store
        .merge(vec![record("1", "x"), record("2", "x"), record("1", "x")])
        .await;
    assert_eq!(
        effects(&first),
        [Effect::Created, Effect::Created, Effect::Found]
    );
    let again = store
        .merge(vec![record("2", "x"), record("3", "z"), record("1", "y")])
        .await;
    assert_eq!(ids(&again)[0], ids(&first)[1]);
    assert_eq!((conflicts(&again), place.last_id("team").await), (1, 3));
    let orphans = "SELECT count(*) FROM team WHERE id NOT IN (SELECT entity_id FROM team_xref)";
    assert_eq!(place.count(orphans).await, 0);
    assert_eq!(place.count("SELECT count(*) FROM team t JOIN team_xref x ON x.entity_id = t.id WHERE x.external_id = '3' AND t.name = 'z'").await, 1);
}

async fn a_link_table_has_no_id(place: Place) {
    let key = vec![column("route_id", Kind::Int), column("plane_id", Kind::Int)];
    let table = Table {
        name: "route_plane".into(),
        id: None,
        key,
        attributes: Vec::new(),
        newest_by: None,
        crosswalk: None,
    };
    let store = place.store(table).await;
    let record = |route: i64, plane: i64| Record {
        key: Some([Value::Int(route), Value::Int(plane)].into()),
        ..Record::default()
    };
    let first = store
        .merge(vec![record(1, 2), record(2, 1), record(1, 2)])
        .await;
    assert_eq!(
        effects(&first),
        [Effect::Created, Effect::Created, Effect::Found]
    );
    assert_eq!(ids(&first), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(
        effects(&store.merge(vec![record(2, 1), record(3, 1)]).await),
        [Effect::Found, Effect::Created]
    );
    assert_eq!(
        store.find(&[record(3, 1), record(1, 3)]).await.unwrap(),
        [Some(Value::Null), None]
    );
    assert_eq!(place.count("SELECT count(*) FROM route_plane").await, 3);
}

fn policies() -> Table {
    let of = |name: &str, policy| attribute(name, Kind::Int, policy);
    let attributes = vec![
        of("filled", Policy::Fill),
        of("kept", Policy::Keep),
        of("taken", Policy::Take),
        of("dated", Policy::Newest),
        of("seen_at", Policy::Newest),
        attribute("shown", Kind::Text, Policy::Once),
    ];
    Table {
        attributes,
        newest_by: Some("seen_at".into()),
        ..team()
    }
}

fn saying(values: [i64; 5], shown: &str) -> Record {
    let said = values
        .iter()
        .map(|value| (*value != 0).then_some(Value::Int(*value)));
    Record {
        attributes: said.chain([Some(Value::from(shown))]).collect(),
        ..keyed("k")
    }
}

async fn each_policy_is_applied_to_the_row_that_is_there(place: Place) {
    let store = place.store(policies()).await;
    let stub = store.merge(vec![saying([0, 0, 0, 0, 0], "K")]).await;
    assert_eq!(effects(&stub), [Effect::Created]);
    let completed = store.merge(vec![saying([1, 1, 1, 1, 10], "k")]).await;
    assert_eq!(
        (effects(&completed), conflicts(&completed)),
        (vec![Effect::Completed], 0)
    );
    let same = store.merge(vec![saying([1, 1, 1, 1, 10], "k")]).await;
    assert_eq!((effects(&same), conflicts(&same)), (vec![Effect::Found], 0));
    let later = store.merge(vec![saying([2, 2, 2, 2, 20], "kk")]).await;
    assert_eq!(
        (effects(&later), conflicts(&later)),
        (vec![Effect::Updated], 2)
    );
    let earlier = store.merge(vec![saying([3, 3, 3, 3, 15], "kkk")]).await;
    assert_eq!(
        (effects(&earlier), conflicts(&earlier)),
        (vec![Effect::Updated], 4)
    );
    let sql = "SELECT count(*) FROM team WHERE filled = 1 AND kept = 1 AND taken = 3 AND dated = 2 AND seen_at = 20 AND shown = 'K'";
    assert_eq!(place.count(sql).await, 1);
}

async fn records_of_one_batch_meet_in_one_row(place: Place) {
    let store = place.store(policies()).await;
    let batch = || {
        vec![
            saying([1, 0, 1, 1, 10], "K"),
            saying([2, 2, 2, 2, 20], "k"),
            saying([0, 0, 0, 3, 5], ""),
        ]
    };
    let first = store.merge(batch()).await;
    assert_eq!(
        effects(&first),
        [Effect::Created, Effect::Updated, Effect::Found]
    );
    assert_eq!(conflicts(&first), 4);
    let sql = "SELECT count(*) FROM team WHERE filled = 1 AND kept IS NULL AND taken = 2 AND dated = 2 AND seen_at = 20 AND shown = 'K'";
    assert_eq!(place.count(sql).await, 1);
}

fn one_of_each_kind() -> [(Kind, Value); 9] {
    [
        (
            Kind::Text,
            Value::from("naïve \"quoted\" \\ 'text' \u{1f600}\n"),
        ),
        (Kind::Int, Value::Int(i64::MIN)),
        (Kind::Real, Value::Real(-1.5e-7)),
        (
            Kind::Decimal,
            Value::Decimal("-12345678901234567890.0625".into()),
        ),
        (Kind::Bool, Value::Bool(true)),
        (Kind::Date, Value::Date(-719_162)),
        (Kind::Timestamp, Value::Timestamp(1_795_972_800_123_456)),
        (Kind::Uuid, Value::Uuid(*b"\x00\xff23456789abcdef")),
        (Kind::Bytes, Value::Bytes([0, 255, 39, 92].into())),
    ]
}

async fn every_kind_survives_as_key_and_as_attribute(place: Place) {
    let values = one_of_each_kind();
    let keys = values.iter().filter(|(kind, _)| *kind != Kind::Real);
    let key = keys
        .clone()
        .map(|(kind, _)| column(&format!("k_{kind:?}").to_lowercase(), *kind))
        .collect();
    let mut table = Table {
        name: "kinds".into(),
        key,
        ..team()
    };
    table.attributes = values
        .iter()
        .map(|(kind, _)| attribute(&format!("a_{kind:?}").to_lowercase(), *kind, Policy::Take))
        .collect();
    let store = place.store(table).await;
    let key: Box<[Value]> = keys.map(|(_, value)| value.clone()).collect();
    let said: Box<[Option<Value>]> = values
        .iter()
        .map(|(_, value)| Some(value.clone()))
        .collect();
    let silent = Record {
        key: Some(key.clone()),
        external: None,
        attributes: vec![None; values.len()].into(),
    };
    let record = Record {
        key: Some(key),
        external: None,
        attributes: said,
    };
    assert_eq!(effects(&store.merge(vec![silent]).await), [Effect::Created]);
    assert_eq!(
        effects(&store.merge(vec![record.clone()]).await),
        [Effect::Completed]
    );
    assert_eq!(
        effects(&store.merge(vec![record.clone()]).await),
        [Effect::Found],
        "what was written is what is read"
    );
    let mut other = record.clone();
    other.key.as_mut().unwrap()[0] = Value::from("other");
    assert_eq!(
        effects(&store.merge(vec![other.clone()]).await),
        [Effect::Created]
    );
    assert_eq!(
        effects(&store.merge(vec![other, record]).await),
        [Effect::Found, Effect::Found]
    );
}

async fn a_bad_record_fails_alone(place: Place) {
    let mut table = team();
    table.attributes[0].required = true;
    let store = place.store(table).await;
    let records = |bad: Record| {
        let good = (0..40).map(|at| named(&format!("k{at}"), "x"));
        good.clone()
            .take(17)
            .chain([bad])
            .chain(good.skip(17))
            .collect::<Vec<_>>()
    };
    let outcomes = store.merge(records(keyed("without a name"))).await;
    let refused: Vec<usize> = (0..41).filter(|&at| outcomes[at].is_err()).collect();
    assert_eq!(refused, [17]);
    let error = outcomes[17].as_ref().unwrap_err();
    assert!(error.is_refused() && error.code().is_some(), "{error:?}");
    assert_eq!(place.count("SELECT count(*) FROM team").await, 40);
    if place.backend == crate::place::Backend::MariaDb {
        let outcomes = store
            .merge(records(named(&"x".repeat(300), "too long")))
            .await;
        assert!(outcomes[17].as_ref().unwrap_err().is_refused());
        assert_eq!(place.count("SELECT count(*) FROM team").await, 40);
    }
}

async fn spellings_that_a_collation_would_fold_stay_apart(place: Place) {
    let store = place.store(team()).await;
    let keys = [
        "muller",
        "Muller",
        "müller",
        "mu\u{308}ller",
        "muller ",
        "mullers",
        "mullerß",
        "mullerss",
        "7",
        "007",
        "7.0",
        "😀",
        "😁",
    ];
    let records: Vec<_> = keys.iter().map(|key| keyed(key)).collect();
    let mut first = ids(&store.merge(records.clone()).await);
    assert_eq!(ids(&store.merge(records).await), first);
    first.sort();
    first.dedup();
    assert_eq!(first.len(), keys.len());
}

async fn names_may_hold_any_character(place: Place) {
    let mut table = known_team(SameSource::Split);
    table.name = "we\"ird `table`".into();
    table.id = Some("the id".into());
    table.key[0].name = "sel\"ect".into();
    table.attributes[0].column.name = "a`b'c".into();
    table.crosswalk = Some(crosswalk("cross \"walk\"", SameSource::Split));
    let store = place.store(table).await;
    let records = || vec![external("s", "1", named("k", "n")), named("l", "m")];
    assert_eq!(
        effects(&store.merge(records()).await),
        [Effect::Created, Effect::Created]
    );
    assert_eq!(
        effects(&store.merge(records()).await),
        [Effect::Found, Effect::Found]
    );
    assert_eq!(conflicts(&store.merge(vec![named("l", "other")]).await), 1);
}

async fn a_record_that_does_not_fit_is_told_so(place: Place) {
    let store = place.store(team()).await;
    let outcomes = store
        .merge(vec![
            Record::default(),
            external("a", "1", keyed("k")),
            Record {
                key: Some([Value::Null].into()),
                ..Record::default()
            },
            Record {
                key: Some([Value::Int(1)].into()),
                ..Record::default()
            },
            Record {
                attributes: [Some(Value::Bool(true))].into(),
                ..keyed("k")
            },
            keyed("good"),
        ])
        .await;
    assert!(
        outcomes[..5]
            .iter()
            .all(|outcome| outcome.as_ref().unwrap_err().is_usage()),
        "{outcomes:?}"
    );
    assert!(outcomes[5].is_ok());
    assert_eq!(place.count("SELECT count(*) FROM team").await, 1);
}

async fn many_records_take_few_transactions(place: Place) {
    let store = place.store(known_team(SameSource::Split)).await;
    let records = |name: &str| {
        (0..9_000)
            .map(|at| external("s", &format!("x{at}"), named(&format!("k{at}"), name)))
            .collect::<Vec<_>>()
    };
    let before = place.driver.round_trips();
    let first = store.merge(records("a")).await;
    assert!(
        effects(&first)
            .iter()
            .all(|effect| *effect == Effect::Created)
    );
    let again = store.merge(records("b")).await;
    assert_eq!(
        (conflicts(&again), ids(&again) == ids(&first)),
        (9_000, true)
    );
    let trips = place.driver.round_trips() - before;
    assert!(
        trips
            < if place.driver.dialect() == oneflight_sql::Dialect::Sqlite {
                400
            } else {
                60
            },
        "{trips} round trips"
    );
    assert_eq!(place.last_id("team").await, 9_000);
}
