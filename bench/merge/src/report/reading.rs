//! What reading alone costs: bars and a table.

use crate::run::Results;
use reporting::{Bar, Better, Table, number, times};

/// Reading the league, beside the `csv` crate's own loop.
pub(super) fn bars(results: &Results) -> [Bar; 2] {
    let csv = results.reading.iter().find(|reading| reading.csv.is_some());
    let loops = csv.and_then(|reading| reading.csv);
    let [one, two] = [0, 1].map(|at| csv.map(|reading| reading.ours[at]));
    let ratio = |of: Option<f64>, to: Option<f64>| of.zip(to).map(|(of, to)| of / to);
    let told = |rows: Option<f64>| number(rows.map(f64::round));
    let instructions = csv.and_then(|reading| reading.instructions);
    let counted = instructions.map_or(String::new(), |(theirs, ours)| {
        let [theirs, ours] = [theirs, ours].map(|count| number(Some(count)));
        format!(" A row is {ours} instructions, in the loop {theirs}.")
    });
    [
        Bar {
            what: "parse, map and fold, one thread, rows/s".to_owned(),
            beside: Some("the csv crate's byte records".to_owned()),
            is: ratio(one, loops),
            limit: 0.5,
            better: Better::More,
            why: format!("{} rows/s, the loop {}.{counted}", told(one), told(loops)),
        },
        Bar {
            what: "the same, two threads, rows/s".to_owned(),
            beside: Some("one thread".to_owned()),
            is: ratio(two, one),
            limit: 1.0,
            better: Better::More,
            why: format!("{} rows/s, and {} with one.", told(two), told(one)),
        },
    ]
}

/// Every form of the feed.
pub(super) fn table(results: &Results) -> Table {
    let mut table = Table::new(
        "Reading alone",
        "Parse, map and fold each row's records, no database; beside a loop of the `csv` crate over byte records, which does no more \
         than find the cells.",
        &[
            "",
            "csv crate, rows/s",
            "one thread, rows/s",
            "× csv crate",
            "two threads, rows/s",
            "instructions a row",
            "csv crate's",
        ],
    );
    for reading in &results.reading {
        let [one, two] = reading.ours;
        let whole = |rows: f64| number(Some(rows.round()));
        table.rows.push(vec![
            reading.name.clone(),
            reading.csv.map_or_else(|| number(None), whole),
            whole(one),
            times(reading.csv.map(|csv| one / csv)),
            whole(two),
            number(reading.instructions.map(|(_, ours)| ours)),
            number(reading.instructions.map(|(theirs, _)| theirs)),
        ]);
    }
    table
}
