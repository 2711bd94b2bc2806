//! The one door to locks, atomics and cells, so that a model checker can stand in for them.
//!
//! With `--cfg oneflight_loom` they are those of loom, which runs a test under every interleaving that matters and watches each
//! access to a cell (`cargo xtask loom`).

#[cfg(not(oneflight_loom))]
mod real {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::thread_local;

    /// A cell that is used through pointers, as loom's is.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Hands out a pointer to read through.
        #[inline(always)]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// Hands out a pointer to write through.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

#[cfg(oneflight_loom)]
mod real {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

    /// Loom's, which knows no constant that a thread's own value begins with.
    macro_rules! per_thread {
        (static $name:ident: $of:ty = const { $init:expr };) => {
            loom::thread_local! { static $name: $of = $init; }
        };
    }
    pub(crate) use per_thread as thread_local;

    /// Loom's lock, which like the real one is not poisoned by a panic.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn into_inner(self) -> T {
            self.0
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}

/// A lock of the whole process, which no model watches: no model comes to it.
pub(crate) use parking_lot::Mutex as ProcessMutex;
pub(crate) use real::{
    AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, UnsafeCell, thread_local,
};
/// Numbers that nothing is decided by: no model watches them.
#[cfg(feature = "cache")]
pub(crate) use std::sync::atomic::AtomicU64 as Tally;
/// As such a lock, a number.
pub(crate) use std::sync::atomic::AtomicUsize as ProcessCounter;
pub(crate) use std::sync::{Arc, OnceLock};
