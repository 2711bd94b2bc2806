//! The tables, one for each thing that is measured.

use super::{best, rows};
use crate::floor;
use crate::run::Results;
use crate::subject::Kind;
use reporting::{Better, Table, number, times};

/// The peers in Rust.
pub(super) const PEERS: [Kind; 3] = [Kind::Crate, Kind::Idiom, Kind::Cache];

/// All of them, in order.
pub(super) fn all(results: &Results) -> Vec<Table> {
    let tables = [lone, join, wake, leave, keep, contend];
    tables.iter().map(|table| table(results)).collect()
}

/// Rows for all who have taken part: a name, and what `cells` makes of it.
fn fill(
    table: &mut Table,
    results: &Results,
    test: &str,
    figure: &str,
    cells: impl Fn(&str) -> Vec<String>,
) {
    for (name, _) in rows() {
        if results.get(test, name, figure).is_some() {
            let mut row = vec![name.to_owned()];
            row.extend(cells(name));
            table.rows.push(row);
        }
    }
}

fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to?)
}

fn lone(results: &Results) -> Table {
    let mut table = Table::new(
        "A call that nobody joins",
        "One call after the other, each for another key, work that is ready at once. The floor is a key put into a \
         `Mutex<HashMap>` and taken out, and an `Arc` of 64 bytes. \"Pending once\" is the same with work that wakes itself once \
         before it is ready, and is polled again at once. Caches keep the value and put another out, which is in \
         their figures. Go's keys are strings, made beforehand.",
        &[
            "",
            "ns",
            "× floor, SipHash",
            "× floor, foldhash",
            "× best crate",
            "pending once, ns",
            "allocations",
            "bytes",
            "instructions",
        ],
    );
    let ns = |results: &Results, name: &str| results.get("lone", name, "ns");
    let [sip, fold] = [floor::SIP, floor::FOLD].map(|floor| ns(results, floor));
    let peer = best(results, &[Kind::Crate], Better::Less, ns).map(|(_, best)| best);
    fill(&mut table, results, "lone", "ns", |name| {
        let get = |figure: &str| number(results.get("lone", name, figure));
        let own = ns(results, name);
        vec![
            get("ns"),
            times(ratio(own, sip)),
            times(ratio(own, fold)),
            times(ratio(own, peer)),
            number(results.get("yield", name, "ns")),
            get("allocations"),
            get("bytes"),
            get("instructions"),
        ]
    });
    table
}

fn join(results: &Results) -> Table {
    let mut table = Table::new(
        "Joining, and getting the answer",
        "1,000 callers join one flight, the work ends, all get the answer; for each caller. \"Join\" is the call and its first poll, \
         \"answer\" the poll that is ready and the drop. Wakers are empty. Allocations are those of both, heap is what a waiter holds \
         while it waits, the future is what it is to the caller's frame. In Go a caller is a channel (`DoChan`).",
        &[
            "",
            "join ns",
            "answer ns",
            "both ns",
            "× best peer",
            "allocations",
            "heap bytes",
            "future bytes",
            "instructions",
        ],
    );
    let ns = |results: &Results, name: &str| results.get("join", name, "ns");
    let peer = best(results, &PEERS, Better::Less, ns).map(|(_, best)| best);
    fill(&mut table, results, "join", "ns", |name| {
        let get = |figure: &str| number(results.get("join", name, figure));
        vec![
            get("join ns"),
            get("resolve ns"),
            get("ns"),
            times(ratio(ns(results, name), peer)),
            get("allocations"),
            get("heap bytes"),
            get("future bytes"),
            get("instructions"),
        ]
    });
    table
}

fn wake(results: &Results) -> Table {
    let mut table = Table::new(
        "Wakes, and callers that are not polled",
        "1,000 callers wait, each is polled only when it is woken. First: how many wake when the work does. Then the leader of four is \
         kept but never polled again, and the work ends: how many of the other three are served. Then the first two of 1,000 that wake \
         (here the driver and its backup) are kept but never polled again: how many of the other 998 are served, and how many of them \
         once one more caller has come.",
        &[
            "",
            "wakes per wake",
            "leader unpolled, of 3",
            "two unpolled, of 998",
            "and after a call",
        ],
    );
    fill(&mut table, results, "wake", "wakes per wake", |name| {
        let figures = [
            "wakes per wake",
            "served of 3 followers",
            "served of 998",
            "served of 998 after a join",
        ];
        figures
            .map(|figure| number(results.get("wake", name, figure)))
            .to_vec()
    });
    table
}

fn leave(results: &Results) -> Table {
    let mut table = Table::new(
        "Leaving",
        "All callers but the leader are dropped, one by one; ns for each. That a future lies in a cold cache is in the figures of \
         10,000.",
        &[
            "",
            "1,000, random",
            "10,000, random",
            "ratio",
            "1,000, in order",
            "10,000, in order",
        ],
    );
    fill(&mut table, results, "leave", "random 1000 ns", |name| {
        let get = |figure: &str| results.get("leave", name, figure);
        let [few, many] = ["random 1000 ns", "random 10000 ns"].map(get);
        vec![
            number(few),
            number(many),
            times(ratio(many, few)),
            number(get("in order 1000 ns")),
            number(get("in order 10000 ns")),
        ]
    });
    table
}

fn keep(results: &Results) -> Table {
    let mut table = Table::new(
        "A key in flight",
        "Calls that wait, each for a key of its own: bytes of heap for each, the work and the key among them where they lie there (16 \
         and 8 bytes), and bytes of the caller's future, the work among them where it lies there. In Go the stack of the goroutine that \
         runs the work is counted as heap.",
        &[
            "",
            "keys",
            "heap bytes",
            "future bytes",
            "both, but work and key",
            "allocations",
        ],
    );
    fill(&mut table, results, "keep", "heap bytes", |name| {
        let get = |figure: &str| results.get("keep", name, figure);
        let both = || Some(get("heap bytes")? + get("future bytes")? - get("work and key bytes")?);
        vec![
            number(get("keys")),
            number(get("heap bytes")),
            number(get("future bytes")),
            number(both()),
            number(get("allocations")),
        ]
    });
    table
}

fn contend(results: &Results) -> Table {
    let mut table = Table::new(
        "Contention",
        "Two threads, 64 tasks, 64 keys by Zipf's law, work that yields once; million calls a second, the best pass and the median. With \
         fresh keys each task goes on to 64 others after 8 calls, so that caches miss too. Node has one thread.",
        &[
            "",
            "best",
            "median",
            "× best crate",
            "fresh keys, best",
            "fresh keys, median",
        ],
    );
    const CALLS: &str = "calls a second";
    let top = |results: &Results, name: &str| results.highest("contend", name, CALLS);
    let peer = best(results, &[Kind::Crate], Better::More, top).map(|(_, best)| best);
    let millions = |calls: Option<f64>| number(calls.map(|calls| calls / 1e6));
    for (name, _) in rows() {
        let plain = top(results, name);
        let fresh = results.highest("contend-fresh", name, CALLS);
        if plain.or(fresh).is_some() {
            table.rows.push(vec![
                name.to_owned(),
                millions(plain),
                millions(results.get("contend", name, CALLS)),
                times(ratio(plain, peer)),
                millions(fresh),
                millions(results.get("contend-fresh", name, CALLS)),
            ]);
        }
    }
    table
}
