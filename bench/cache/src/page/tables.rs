//! The hours as tables, which are committed (C1).

use super::Hour;
use reporting::{Table, number, page};

/// The name in the marks.
const NAME: &str = "price-page";

/// Both tables, as Markdown.
pub(crate) fn text(pages: &[Hour]) -> String {
    let [up, down] = [false, true].map(|down| table(pages, down));
    format!("{up}\n{down}")
}

/// Writes them; the path of the page.
///
/// # Errors
/// If it cannot be written, or has lost its marks.
pub(crate) fn write(pages: &[Hour]) -> Result<String, String> {
    page::put(NAME, &text(pages))
}

/// Holds them against what was committed.
///
/// # Errors
/// If they differ.
pub(crate) fn compare(pages: &[Hour]) -> Result<(), String> {
    let (committed, now) = (page::get(NAME)?, text(pages));
    if committed.trim() == now.trim() {
        return Ok(());
    }
    Err(format!(
        "the page in virtual time does not come to what is committed; see what changed, and `--page --write` it:\n\n{now}"
    ))
}

fn table(pages: &[Hour], down: bool) -> Table {
    let (title, note) = match down {
        false => (
            "The price page",
            "An hour of virtual time: a visit every 5 ms, a source that takes 800 ms, a price that is fresh for 60 s and has just been \
             got when the hour begins. Calls to the source, how many of them ran at the same time, and how many there were for each \
             time that the price had to be got anew; what visitors waited; how old the oldest price was that one of them saw.",
        ),
        true => (
            "The price page, while its source is down",
            "The same hour; from minute 20 to minute 30 the source fails, after 800 ms each time.",
        ),
    };
    let mut head = vec!["", "calls", "at once"];
    if !down {
        head.push("calls an expiry");
    }
    head.extend(["p50 ms", "p99 ms", "max ms", "oldest price s", "errors"]);
    let mut table = Table::new(title, note, &head);
    for hour in pages.iter().filter(|hour| hour.down == down) {
        let sums = &hour.sums;
        let mut row = vec![hour.way.name().to_owned()];
        let whole = |figure: u64| number(Some(figure as f64));
        row.extend([whole(sums.calls.all), whole(sums.calls.at_once)]);
        if !down {
            // Without a cache nothing expires.
            let an_expiry = (sums.calls.all < sums.visits).then(|| sums.calls_a_burst());
            row.push(number(an_expiry));
        }
        row.extend(sums.waits.map(whole));
        row.push(number(Some(sums.oldest)));
        row.push(whole(sums.errors));
        table.rows.push(row);
    }
    table
}
