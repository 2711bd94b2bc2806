//! Many keys at once: what is kept, what is in flight elsewhere, and the rest in one batch.

use super::script::{Desk, at_once, fill, seconds, waits};
use crate::script::Oops;
use futures_util::FutureExt;
use oneflight::batch::Loader;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

type Rows = Loader<String, u64, Oops>;
type Asked = Arc<Mutex<Vec<Vec<String>>>>;

/// A loader for keys of digits, which notes what each batch was asked for. "none" is not there, "bad" fails alone.
fn rows(max_batch: usize) -> (Rows, Asked) {
    let asked = Asked::default();
    let notes = asked.clone();
    let loader = Loader::builder()
        .max_batch(max_batch)
        .build(move |keys: Vec<String>| {
            notes.lock().unwrap().push(keys.clone());
            async move {
                let mut answers = Vec::new();
                for key in keys {
                    match key.as_str() {
                        "none" => {}
                        "bad" => answers.push((key, Err(Oops("bad", fmt::Error)))),
                        _ => {
                            let value = key.parse().unwrap_or(0);
                            answers.push((key, Ok(value)));
                        }
                    }
                }
                answers
            }
        });
    (loader, asked)
}

/// Values by their keys' places; a negative number for an error.
fn plain(rows: Vec<Result<Option<u64>, oneflight::Error<Oops>>>) -> Vec<Option<i64>> {
    let plain = |row: Result<Option<u64>, _>| match row {
        Ok(value) => value.map(|value| i64::try_from(value).expect("a small number")),
        Err(_) => Some(-1),
    };
    rows.into_iter().map(plain).collect()
}

#[test]
fn a33_keys_that_are_kept_in_flight_or_neither_come_in_their_order_by_one_batch() {
    let desk = Desk::new(|it| it);
    let mut s = desk.script();
    let (loader, asked) = rows(1000);
    desk.cache.insert("1".to_owned(), 10);
    let elsewhere = waits(&mut s, "2");
    let mut many = desk.many(&["5", "1", "2", "none", "4", "5"], &loader);
    assert!(
        (&mut many).now_or_never().is_none(),
        "one is in flight elsewhere"
    );
    assert_eq!(*asked.lock().unwrap(), [["5", "none", "4"]]);
    s.finish_work("2", 20);
    let got = (&mut many).now_or_never().expect("all have landed");
    assert_eq!(
        plain(got),
        [Some(5), Some(10), Some(20), None, Some(4), Some(5)]
    );
    assert_eq!((s.answer(elsewhere), s.starts("2")), (Some(20), 1));
    assert_eq!(at_once(&mut s, "4"), (4, "fresh"), "each is kept");
}

#[test]
fn a_batch_that_was_sent_before_a_write_is_not_joined_after_it() {
    let desk = Desk::new(|it| it);
    let (answers, mut gates): (Vec<_>, Vec<_>) = (0..2).map(|_| oneshot::channel()).unzip();
    gates.reverse();
    let gates = Mutex::new(gates);
    let loader: Rows = Loader::builder()
        .max_in_flight(2)
        .build(move |keys: Vec<String>| {
            let gate = gates.lock().unwrap().pop().expect("two batches");
            async move {
                let value = gate.await.unwrap_or_default();
                let rows = keys.into_iter().map(|key| (key, Ok(value)));
                rows.collect::<Vec<_>>()
            }
        });
    let mut before = desk.many(&["1"], &loader);
    assert!((&mut before).now_or_never().is_none());
    desk.cache.invalidate("1");
    let mut after = desk.many(&["1"], &loader);
    assert!((&mut after).now_or_never().is_none());
    for (answer, value) in answers.into_iter().zip([1, 2]) {
        answer.send(value).unwrap();
    }
    let landed = |many| futures_util::FutureExt::now_or_never(many).expect("it has landed");
    assert_eq!(plain(landed(&mut before)), [Some(1)]);
    assert_eq!(plain(landed(&mut after)), [Some(2)]);
    assert_eq!(desk.cache.get("1"), Some(2));
}

#[test]
fn a33_two_calls_for_overlapping_keys_ask_for_each_once() {
    let desk = Desk::new(|it| it);
    let (loader, asked) = rows(1000);
    let (mut one, mut two) = (
        desk.many(&["1", "2"], &loader),
        desk.many(&["2", "3"], &loader),
    );
    let both = futures_util::future::join(&mut one, &mut two).now_or_never();
    let (one, two) = both.expect("both have landed");
    assert_eq!(plain(one), [Some(1), Some(2)]);
    assert_eq!(plain(two), [Some(2), Some(3)]);
    let sent: usize = asked.lock().unwrap().iter().map(Vec::len).sum();
    assert_eq!(sent, 3);
}

#[test]
fn a34_that_there_is_none_is_no_error_and_is_remembered() {
    let desk = Desk::new(|it| it.negative_ttl(seconds(5)));
    let mut s = desk.script();
    let (loader, asked) = rows(1000);
    let ask = || {
        plain(
            desk.many(&["none", "1"], &loader)
                .now_or_never()
                .expect("landed"),
        )
    };
    assert_eq!((ask(), ask()), (vec![None, Some(1)], vec![None, Some(1)]));
    assert_eq!(asked.lock().unwrap().len(), 1, "both are known");
    let call = s.call("none");
    assert!(
        s.error(call).is_absent(),
        "to a call for one key it is an error"
    );
    desk.clock.advance(seconds(5));
    assert_eq!(ask(), [None, Some(1)]);
    assert_eq!(asked.lock().unwrap()[1], ["none"]);
}

#[test]
fn a35_one_bad_key_fails_alone() {
    let desk = Desk::new(|it| it);
    let (loader, _) = rows(1000);
    let got = desk.many(&["1", "bad", "2"], &loader).now_or_never();
    assert_eq!(plain(got.expect("landed")), [Some(1), Some(-1), Some(2)]);
    assert_eq!((desk.cache.len(), desk.cache.stats().failed), (2, 1));
}

#[test]
fn a36_a_batch_that_panics_fails_its_keys_and_no_others() {
    let desk = Desk::new(|it| it.stale_if_error(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "1", 1);
    fill(&mut s, "2", 2);
    desk.cache.expire("2");
    crate::script::hush();
    let loader: Rows = Loader::builder().build(|keys: Vec<String>| async move {
        assert!(keys.is_empty(), "boom");
        Vec::<(String, u64)>::new()
    });
    let got = crate::script::muted(|| {
        let got = desk.many(&["1", "2", "3"], &loader).now_or_never();
        let got = got.expect("landed");
        assert!(got[2].as_ref().is_err_and(oneflight::Error::is_panic));
        assert_eq!(plain(got), [Some(1), Some(2), Some(-1)]);
    });
    assert_eq!(got, Ok(()));
}

#[test]
fn more_keys_than_a_batch_takes_go_in_as_few_as_may_be() {
    let desk = Desk::new(|it| it);
    let (loader, asked) = rows(40);
    let names: Vec<String> = (0..100).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    let got = desk.many(&keys, &loader).now_or_never().expect("landed");
    assert_eq!(plain(got), (0..100).map(Some).collect::<Vec<_>>());
    let sizes: Vec<_> = asked.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [40, 40, 20]);
}

#[test]
fn stale_keys_are_refreshed_behind_in_one_batch() {
    let desk = Desk::behind(|it| it.stale_while_revalidate(seconds(60)));
    let (loader, asked) = rows(1000);
    for key in ["1", "2", "3"] {
        desk.cache.insert(key.to_owned(), 100);
    }
    desk.clock.advance(seconds(60));
    let got = desk.many(&["1", "2", "3"], &loader).now_or_never();
    assert_eq!(
        plain(got.expect("at once")),
        [Some(100), Some(100), Some(100)]
    );
    desk.run_behind();
    assert_eq!(*asked.lock().unwrap(), [["1", "2", "3"]]);
    assert_eq!(desk.cache.get("2"), Some(2));
}

#[test]
fn a_call_for_many_waits_no_longer_than_it_may() {
    let desk = Desk::new(|it| it.wait_timeout(seconds(5)).stale_if_error(seconds(60)));
    let mut s = desk.script();
    fill(&mut s, "2", 2);
    desk.clock.advance(seconds(60));
    let (loader, _) = rows(1000);
    let (_a, _b) = (waits(&mut s, "1"), waits(&mut s, "2"));
    let mut many = desk.many(&["1", "2", "3"], &loader);
    assert!((&mut many).now_or_never().is_none());
    desk.clock.advance(seconds(5));
    let got = (&mut many).now_or_never().expect("its time is over");
    assert!(got[0].as_ref().is_err_and(oneflight::Error::is_timeout));
    assert_eq!(plain(got), [Some(-1), Some(2), Some(3)]);
}

#[test]
fn a_call_for_many_that_wrote_takes_nothing_older() {
    let desk = Desk::new(|it| it);
    let (loader, asked) = rows(1000);
    desk.cache.insert("1".to_owned(), 100);
    let mark = desk.cache.mark();
    let got = desk.many(&["1"], &loader).fresh_since(mark).now_or_never();
    assert_eq!(plain(got.expect("landed")), [Some(1)]);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn a_call_for_many_that_is_dropped_leaves_nothing() {
    let desk = Desk::new(|it| it);
    let loader: Rows =
        Loader::builder().build(|_: Vec<String>| std::future::pending::<Vec<(String, u64)>>());
    let mut many = desk.many(&["1", "2"], &loader);
    assert!((&mut many).now_or_never().is_none());
    assert_eq!((desk.cache.stats().loading, loader.stats().running), (2, 1));
    drop(many);
    assert_eq!((desk.cache.stats().loading, loader.stats().running), (0, 0));
    let got = desk.many(&[], &loader).now_or_never();
    assert_eq!(plain(got.expect("nothing to wait for")), []);
}
