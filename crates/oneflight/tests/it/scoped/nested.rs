//! Work that calls for keys of its own group.

use super::script::Flights;
use futures_util::FutureExt;
use std::cell::RefCell;
use tokio::join;

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
