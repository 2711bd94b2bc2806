//! What the work may be here and may not be elsewhere: borrowed, mutable, `!Send`.

use futures_util::FutureExt;
use oneflight::Scoped;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;
use tokio::join;

fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("ready at the first poll")
}

#[test]
fn the_work_may_borrow_what_is_not_static_and_so_may_keys_and_values() {
    let text = String::from("one key, one flight");
    let words: Scoped<&str, Vec<&str>> = Scoped::new();
    let (first, rest) = text.split_at(7);
    let split = |key| words.run(&key, || async { Ok(text.split(", ").collect()) });
    let (a, b, c) = now(async { join!(split(first), split(first), split(rest)) });
    assert_eq!(a.unwrap(), ["one key", "one flight"]);
    assert_eq!(b.unwrap(), c.unwrap());
    assert_eq!(words.stats().started, 2);
}

#[test]
fn the_work_may_change_what_its_caller_owns() {
    let scoped: Scoped<u32, usize> = Scoped::new();
    let mut log = Vec::new();
    let answer = now(scoped.run(&1, || async {
        log.push("asked");
        Ok(log.len())
    }));
    assert_eq!((answer.unwrap(), log), (1, vec!["asked"]));
}

#[test]
fn a43_work_that_is_lent_ends_with_the_frame_that_lent_it() {
    let scoped: Scoped<u32, String> = Scoped::new();
    let waits = {
        let lent = String::from("of the leader");
        let mut leader = Box::pin(scoped.run(&1, || async {
            tokio::task::yield_now().await;
            Ok(lent.clone())
        }));
        assert!((&mut leader).now_or_never().is_none());
        scoped.run(&1, || ready(Ok("of the waiter".to_owned())))
    };
    assert_eq!(now(waits).unwrap(), "of the waiter");
}

#[test]
fn rc_work_and_rc_values_run_on_a_single_threaded_executor() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let starts = Rc::new(Cell::new(0));
    type Rows = Rc<RefCell<Vec<u32>>>;
    let scoped: Rc<Scoped<Rc<str>, Rows>> = Rc::default();
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let (scoped, starts) = (scoped.clone(), starts.clone());
            local.spawn_local(async move {
                let key: Rc<str> = "k".into();
                let work = || async {
                    starts.set(starts.get() + 1);
                    tokio::task::yield_now().await;
                    Ok::<_, Infallible>(Rc::new(RefCell::new(vec![7])))
                };
                scoped.run(&key, work).await
            })
        })
        .collect();
    runtime.block_on(local.run_until(async {
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.expect("a task").unwrap());
        }
        assert!(answers.iter().all(|it| Rc::ptr_eq(it, &answers[0])));
    }));
    assert_eq!((starts.get(), scoped.in_flight()), (1, 0));
}

#[test]
fn an_aborted_task_passes_the_key_on_to_another_task() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let scoped: Arc<Scoped<u32, u32>> = Arc::default();
    runtime.block_on(async {
        let (leader, waiter) = (scoped.clone(), scoped.clone());
        let leader = tokio::spawn(async move { leader.run(&1, std::future::pending).await });
        tokio::task::yield_now().await;
        let waiter = tokio::spawn(async move { waiter.run(&1, || ready(Ok(7))).await });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        leader.abort();
        assert_eq!(waiter.await.expect("a task").unwrap(), 7);
    });
}

fn send<T: Send>(it: T) -> T {
    it
}

fn shared<T: Send + Sync>(it: T) -> T {
    it
}

#[test]
fn a_group_and_its_calls_are_send_when_their_parts_are() {
    let scoped: Scoped<String, Arc<str>, String> = shared(Scoped::new());
    let call = send(scoped.run("k", || ready(Ok("v".into()))));
    assert_eq!(&*now(send(call.outcome())).unwrap().value, "v");
}

/// A key that counts how often it is cloned.
#[derive(Debug)]
struct Key(Rc<Cell<u32>>);

impl Clone for Key {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Self(self.0.clone())
    }
}

impl PartialEq for Key {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        1_u8.hash(state);
    }
}

#[test]
fn the_key_is_cloned_by_the_first_caller_only() {
    let scoped: Scoped<Key, u32> = Scoped::new();
    let key = Key(Rc::default());
    let ask = || scoped.run(&key, || ready(Ok(1)));
    let (first, ..) = now(async { join!(ask(), ask(), ask()) });
    assert_eq!((first.unwrap(), key.0.get()), (1, 1));
}

#[test]
fn another_hasher_serves_as_well() {
    let scoped: Scoped<String, u32, Infallible, std::hash::RandomState> = Scoped::default();
    let (a, b) = now(async {
        join!(
            scoped.run("a", || ready(Ok(1))),
            scoped.run("b", || ready(Ok(2)))
        )
    });
    assert_eq!((a.unwrap(), b.unwrap()), (1, 2));
    assert!(!scoped.forget("a"));
}

#[test]
fn what_is_printed_names_the_key_and_who_leads() {
    let scoped: Scoped<String, u32> = Scoped::new();
    let mut call = Box::pin(scoped.run("k", std::future::pending));
    assert!((&mut call).now_or_never().is_none());
    assert_eq!(
        format!("{call:?}"),
        "Call { key: Some(\"k\"), leading: true, .. }"
    );
    assert_eq!(format!("{scoped:?}"), "Scoped { in_flight: 1, .. }");
}
