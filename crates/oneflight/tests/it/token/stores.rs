//! Stores that do as a test says.

use oneflight::token::store::Keeping;
use oneflight::token::{MemoryStore, Store, Stored, Version};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A store in memory that fails and waits when told to.
#[derive(Debug, Default)]
pub(crate) struct Told {
    inner: Mutex<Arc<MemoryStore>>,
    orders: Mutex<Orders>,
}

#[derive(Debug, Default)]
struct Orders {
    held: bool,
    waiting: Vec<Waker>,
    fail_loads: u32,
    fail_swaps: u32,
    /// A swap that fails is done all the same.
    done_all_the_same: bool,
    swaps: u32,
    /// The next swap that brings this access token waits, or is done and its answer waits.
    chosen: Option<(String, Waits)>,
    kept: bool,
    /// Swaps that bring this access token fail, so many of them.
    fail_access: Option<(String, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    Before,
    After,
}

impl Told {
    /// Swaps wait for `release`.
    pub(crate) fn hold(&self) {
        self.orders.lock().unwrap().held = true;
    }

    pub(crate) fn release(&self) {
        let waiting = {
            let mut orders = self.orders.lock().unwrap();
            orders.held = false;
            std::mem::take(&mut orders.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The next swap that brings this access token is done, and answered once `answer_now` says so.
    pub(crate) fn answer_late(&self, access: &str) {
        self.choose(access, Waits::After);
    }

    /// The next swap that brings this access token is done once `answer_now` says so.
    pub(crate) fn swap_late(&self, access: &str) {
        self.choose(access, Waits::Before);
    }

    fn choose(&self, access: &str, waits: Waits) {
        let mut orders = self.orders.lock().unwrap();
        (orders.chosen, orders.kept) = (Some((access.to_owned(), waits)), true);
    }

    pub(crate) fn answer_now(&self) {
        self.orders.lock().unwrap().kept = false;
        self.release();
    }

    /// So many swaps that bring this access token fail, and are not done.
    pub(crate) fn fail_swaps_of(&self, access: &str, times: u32) {
        self.orders.lock().unwrap().fail_access = Some((access.to_owned(), times));
    }

    pub(crate) fn fail_loads(&self, times: u32) {
        self.orders.lock().unwrap().fail_loads = times;
    }

    /// How many loads are yet to fail.
    pub(crate) fn loads_to_fail(&self) -> u32 {
        self.orders.lock().unwrap().fail_loads
    }

    pub(crate) fn fail_swaps(&self, times: u32, done_all_the_same: bool) {
        let mut orders = self.orders.lock().unwrap();
        orders.fail_swaps = times;
        orders.done_all_the_same = done_all_the_same;
    }

    /// Everything is gone.
    pub(crate) fn wipe(&self) {
        *self.inner.lock().unwrap() = Arc::default();
    }

    async fn wait_while(&self, waits: impl Fn(&Orders) -> bool) {
        poll_fn(|context| {
            let mut orders = self.orders.lock().unwrap();
            if !waits(&orders) {
                return Poll::Ready(());
            }
            orders.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn inner(&self) -> Arc<MemoryStore> {
        self.inner.lock().unwrap().clone()
    }

    /// How many swaps there were.
    pub(crate) fn swaps(&self) -> u32 {
        self.orders.lock().unwrap().swaps
    }
}

impl Orders {
    /// How the swap that brings this waits, if it is the chosen one.
    fn choice(&mut self, access: Option<&str>) -> Option<Waits> {
        let chosen = |(chosen, _): &mut (String, _)| access == Some(chosen);
        self.chosen.take_if(chosen).map(|(_, waits)| waits)
    }

    fn fails(&mut self, access: Option<&str>) -> bool {
        match &mut self.fail_access {
            Some((bad, left)) if access == Some(bad) => spend(left),
            _ => false,
        }
    }
}

/// Counts one down; true if there was one.
fn spend(left: &mut u32) -> bool {
    let some = *left > 0;
    *left = left.saturating_sub(1);
    some
}

impl Store for Told {
    fn load(&self) -> Keeping<'_, Stored> {
        Box::pin(async {
            if spend(&mut self.orders.lock().unwrap().fail_loads) {
                return Err("the disk is gone".into());
            }
            self.inner().load().await
        })
    }

    fn compare_and_swap<'a>(&'a self, expected: Version, stored: &'a Stored) -> Keeping<'a, bool> {
        Box::pin(async move {
            self.wait_while(|orders| orders.held).await;
            let access = stored.pair.as_ref().map(|pair| pair.access().expose());
            let waits = self.orders.lock().unwrap().choice(access);
            if waits == Some(Waits::Before) {
                self.wait_while(|orders| orders.kept).await;
            }
            let (fails, done) = {
                let mut orders = self.orders.lock().unwrap();
                orders.swaps += 1;
                let fails = spend(&mut orders.fail_swaps) || orders.fails(access);
                (fails, orders.done_all_the_same)
            };
            if fails {
                if done {
                    self.inner().compare_and_swap(expected, stored).await?;
                }
                return Err("the disk is full".into());
            }
            let swapped = self.inner().compare_and_swap(expected, stored).await;
            if waits == Some(Waits::After) {
                self.wait_while(|orders| orders.kept).await;
            }
            swapped
        })
    }
}
