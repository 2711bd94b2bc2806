//! The modes of flying, behind one face.

use super::promise::{self, Promise};
use crate::script::{Answer, Flies, HandClock, HandSpawn, Oops, Script, Work};
use oneflight::batch::Loader;
use oneflight::{Group, Mark, Scoped};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Makes a mode, for one test.
pub(crate) type Make = fn() -> Arc<dyn Mode>;
/// A call of any mode.
pub(crate) type Called<'g> = Pin<Box<dyn Future<Output = Answer> + Send + 'g>>;
/// What makes a work, and the work.
pub(crate) type Making = Box<dyn FnOnce() -> Made + Send>;
pub(crate) type Made = Pin<Box<dyn Future<Output = Result<u64, Oops>> + Send>>;

/// What a call asks for beyond a value for its key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) since: Option<Mark>,
    pub(crate) within: Option<Duration>,
}

/// A mode of flying. What it cannot be asked panics, so that no row passes without having asked (R2).
pub(crate) trait Mode: Send + Sync + 'static {
    fn promise(&self) -> Promise;
    fn call<'g>(&'g self, ask: Ask, key: &str, work: Making) -> Called<'g>;
    fn in_flight(&self) -> usize;
    fn forget(&self, key: &str);

    /// Lets the tasks of the mode run until none is woken.
    fn run_tasks(&self) {}

    fn advance(&self, _: Duration) {
        panic!("there is no clock")
    }

    fn as_group(&self) -> &dyn Grouped {
        panic!("it is no group")
    }
}

/// What groups alone can be asked.
pub(crate) trait Grouped {
    fn mark(&self) -> Mark;
    fn forget_unshared(&self, key: &str) -> bool;
    fn close(&self);
    fn cancel_all(&self);
}

impl Flies for dyn Mode {
    type Call<'g> = Called<'g>;

    fn fly<'g>(
        &'g self,
        key: &str,
        work: impl FnOnce() -> Work + Send + 'static,
    ) -> Self::Call<'g> {
        self.call(Ask::default(), key, boxed(work))
    }

    fn led(_: &Self::Call<'_>) -> Option<bool> {
        None
    }

    fn run_tasks(&self) {
        Mode::run_tasks(self);
    }
}

pub(crate) fn boxed<F>(work: impl FnOnce() -> F + Send + 'static) -> Making
where
    F: Future<Output = Result<u64, Oops>> + Send + 'static,
{
    Box::new(|| Box::pin(work()))
}

impl Script<'_, dyn Mode> {
    /// A call that asks for more.
    pub(crate) fn ask(&mut self, ask: Ask, key: &str) -> crate::script::Call {
        let work = self.work(key);
        self.seat(self.group.call(ask, key, boxed(work)))
    }
}

/// A group, and what its builder was handed.
struct InGroup<S = oneflight::RandomState> {
    group: Group<String, u64, Oops, S>,
    promise: Promise,
    world: World,
}

/// Who runs the tasks, and moves the clock.
enum World {
    Hands(HandClock, HandSpawn),
    #[cfg(feature = "tokio")]
    Tokio(tokio::runtime::Runtime),
}

impl World {
    fn hands() -> (HandClock, HandSpawn, Self) {
        let (clock, tasks) = (HandClock::new(), HandSpawn::default());
        (clock.clone(), tasks.clone(), Self::Hands(clock, tasks))
    }

    /// Calls a function where the runtime, if there is one, can be found.
    fn inside<T>(&self, function: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tokio")]
        let _inside = match self {
            Self::Tokio(runtime) => Some(runtime.enter()),
            Self::Hands(..) => None,
        };
        function()
    }

    fn run_tasks(&self) {
        match self {
            Self::Hands(_, tasks) => tasks.settle(),
            #[cfg(feature = "tokio")]
            Self::Tokio(runtime) => runtime.block_on(async {
                // A task that is woken runs before this one comes round again; what it wakes, in the next round.
                for _ in 0..4 {
                    tokio::task::yield_now().await;
                }
            }),
        }
    }

    fn advance(&self, by: Duration) {
        match self {
            Self::Hands(clock, _) => clock.advance(by),
            #[cfg(feature = "tokio")]
            Self::Tokio(runtime) => runtime.block_on(tokio::time::advance(by)),
        }
    }
}

impl<S: BuildHasher + Send + Sync + 'static> Mode for InGroup<S> {
    fn promise(&self) -> Promise {
        self.promise
    }

    fn call<'g>(&'g self, ask: Ask, key: &str, work: Making) -> Called<'g> {
        self.world.inside(|| {
            let join = match ask.since {
                None => self.group.run(key, work),
                Some(mark) => self.group.run_since(mark, key, work),
            };
            match ask.within {
                None => Box::pin(join) as Called<'g>,
                Some(limit) => Box::pin(join.within(limit)),
            }
        })
    }

    fn in_flight(&self) -> usize {
        self.group.in_flight()
    }

    fn forget(&self, key: &str) {
        self.group.forget(key);
    }

    fn run_tasks(&self) {
        self.world.run_tasks();
    }

    fn advance(&self, by: Duration) {
        self.world.advance(by);
    }

    fn as_group(&self) -> &dyn Grouped {
        self
    }
}

impl<S: BuildHasher + Send + Sync + 'static> Grouped for InGroup<S> {
    fn mark(&self) -> Mark {
        self.group.mark()
    }

    fn forget_unshared(&self, key: &str) -> bool {
        self.group.forget_unshared(key)
    }

    fn close(&self) {
        self.group.close();
    }

    fn cancel_all(&self) {
        self.group.cancel_all();
    }
}

/// As long as a flight of a limited group may take.
pub(crate) const LONGEST: Duration = Duration::from_secs(1);

pub(crate) fn group() -> Arc<dyn Mode> {
    let (clock, _, world) = World::hands();
    Arc::new(InGroup {
        group: Group::builder().clock(clock).build(),
        promise: promise::GROUP,
        world,
    })
}

pub(crate) fn limited() -> Arc<dyn Mode> {
    let (clock, _, world) = World::hands();
    Arc::new(InGroup {
        group: Group::builder().clock(clock).max_flight(LONGEST).build(),
        promise: promise::GROUP,
        world,
    })
}

pub(crate) fn autopilot() -> Arc<dyn Mode> {
    let (clock, tasks, world) = World::hands();
    Arc::new(InGroup {
        group: Group::builder().clock(clock).autopilot(tasks).build(),
        promise: promise::AUTOPILOT,
        world,
    })
}

pub(crate) fn detached() -> Arc<dyn Mode> {
    let (clock, tasks, world) = World::hands();
    Arc::new(InGroup {
        group: Group::builder().clock(clock).detached(tasks).build(),
        promise: promise::DETACHED,
        world,
    })
}

/// All keys have the same hash, and stand in the only shard.
pub(crate) fn colliding() -> Arc<dyn Mode> {
    let (clock, _, world) = World::hands();
    let builder = Group::builder().clock(clock).shards(1);
    Arc::new(InGroup {
        group: builder.hasher(Same).build(),
        promise: promise::GROUP,
        world,
    })
}

struct Same;

impl BuildHasher for Same {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self
    }
}

impl Hasher for Same {
    fn finish(&self) -> u64 {
        42
    }

    fn write(&mut self, _: &[u8]) {}
}

#[cfg(feature = "tokio")]
fn paused() -> World {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    World::Tokio(runtime.expect("a runtime"))
}

#[cfg(feature = "tokio")]
pub(crate) fn autopilot_on_tokio() -> Arc<dyn Mode> {
    let builder = Group::builder().clock(oneflight::Tokio).max_flight(LONGEST);
    Arc::new(InGroup {
        group: builder.autopilot(oneflight::Tokio).build(),
        promise: promise::AUTOPILOT,
        world: paused(),
    })
}

#[cfg(feature = "tokio")]
pub(crate) fn detached_on_tokio() -> Arc<dyn Mode> {
    let builder = Group::builder().clock(oneflight::Tokio);
    Arc::new(InGroup {
        group: builder.detached(oneflight::Tokio).build(),
        promise: promise::DETACHED,
        world: paused(),
    })
}

struct InScoped {
    group: Scoped<String, u64, Oops>,
    clock: HandClock,
}

impl Mode for InScoped {
    fn promise(&self) -> Promise {
        promise::SCOPED
    }

    fn call<'g>(&'g self, ask: Ask, key: &str, work: Making) -> Called<'g> {
        assert!(ask.since.is_none(), "it knows no marks");
        let call = self.group.run(key, work);
        match ask.within {
            None => Box::pin(call),
            Some(limit) => Box::pin(call.within(limit)),
        }
    }

    fn in_flight(&self) -> usize {
        self.group.in_flight()
    }

    fn forget(&self, key: &str) {
        self.group.forget(key);
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

pub(crate) fn scoped() -> Arc<dyn Mode> {
    let clock = HandClock::new();
    let group = Scoped::new().with_clock(clock.clone());
    Arc::new(InScoped { group, clock })
}

/// A loader whose batches have one key. Its function is given once, so the work of the latest call for a key lies ready for it.
struct InLoader {
    loader: Loader<String, u64, Oops>,
    works: Arc<Mutex<HashMap<String, Making>>>,
}

impl Mode for InLoader {
    fn promise(&self) -> Promise {
        promise::LOADER
    }

    fn call<'g>(&'g self, ask: Ask, key: &str, work: Making) -> Called<'g> {
        assert!(ask.since.is_none() && ask.within.is_none(), "not known");
        let unused = self.works.lock().unwrap().insert(key.to_owned(), work);
        drop(unused);
        let load = self.loader.load(key.to_owned());
        Box::pin(async { load.await.map(|value| value.expect("its key is answered")) })
    }

    fn in_flight(&self) -> usize {
        let stats = self.loader.stats();
        stats.running + stats.queued
    }

    fn forget(&self, key: &str) {
        self.loader.forget(&key.to_owned());
    }
}

pub(crate) fn loader() -> Arc<dyn Mode> {
    let works = Arc::<Mutex<HashMap<String, Making>>>::default();
    let ready = works.clone();
    let builder = Loader::builder().max_batch(1).max_in_flight(1_000);
    let loader = builder.build(move |keys: Vec<String>| {
        let key = keys.into_iter().next().expect("a batch has a key");
        let work = ready.lock().unwrap().remove(&key).expect("it was called");
        let work = work();
        async move { vec![(key, work.await)] }
    });
    Arc::new(InLoader { loader, works })
}
