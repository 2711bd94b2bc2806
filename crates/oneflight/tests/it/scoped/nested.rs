//! Work that calls for keys of its own group.

use super::script::Flights;
use futures_util::FutureExt;
use oneflight::{Group, Scoped};
use std::cell::RefCell;
use std::future::pending;
use std::sync::LazyLock;
use tokio::join;
use tokio::sync::oneshot::channel;

fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("ready at the first poll")
}

#[test]
fn a21_nested_same_key_is_an_error_that_names_it_and_the_work_goes_on() {
    let group = Flights::new();
    let outer = group.run("key", || async {
        let inner = group.run("key", || async { Ok(1) }).await;
        let error = inner.unwrap_err();
        assert!(error.is_reentrant());
        assert!(error.to_string().contains("\"key\""), "{error}");
        Ok(7)
    });
    assert_eq!(now(outer).unwrap(), 7);
    assert_eq!((group.stats().joined, group.in_flight()), (0, 0));
}

#[test]
fn a21_nested_by_way_of_another_key_is_an_error_too() {
    let group = Flights::new();
    let again = || async {
        let error = group.run("one", || async { Ok(1) }).await.unwrap_err();
        assert!(error.is_reentrant(), "{error}");
        assert!(error.to_string().contains("\"one\""), "{error}");
        Ok(3)
    };
    let outer = group.run("one", || async {
        Ok(group.run("two", again).await.expect("it goes on") + 1)
    });
    assert_eq!(now(outer).unwrap(), 4);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a21_call_that_was_made_outside_and_is_awaited_inside_is_an_error_too() {
    let group = Flights::new();
    let before = RefCell::new(Some(Box::pin(group.run("key", || async { Ok(1) }))));
    let outer = group.run("key", || async {
        let inner = before.take().expect("made before");
        assert!(inner.await.unwrap_err().is_reentrant());
        Ok(7)
    });
    assert_eq!(now(outer).unwrap(), 7);
    assert_eq!(group.in_flight(), 0);
}

#[test]
fn a21_other_key_inside_a_work_is_a_flight_like_any_other() {
    let group = Flights::new();
    let inner = || group.run("inner", || async { Ok(3) });
    let outer = group.run("outer", || async {
        Ok(inner().await.expect("a value") + 1)
    });
    let (a, b) = now(async { join!(outer, inner()) });
    assert_eq!((a.unwrap(), b.unwrap()), (4, 3));
}

#[test]
fn a21_same_key_of_another_group_is_another_key() {
    let (one, other) = (Flights::new(), Flights::new());
    let call = one.run("k", || async {
        Ok(other.run("k", || async { Ok(1) }).await.expect("a value") + 1)
    });
    assert_eq!(now(call).unwrap(), 2);
}

// What the leader waits for, who polls the leader waits for, too.
#[test]
fn a21_ring_by_way_of_a_leader_that_another_task_polls_is_an_error() {
    static GROUP: LazyLock<Group<&str, u32, String>> = LazyLock::new(Group::new);
    static SCOPED: LazyLock<Scoped<&str, u32, String>> = LazyLock::new(Scoped::new);
    let (group, scoped) = (&*GROUP, &*SCOPED);
    let ((open_a, gate_a), (open_b, gate_b)) = (channel(), channel());
    let mut a = Box::pin(group.run(&"a", || async move {
        gate_a.await.expect("it opens");
        let lead = || async move {
            let b = group.run(&"b", pending);
            b.await.map_err(|error| error.to_string())
        };
        let s = scoped.run(&"s", lead).await;
        s.map_err(|error| error.to_string())
    }));
    let mut b = Box::pin(group.run(&"b", || async move {
        gate_b.await.expect("it opens");
        let a = group.run(&"a", pending);
        Ok(a.await.map_or_else(|error| error.to_string().len(), |_| 0) as u32)
    }));
    let is_pending = (&mut a).now_or_never().is_none() && (&mut b).now_or_never().is_none();
    assert!(is_pending, "both stand at their gates");
    open_b.send(()).unwrap();
    assert!((&mut b).now_or_never().is_none(), "it waits for the other");
    open_a.send(()).unwrap();
    let error = now(&mut a).unwrap_err();
    let ring = "\"s\" waits for \"b\" waits for \"a\" waits for \"s\"";
    assert!(error.to_string().ends_with(ring), "{error}");
    assert!(now(b).unwrap() > 0, "it is told what became of the other");
    assert_eq!((group.in_flight(), scoped.in_flight()), (0, 0));
}
