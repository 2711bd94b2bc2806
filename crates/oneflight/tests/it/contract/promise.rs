//! Where the modes differ, at a glance.

/// What a mode promises where not all do the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// When the leader leaves and others wait, its work…
    pub(crate) on_lost_leader: OnLostLeader,
    /// When all have left, the work…
    pub(crate) on_all_gone: OnAllGone,
    /// So many callers may be kept without being polled, and the others are served when the work can end.
    pub(crate) bears_unpolled: usize,
    /// Twenty callers, 20 ms apart, each there for 50 ms, of work that takes 100 ms.
    pub(crate) hurried: Hurried,
    /// The same, if answers are kept outside, and serve those who come later.
    pub(crate) hurried_and_kept: Hurried,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLostLeader {
    GoesOn,
    Restarts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnAllGone {
    Cancelled,
    GoesOn,
}

/// How many of hurried callers are served, and by how many runs of the work at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hurried {
    pub(crate) served: usize,
    pub(crate) starts_at_most: usize,
}

impl Hurried {
    /// Holds what came of them, who was served and how often the work began, against the promise.
    pub(crate) fn holds(self, (served, starts): (usize, usize)) {
        assert_eq!(self.served, served, "served, by {starts} runs");
        assert!(starts <= self.starts_at_most, "{starts} runs of the work");
    }
}

/// Any waiter drives the work: the one that drove it last and a backup are woken for it.
pub(crate) const GROUP: Promise = Promise {
    on_lost_leader: OnLostLeader::GoesOn,
    on_all_gone: OnAllGone::Cancelled,
    bears_unpolled: 1,
    // Two of each five callers are there when a run ends. None is remembered, so the next caller starts another.
    hurried: Hurried {
        served: 8,
        starts_at_most: 4,
    },
    hurried_and_kept: Hurried {
        served: 17,
        starts_at_most: 1,
    },
};

/// A task drives it too.
pub(crate) const AUTOPILOT: Promise = Promise {
    bears_unpolled: usize::MAX,
    ..GROUP
};

/// A task drives it to its end.
pub(crate) const DETACHED: Promise = Promise {
    on_all_gone: OnAllGone::GoesOn,
    ..AUTOPILOT
};

/// Any caller drives all batches; eight are woken.
pub(crate) const LOADER: Promise = Promise {
    bears_unpolled: 7,
    ..GROUP
};

/// The leader's own future is the work: it may borrow, and it goes with its leader.
pub(crate) const SCOPED: Promise = Promise {
    on_lost_leader: OnLostLeader::Restarts,
    on_all_gone: OnAllGone::Cancelled,
    bears_unpolled: 0,
    // Each that becomes leader begins its own work, and leaves before it ends. Who becomes it depends on who was polled last.
    hurried: Hurried {
        served: 0,
        starts_at_most: 20,
    },
    hurried_and_kept: Hurried {
        served: 0,
        starts_at_most: 20,
    },
};
