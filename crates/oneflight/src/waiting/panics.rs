//! What is known of a panic: its message, and where it was raised.

use crate::error::{Error, Other};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Where the last panic of this thread was raised.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Lets the errors of panicked flights tell where the panic was raised ([`Error::panic_location`]).
///
/// Puts a panic hook in front of the one that is there, which is called as before. Calling it again changes nothing.
///
/// # Examples
/// ```
/// # use oneflight::Group;
/// # let wait = futures_util::FutureExt::now_or_never;
/// std::panic::set_hook(Box::new(|_| {})); // Be quiet about it.
/// oneflight::record_panic_locations();
/// let group: Group<u32, u32, ()> = Group::new();
/// let error = wait(group.run(&1, || async { panic!("no such price") })).unwrap().unwrap_err();
/// assert_eq!(error.panic_message(), Some("no such price"));
/// assert!(error.panic_location().is_some_and(|at| at.contains(".rs:")));
/// ```
pub fn record_panic_locations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let at = info.location().map(ToString::to_string);
            // The thread may be on its way out; then there is nobody who would ask.
            let _ = LOCATION.try_with(|location| *location.borrow_mut() = at);
            before(info);
        }));
    });
}

/// Calls what is not ours: a panic in it ends here, as an error.
pub(crate) fn guarded<T, E>(call: impl FnOnce() -> T) -> Result<T, Error<E>> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let error = caught(&*payload);
        discard(payload);
        error
    })
}

/// Calls what is not ours; a panic in it is told to `hear`, and goes on.
#[cfg(feature = "cache")]
pub(crate) fn overheard<T, E>(call: impl FnOnce() -> T, hear: impl FnOnce(Error<E>)) -> T {
    let payload = match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => return result,
        Err(payload) => payload,
    };
    let error = caught(&*payload);
    let location = error.panic_location().map(str::to_owned);
    hushed(|| hear(error));
    // Whoever catches it next asks for it again.
    let _ = LOCATION.try_with(|last| *last.borrow_mut() = location);
    panic::resume_unwind(payload)
}

/// Calls what is not ours and has nobody to tell when it panics: others must not suffer for it.
pub(crate) fn hushed(call: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
        discard(payload);
    }
}

/// The error for a panic that was caught on this thread just now.
pub(crate) fn caught<E>(payload: &(dyn Any + Send)) -> Error<E> {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    let location = LOCATION
        .try_with(|location| location.borrow_mut().take())
        .ok()
        .flatten();
    Error::from_other(Other::Panicked { message, location })
}

/// Drops what a panic carried. Whatever is thrown while that is dropped is leaked: it would end like this for ever.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}
