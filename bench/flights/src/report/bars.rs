//! The bars that were set before anything was built, and whether they are met.

use super::best;
use super::tables::PEERS;
use crate::floor;
use crate::run::Results;
use crate::subject::{Autopilot, Kind, Plain, Subject};
use reporting::{Bar, Better, bars, number};

/// All bars, as a table, and a line for each that is missed.
pub(super) fn text(results: &Results) -> String {
    bars::text(
        "The bars",
        "Set before the measuring. A ratio to a peer is one to the best of its sort in this run.",
        &bars(results),
    )
}

fn bars(results: &Results) -> Vec<Bar> {
    let own = |test: &str, figure: &str| results.get(test, Plain::NAME, figure);
    let less = |what: &str, is, limit, why: &str| Bar {
        what: what.to_owned(),
        beside: None,
        is,
        limit,
        better: Better::Less,
        why: why.to_owned(),
    };
    let mut all = Vec::from(lone(results));
    all.push(join(results));
    all.extend([
        less(
            "allocations of a caller that joins",
            own("join", "allocations"),
            0.02,
            "The slots of waiters are no amortised slab.",
        ),
        less(
            "heap of a waiter, bytes",
            own("join", "heap bytes"),
            25.0,
            "A slot of the slab is bigger than a waker and a word.",
        ),
        less(
            "future of a caller, bytes",
            own("join", "future bytes"),
            48.0,
            "The future holds more than its place in the flight.",
        ),
        less(
            "wakes of callers for a wake of the work, 1,000 waiters",
            own("wake", "wakes per wake"),
            2.0,
            "More than a driver and a backup wake.",
        ),
    ]);
    all.extend(served(results));
    let [few, many] = ["random 1000 ns", "random 10000 ns"].map(|figure| own("leave", figure));
    all.push(less(
        "leaving, 10,000 waiters by 1,000",
        few.zip(many).map(|(few, many)| many / few),
        2.0,
        "Leaving depends on the number of those who wait.",
    ));
    let [heap, inside] = ["heap bytes", "work and key bytes"].map(|figure| own("keep", figure));
    all.push(less(
        "heap of a key in flight but work and key, bytes, 1,000,000 keys",
        heap.zip(inside).map(|(heap, inside)| heap - inside),
        180.0,
        "The allocation of a flight and the table's share of it are bigger than they should be.",
    ));
    all.push(contend(results));
    all
}

/// A call that nobody joins.
fn lone(results: &Results) -> [Bar; 3] {
    let ns = |results: &Results, name: &str| results.get("lone", name, "ns");
    let own = ns(results, Plain::NAME);
    let peer = best(results, &[Kind::Crate], Better::Less, ns);
    let bar = |what: &str, beside: Option<&str>, to: Option<f64>, limit, why: String| Bar {
        what: what.to_owned(),
        beside: beside.map(str::to_owned),
        is: own.zip(to).map(|(own, to)| own / to),
        limit,
        better: Better::Less,
        why,
    };
    let counted = |name: &str| number(results.get("lone", name, "instructions"));
    let costs = format!(
        "A flight is {} instructions, the floor {}: beyond the floor it locks itself, gives its waiter a place, polls the work, \
         catches its panics, counts, and sees that nobody else has come.",
        counted(Plain::NAME),
        counted(floor::SIP),
    );
    let lent = format!(
        "The best crate is {} instructions, the floor below it {}.",
        counted(peer.map_or("", |(name, _)| name)),
        counted(floor::SIP),
    );
    [
        bar(
            "a lone call, ratio of ns",
            Some(floor::SIP),
            ns(results, floor::SIP),
            1.0,
            costs,
        ),
        bar(
            "a lone call, ratio of ns",
            peer.map(|(name, _)| name),
            peer.map(|(_, ns)| ns),
            0.5,
            lent,
        ),
        Bar {
            what: "a lone call, allocations".to_owned(),
            beside: None,
            is: results.get("lone", Plain::NAME, "allocations"),
            limit: 1.0,
            better: Better::Less,
            why: "A flight is more than one allocation.".to_owned(),
        },
    ]
}

fn join(results: &Results) -> Bar {
    let ns = |results: &Results, name: &str| results.get("join", name, "ns");
    let peer = best(results, &PEERS, Better::Less, ns);
    Bar {
        what: "joining and the answer, ratio of ns".to_owned(),
        beside: peer.map(|(name, _)| name.to_owned()),
        is: ns(results, Plain::NAME)
            .zip(peer)
            .map(|(own, (_, peer))| own / peer),
        limit: 0.75,
        better: Better::Less,
        why: format!(
            "A caller is {} instructions: it takes the lock of the table and that of the flight, and the latter again when it has \
             its answer.",
            number(results.get("join", Plain::NAME, "instructions")),
        ),
    }
}

/// Who is served when driver and backup are never polled again.
fn served(results: &Results) -> [Bar; 2] {
    let bar = |what: &str, subject, why: &str| Bar {
        what: what.to_owned(),
        beside: None,
        is: results.get("wake", subject, "served of 998"),
        limit: 998.0,
        better: Better::More,
        why: why.to_owned(),
    };
    [
        bar(
            "served though driver and backup are never polled again, of 998",
            Plain::NAME,
            "Without a task, nobody is left to poll: the flight goes on when anybody else is polled, joins, or leaves. With an \
             autopilot all are served.",
        ),
        bar(
            "the same, with an autopilot",
            Autopilot::NAME,
            "The task does not take over.",
        ),
    ]
}

fn contend(results: &Results) -> Bar {
    let top = |results: &Results, name: &str| results.highest("contend", name, "calls a second");
    let peer = best(results, &[Kind::Crate], Better::More, top);
    let median = |name: &str| results.get("contend", name, "calls a second");
    let middle = median(Plain::NAME).zip(peer.and_then(|(name, _)| median(name)));
    let middle = middle.map(|(own, peer)| own / peer);
    Bar {
        what: "contention, ratio of calls a second".to_owned(),
        beside: peer.map(|(name, _)| name.to_owned()),
        is: top(results, Plain::NAME)
            .zip(peer)
            .map(|(own, (_, peer))| own / peer),
        limit: 1.4,
        better: Better::More,
        why: format!(
            "That is the best pass of each; by the medians it is {}. What two threads do to each other varies with what else the \
             machine does, up to twofold between passes.",
            number(middle),
        ),
    }
}
