//! The right to lead, across processes: what a back end has to promise so that one process does what others wait for.
//!
//! ```text
//!   process A:  acquire ──▶ Leading, fence 7 ──▶ works, publishes ──▶ release
//!   process B:  acquire ── waits ───────────────────────────────────────▶ Leading, fence 8 ──▶ looks first: A has done it
//! ```
//!
//! I1. At most one holder at a time, unless a term ends under a holder that still lives (a back end that has terms says so).
//! I2. A holder's fence is greater than that of every holder before it.
//! I3. A holder that is dropped, or whose process dies, lets the next one lead: at once, or when its term ends.
//! I4. Nothing is right because of a lease alone. It saves work; what is published is checked by a fence, or by a version.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

/// Why a lease could not be had, or given back: whatever its back end says.
pub type LeaseError = Box<dyn StdError + Send + Sync>;

/// Waits to lead; see [`Lease::acquire`].
pub type Acquiring<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn Leading>, LeaseError>> + Send + 'a>>;

/// Gives a lease back; see [`Leading::release`].
pub type Releasing = Pin<Box<dyn Future<Output = Result<(), LeaseError>> + Send>>;

/// The right to lead for one thing, which processes hand to each other.
///
/// An implementation is made for one key, a file or a row, and promises:
///
/// * one holder at a time, or at most one whose term has not ended;
/// * a [`Fence`] that grows from holder to holder;
/// * that a holder which is dropped, or dies, is succeeded.
///
/// It makes work rare, not right: who publishes what came of it compares a version or the fence, so that a holder that was overtaken
/// changes nothing.
///
/// # Examples
/// One for a single process:
/// ```
/// use oneflight::{Acquiring, Fence, Lease, LeaseError, Leading, Releasing};
/// use std::sync::Arc;
/// use tokio::sync::{Mutex, OwnedMutexGuard};
///
/// #[derive(Debug, Default)]
/// struct Local(Arc<Mutex<u64>>);
///
/// #[derive(Debug)]
/// struct Turn(OwnedMutexGuard<u64>);
///
/// impl Lease for Local {
///     fn acquire(&self) -> Acquiring<'_> {
///         Box::pin(async {
///             let mut last = self.0.clone().lock_owned().await;
///             *last += 1;
///             Ok(Box::new(Turn(last)) as Box<dyn Leading>)
///         })
///     }
/// }
///
/// impl Leading for Turn {
///     fn fence(&self) -> Fence {
///         Fence::new(*self.0)
///     }
///
///     fn release(self: Box<Self>) -> Releasing {
///         Box::pin(async { Ok(()) }) // Dropped with this box.
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), LeaseError> {
/// let lease = Local::default();
/// let first = lease.acquire().await?;
/// let before = first.fence();
/// first.release().await?;
/// assert!(lease.acquire().await?.fence() > before);
/// # Ok(())
/// # }
/// ```
pub trait Lease: Debug + Send + Sync + 'static {
    /// Waits until this process leads.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue, and the lease, should it just have been granted.
    ///
    /// # Errors
    /// What the back end says. It is no sign that somebody else leads.
    fn acquire(&self) -> Acquiring<'_>;
}

/// A lease that is held. Dropping it gives it back, as soon as the back end can.
#[must_use = "dropping a lease lets the next process lead"]
pub trait Leading: Debug + Send {
    /// The number that dates this holder.
    fn fence(&self) -> Fence;

    /// Gives the lease back, and waits until that is done.
    ///
    /// # Errors
    /// What the back end says: also that the term had ended before. What was done under the lease is no worse for it.
    fn release(self: Box<Self>) -> Releasing;
}

/// The number that dates a holder of a lease: a later one has a greater fence.
///
/// # Examples
/// ```
/// # use oneflight::Fence;
/// assert!(Fence::new(8) > Fence::new(7));
/// assert_eq!(Fence::new(8).get(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// The fence of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number, to be sent along with what is published.
    pub const fn get(self) -> u64 {
        self.0
    }
}
