//! The wall clock: what servers and stores speak of. Nothing is measured by it (R5).

use crate::sync::Arc;
use std::fmt::Debug;
use std::time::SystemTime;

/// Tells the time of day, which may jump. It says when a pair that is kept in a store expires; what happens in this process is
/// measured by the [`Clock`](crate::Clock).
///
/// # Examples
/// ```
/// use oneflight::token::Wall;
/// use std::time::{Duration, SystemTime};
///
/// /// An hour behind, as a badly set machine.
/// #[derive(Debug)]
/// struct Behind;
///
/// impl Wall for Behind {
///     fn now(&self) -> SystemTime {
///         SystemTime::now() - Duration::from_secs(3600)
///     }
/// }
/// assert!(Behind.now() < SystemTime::now());
/// ```
pub trait Wall: Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> SystemTime;
}

impl<T: Wall + ?Sized> Wall for Arc<T> {
    fn now(&self) -> SystemTime {
        (**self).now()
    }
}

/// The wall clock of the system: what a source has unless another is handed in.
///
/// # Examples
/// ```
/// use oneflight::token::{SystemWall, Wall};
///
/// assert!(SystemWall.now() > std::time::UNIX_EPOCH);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWall;

impl Wall for SystemWall {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
