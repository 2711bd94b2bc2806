//! What every public type promises without a word: that it can be sent, shared and moved. A field that takes it away fails here,
//! and not in somebody's build.

use oneflight::batch::{self, Load, LoadMany, Loader};
use oneflight::scoped::{self, Call};
use oneflight::{
    Acquiring, Builder, Clock, Error, Event, Fence, Following, Group, Join, KeyHasher, Leading,
    Lease, Mark, Outcome, RandomState, Releasing, Scoped, Spawn, Stats, Task, Trail, WithOutcome,
    Within,
};
use std::cell::Cell;
use std::fmt::Debug;
use std::future::{Future, Pending, Ready};
use std::rc::Rc;
use std::sync::Arc;

/// Neither `Debug` nor `Clone`, and as sendable as `T`.
struct Plain<T>(T);

type K = u32;
type V = String;
type E = Plain<u32>;
type S = oneflight::RandomState;

fn sent<T: Send>() {}
fn shared<T: Send + Sync>() {}
fn moved<T: Unpin>() {}
fn shown<T: Debug>() {}
fn cloned<T: Clone>() {}

#[test]
fn groups_and_their_builders_are_shared_between_threads() {
    shared::<Group<K, V, E>>();
    shared::<Loader<K, V, E>>();
    shared::<Scoped<K, V, E>>();
    shared::<Builder<K, V, E>>();
    shared::<batch::Builder<K, V, E>>();
    cloned::<Group<K, V, E>>();
    cloned::<Loader<K, V, E>>();
    // One thread's group may have one thread's values.
    let scoped: Scoped<Rc<str>, Rc<Cell<u32>>> = Scoped::new();
    assert_eq!(scoped.in_flight(), 0);
}

#[test]
fn calls_are_sent_and_need_no_pin() {
    sent::<Join<'_, K, V, E, S>>();
    sent::<WithOutcome<'_, K, V, E, S>>();
    sent::<Within<'_, K, V, E, S>>();
    sent::<Load<K, V, E>>();
    sent::<LoadMany<K, V, E>>();
    moved::<Join<'_, K, V, E, S>>();
    moved::<WithOutcome<'_, K, V, E, S>>();
    moved::<Within<'_, K, V, E, S>>();
    moved::<Load<K, V, E>>();
    moved::<LoadMany<K, V, E>>();
}

#[test]
fn a_scoped_call_is_what_its_work_is() {
    type Work = fn() -> Pending<Result<V, E>>;
    type Done = Ready<Result<V, E>>;
    sent::<Call<'_, K, V, E, Work, Pending<Result<V, E>>>>();
    sent::<scoped::WithOutcome<'_, K, V, E, Work, Done>>();
    sent::<scoped::Within<'_, K, V, E, Work, Done>>();
    moved::<Call<'_, K, V, E, Work, Done>>();
}

#[test]
fn what_calls_return_is_shared_between_threads() {
    shared::<Error<E>>();
    shared::<Outcome<V>>();
    shared::<Stats>();
    shared::<batch::Stats>();
    shared::<Mark>();
    shared::<Event<'_>>();
    cloned::<Error<E>>();
    sent::<Task>();
}

#[test]
fn a_trail_is_carried_to_any_thread_and_what_follows_it_is_what_it_was() {
    shared::<Trail>();
    cloned::<Trail>();
    sent::<Following<Pending<()>>>();
    moved::<Following<Pending<()>>>();
    shown::<Trail>();
    shared::<RandomState>();
    cloned::<RandomState>();
    sent::<KeyHasher>();
}

#[test]
fn everything_is_shown_though_values_and_errors_may_not_be() {
    shown::<Group<K, Plain<V>, E>>();
    shown::<Loader<Plain<K>, Plain<V>, E>>();
    shown::<batch::Builder<Plain<K>, Plain<V>, E>>();
    shown::<Scoped<Plain<K>, Plain<V>, E>>();
    shown::<Join<'_, K, Plain<V>, E, S>>();
    shown::<WithOutcome<'_, K, Plain<V>, E, S>>();
    shown::<Within<'_, K, Plain<V>, E, S>>();
    shown::<Load<Plain<K>, Plain<V>, E>>();
    shown::<LoadMany<Plain<K>, Plain<V>, E>>();
}

#[cfg(feature = "token")]
#[test]
fn sources_of_tokens_are_shared_and_their_calls_sent() {
    use oneflight::token::{self, Failure, Grant, Identity, Pair, Secret, Stored, Token};

    shared::<token::TokenSource<E>>();
    shared::<token::Tokens<Identity, E>>();
    shared::<token::Builder<E>>();
    shared::<(Secret, Grant, Pair, Stored, Token)>();
    shared::<Failure<E>>();
    cloned::<token::TokenSource<E>>();
    cloned::<token::Tokens<Plain<u32>, E>>();
    cloned::<Failure<E>>();
    shown::<token::TokenSource<E>>();
    shown::<token::Tokens<Plain<u32>, E>>();
    shown::<token::Builder<E>>();
    fn call<'s>(source: &'s token::TokenSource<E>, token: &'s Token) -> impl Send + 's {
        (source.token(), source.rejected(token), source.log_out())
    }
    let _ = call;
}

#[test]
fn leases_are_shared_and_what_is_held_is_sent() {
    shared::<Arc<dyn Lease>>();
    sent::<Box<dyn Leading>>();
    sent::<Acquiring<'_>>();
    sent::<Releasing>();
    shared::<Fence>();
}

#[test]
fn clocks_and_spawners_may_be_chosen_when_the_program_runs() {
    fn clock<T: Clock>() {}
    fn spawn<T: Spawn>() {}
    clock::<Arc<dyn Clock>>();
    spawn::<Arc<dyn Spawn>>();
    fn future<F: Future>() {}
    future::<Join<'_, K, V, E, S>>();
}

#[cfg(feature = "cache")]
#[test]
fn a_cache_its_calls_and_what_they_return_are_as_sendable_as_their_parts() {
    use oneflight::cache::{self, Cache, Idle, Lookup, Many, Peeked, Source};
    type Work = fn() -> Ready<Result<V, E>>;
    shared::<Cache<K, V, E>>();
    cloned::<Cache<K, V, E>>();
    shared::<cache::Builder<K, V, E>>();
    sent::<Lookup<'_, K, Work, K, V, E>>();
    sent::<cache::WithOutcome<'_, K, Work, K, V, E>>();
    sent::<Many<'_, K, V, E>>();
    sent::<Idle<'_>>();
    moved::<Lookup<'_, K, Work, K, V, E>>();
    moved::<Many<'_, K, V, E>>();
    shared::<cache::Outcome<V, E>>();
    shared::<cache::Stats>();
    shared::<Peeked<V>>();
    cloned::<Source<E>>();
    shown::<Cache<K, Plain<V>, E>>();
    shown::<cache::Builder<K, Plain<V>, E>>();
    shown::<Lookup<'_, K, Work, K, Plain<V>, E>>();
    shown::<Many<'_, K, Plain<V>, E>>();
}
