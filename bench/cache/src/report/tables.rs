//! The tables, one for each thing that is measured.

use super::best;
use crate::run::Results;
use crate::subject::{NAMES, QuickCache};
use reporting::{Table, number, times};
use trial::Subject;

/// All of them, in order.
pub(super) fn all(results: &Results) -> Vec<Table> {
    [hits, misses, stampedes, full]
        .map(|table| table(results))
        .into()
}

/// Rows for all who have taken part: a name, and what `cells` makes of it.
fn fill(
    table: &mut Table,
    results: &Results,
    test: &str,
    figure: &str,
    cells: impl Fn(&str) -> Vec<String>,
) {
    for name in NAMES {
        if results.samples.get(test, name, figure).is_some() {
            let mut row = vec![name.to_owned()];
            row.extend(cells(name));
            table.rows.push(row);
        }
    }
}

fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to?)
}

fn hits(results: &Results) -> Table {
    let mut table = Table::new(
        "Hits",
        "One call after the other, for one of 10,000 keys that are kept, at random. \"Get\" asks for what is kept; \"load\" is the call \
         that would load it, awaited. With a lifetime, each look is one at the clock too; quick_cache and foyer have none. Two threads \
         ask by \"load\".",
        &[
            "",
            "get ns",
            "load ns",
            "load × quick_cache's get",
            "get, lifetime",
            "load, lifetime",
            "allocations",
            "get instructions",
            "load instructions",
            "with lifetime",
            "two threads, million/s",
        ],
    );
    let get = |test: &str, name: &str, figure: &str| results.samples.get(test, name, figure);
    let base = get("get", QuickCache::NAME, "ns");
    fill(&mut table, results, "hit", "ns", |name| {
        let own = |test: &str, figure: &str| number(get(test, name, figure));
        let rate = get("threads", name, "calls a second").map(|rate| rate / 1e6);
        vec![
            own("get", "ns"),
            own("hit", "ns"),
            times(ratio(get("hit", name, "ns"), base)),
            own("get-ttl", "ns"),
            own("hit-ttl", "ns"),
            own("hit", "allocations"),
            own("get", "instructions"),
            own("hit", "instructions"),
            own("hit-ttl", "instructions"),
            number(rate),
        ]
    });
    table
}

fn misses(results: &Results) -> Table {
    let mut table = Table::new(
        "Misses",
        "One call after the other, each for another key, work that is ready at once. There is room for 1,024 values: each that is \
         loaded puts another out. The group alone (`oneflight`) keeps nothing.",
        &[
            "",
            "ns",
            "× best peer",
            "allocations",
            "bytes",
            "instructions",
        ],
    );
    let peer = best(results, "lone").map(|(_, ns)| ns);
    fill(&mut table, results, "lone", "ns", |name| {
        let own = |figure: &str| results.samples.get("lone", name, figure);
        vec![
            number(own("ns")),
            times(ratio(own("ns"), peer)),
            number(own("allocations")),
            number(own("bytes")),
            number(own("instructions")),
        ]
    });
    table
}

fn stampedes(results: &Results) -> Table {
    let mut table = Table::new(
        "Stampedes",
        "1,000 callers ask for a cold key while it is loaded; one load, all get the answer; for each caller. \"Join\" is the call and \
         its first poll, \"answer\" the poll that is ready and the drop. Wakers are empty. Heap is what a waiter holds while it waits, \
         the future is what it is to the caller's frame.",
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
    let peer = best(results, "join").map(|(_, ns)| ns);
    fill(&mut table, results, "join", "ns", |name| {
        let own = |figure: &str| results.samples.get("join", name, figure);
        vec![
            number(own("join ns")),
            number(own("resolve ns")),
            number(own("ns")),
            times(ratio(own("ns"), peer)),
            number(own("allocations")),
            number(own("heap bytes")),
            number(own("future bytes")),
            number(own("instructions")),
        ]
    });
    table
}

fn full(results: &Results) -> Table {
    let mut table = Table::new(
        "A full cache",
        "Room for 100,000 values, and 200,000 loaded: bytes of heap for each that there is room for. Key and value are 16 of them.",
        &["", "bytes"],
    );
    fill(&mut table, results, "full", "heap bytes", |name| {
        vec![number(results.samples.get("full", name, "heap bytes"))]
    });
    table
}
