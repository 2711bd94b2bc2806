//! Who overtakes whom: a refresh, a login, a log-out, and others at the same store. The newest version counts, whoever comes back last.

use super::authority::Fate;
use super::desk::{Call, Desk};
use super::rotation::told;
use oneflight::token::store::Keeping;
use oneflight::token::{MemoryStore, Pair, Store, Stored, Version};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Logs out, and asks for a token.
fn log_out(desk: &mut Desk) -> Call {
    let source = desk.source.clone();
    desk.seat(async move {
        source.log_out().await?;
        source.token().await
    })
}

#[test]
fn e5_a_refresh_that_a_login_overtakes_overwrites_nothing() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.hold();
    let waits = desk.reject(&old);
    assert!(desk.is_waiting(waits));
    // Somebody logs in meanwhile, and the refresh for the old pair is answered after that.
    let new = desk.login();
    desk.server.release();
    assert_eq!(desk.token(waits), new);
    assert_eq!(desk.ask(), new);
    let mut other = desk.beside();
    assert_eq!(other.ask().expose(), new.expose());
    assert_eq!(desk.source.stats().superseded, 1);
}

#[test]
fn e5_a_refresh_that_another_process_overtakes_overwrites_nothing() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.swap_late("access-2");
    let waits = desk.reject(&old);
    assert!(desk.is_waiting(waits));
    let mut other = desk.beside();
    let login = desk.server.login();
    let other_source = other.source.clone();
    let login = other.seat(async move { other_source.replace(login).await });
    let new = other.token(login);
    store.answer_now();
    assert_eq!(desk.token(waits).expose(), new.expose());
    assert_eq!(desk.source.stats().superseded, 1);
    assert_eq!(desk.beside().ask().expose(), new.expose());
}

#[test]
fn who_logs_out_is_logged_out_in_every_process_by_the_next_refresh() {
    let mut desk = Desk::new();
    let mut other = desk.beside();
    let old = other.ask();
    let out = log_out(&mut desk);
    assert!(desk.error(out).needs_login());
    // A token that is good is used until the store is looked into.
    assert_eq!(other.ask(), old);
    let call = other.reject(&old);
    assert!(other.error(call).needs_login());
    assert_eq!(desk.server.requests().len(), 0);
}

#[test]
fn a_log_out_during_a_refresh_stands() {
    let mut desk = Desk::new();
    let old = desk.ask();
    desk.server.hold();
    let waits = desk.reject(&old);
    assert!(desk.is_waiting(waits));
    let out = log_out(&mut desk);
    assert!(desk.error(out).needs_login());
    desk.server.release();
    assert!(desk.error(waits).needs_login());
    assert!(desk.beside().ask_for_error().needs_login());
}

#[test]
fn e5_a_refresh_whose_swap_comes_back_after_a_log_out_brings_nobody_back() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.answer_late("access-2");
    let waits = desk.reject(&old);
    assert!(
        desk.is_waiting(waits),
        "the store has it and has not said so"
    );
    let out = log_out(&mut desk);
    assert!(desk.error(out).needs_login());
    store.answer_now();
    assert!(desk.error(waits).needs_login());
    assert!(desk.ask_for_error().needs_login());
    assert!(desk.beside().ask_for_error().needs_login());
}

#[test]
fn e5_a_refresh_whose_swap_comes_back_after_a_login_replaces_nothing() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.answer_late("access-2");
    let waits = desk.reject(&old);
    assert!(desk.is_waiting(waits));
    let new = desk.login();
    store.answer_now();
    assert_eq!(desk.token(waits), new);
    assert_eq!(desk.ask(), new);
    assert_eq!(desk.beside().ask().expose(), new.expose());
}

#[test]
fn e5_a_login_whose_swap_comes_back_after_a_log_out_brings_nobody_back() {
    let (mut desk, store) = told();
    store.answer_late("access-2");
    let (source, grant) = (desk.source.clone(), desk.server.login());
    let login = desk.seat(async move { source.replace(grant).await });
    assert!(desk.is_waiting(login));
    let out = log_out(&mut desk);
    assert!(desk.error(out).needs_login());
    store.answer_now();
    assert!(desk.error(login).needs_login());
    assert!(desk.ask_for_error().needs_login());
}

#[test]
fn a_login_whose_swap_comes_back_after_its_token_was_rejected_gives_it_to_nobody() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.answer_late("access-2");
    let (source, grant) = (desk.source.clone(), desk.server.login());
    let login = desk.seat(async move { source.replace(grant).await });
    assert!(desk.is_waiting(login));
    let found = desk.reject(&old);
    let found = desk.token(found);
    assert_eq!(found.expose(), "access-2", "it is in the store");
    desk.server.next([Fate::Busy(None)]);
    let call = desk.reject(&found);
    assert!(desk.error(call).work().unwrap().is_transient());
    store.answer_now();
    assert_eq!(desk.token(login), found);
    desk.server.next([Fate::Busy(None)]);
    assert!(desk.ask_for_error().work().unwrap().is_transient());
}

#[test]
fn a_login_whose_swap_comes_back_after_a_refresh_of_its_pair_replaces_nothing() {
    let (mut desk, store) = told();
    let old = desk.ask();
    store.answer_late("access-2");
    let (source, grant) = (desk.source.clone(), desk.server.login());
    let login = desk.seat(async move { source.replace(grant).await });
    assert!(desk.is_waiting(login));
    let found = desk.reject(&old);
    let found = desk.token(found);
    let call = desk.reject(&found);
    let new = desk.token(call);
    store.answer_now();
    assert_eq!(desk.token(login), new);
    assert_eq!(desk.ask(), new);
}

#[test]
fn a_pair_that_waits_for_the_store_is_forgotten_with_the_login_that_it_came_of() {
    for leaves in [true, false] {
        let (mut desk, store) = told();
        let old = desk.ask();
        store.fail_swaps_of("access-2", 4);
        let call = desk.reject(&old);
        (0..8).for_each(|_| desk.advance(Duration::from_millis(100)));
        assert!(desk.error(call).work().unwrap().is_store());
        if leaves {
            let out = log_out(&mut desk);
            assert!(desk.error(out).needs_login());
            desk.advance_secs(1);
            assert!(desk.ask_for_error().needs_login());
        } else {
            let new = desk.login();
            let call = desk.reject(&new);
            assert_eq!(desk.token(call).expose(), "access-4");
        }
        // It was not even offered.
        assert_eq!(desk.source.stats().superseded, 0);
    }
}

/// A store that others change before each swap.
#[derive(Debug, Default)]
struct Restless(MemoryStore, Mutex<u64>);

impl Store for Restless {
    fn load(&self) -> Keeping<'_, Stored> {
        self.0.load()
    }

    fn compare_and_swap<'a>(&'a self, _: Version, _: &'a Stored) -> Keeping<'a, bool> {
        Box::pin(async {
            let next = {
                let mut version = self.1.lock().unwrap();
                *version += 1;
                *version
            };
            let pair = Pair::new(format!("access of others {next}"))
                .with_refresh(format!("refresh of others {next}"))
                .with_expires_at(std::time::UNIX_EPOCH);
            let stored = Stored::new(Version::new(next), Some(pair));
            self.0
                .compare_and_swap(Version::new(next - 1), &stored)
                .await?;
            Ok(false)
        })
    }
}

#[test]
fn who_is_overtaken_again_and_again_gives_up_and_says_so() {
    let desk = Desk::new();
    let store = Arc::new(Restless::default());
    let mut desk = Desk::on(
        &desk.clock,
        &desk.wall,
        &desk.server,
        store.clone(),
        |builder| builder,
    );
    let (source, login) = (desk.source.clone(), desk.server.login());
    let call = desk.seat(async move { source.replace(login).await });
    let error = desk.error(call);
    assert!(error.work().unwrap().is_store());
    assert_eq!(
        error.to_string(),
        "others changed the token store all the time"
    );
    assert_eq!(*store.1.lock().unwrap(), 16);
}

#[test]
fn a_login_after_the_store_was_taken_away_counts() {
    let (mut desk, store) = told();
    for _ in 0..5 {
        let token = desk.ask();
        let call = desk.reject(&token);
        desk.token(call);
    }
    assert_eq!(desk.ask().version().get(), 11);
    // As when its file is deleted: the versions begin anew.
    store.wipe();
    let new = desk.login();
    assert_eq!(new.version().get(), 1);
    assert_eq!(desk.ask(), new);
    let call = desk.reject(&new);
    assert_eq!(desk.token(call).version().get(), 3);
}
