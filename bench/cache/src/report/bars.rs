//! The bars that were set before anything was built, and whether they are met.

use super::best;
use crate::page::{self, Hour, Way};
use crate::run::Results;
use crate::subject::{Kept, QuickCache};
use reporting::{Bar, Better, bars, number};
use trial::Subject;

/// All bars, as a table, and a line for each that is missed.
pub(super) fn text(results: &Results, pages: &[Hour]) -> String {
    let mut all = hits(results);
    all.push(stampede(results));
    all.extend(refreshes(pages));
    bars::text(
        "The bars",
        "Set before the measuring. A hit stands beside one of the library that evicts below it (quick_cache), asked by its own `get`; a \
         stampede beside the best peer of this run.",
        &all,
    )
}

fn less(what: &str, beside: Option<&str>, is: Option<f64>, limit: f64, why: String) -> Bar {
    Bar {
        what: what.to_owned(),
        beside: beside.map(str::to_owned),
        is,
        limit,
        better: Better::Less,
        why,
    }
}

fn hits(results: &Results) -> Vec<Bar> {
    let of = |test: &str, name: &str, figure: &str| results.samples.get(test, name, figure);
    let ratio = |test: &str, figure: &str| {
        let own = of(test, Kept::NAME, figure)?;
        Some(own / of("get", QuickCache::NAME, figure)?)
    };
    let counted = |test: &str, name: &str| number(of(test, name, "instructions"));
    let why = format!(
        "`get` is {} instructions and `get_or_load` {}, quick_cache's `get` {}: an entry is more than a value, and a lifetime, a mark \
         and `refresh_ahead` are looked at.",
        counted("get", Kept::NAME),
        counted("hit", Kept::NAME),
        counted("get", QuickCache::NAME),
    );
    let bars = [
        ("a hit by `get`, ratio of ns", "get", "ns"),
        (
            "a hit by `get`, ratio of instructions",
            "get",
            "instructions",
        ),
        ("a hit by `get_or_load`, ratio of ns", "hit", "ns"),
        (
            "a hit by `get_or_load`, ratio of instructions",
            "hit",
            "instructions",
        ),
    ];
    let bar = |(what, test, figure)| {
        let beside = Some("quick_cache, `get`");
        less(what, beside, ratio(test, figure), 1.2, why.clone())
    };
    bars.map(bar).into()
}

fn stampede(results: &Results) -> Bar {
    let own = results.samples.get("join", Kept::NAME, "ns");
    let peer = best(results, "join");
    let counted = |name: &str| number(results.samples.get("join", name, "instructions"));
    less(
        "a caller of a stampede of 1,000, ratio of ns",
        peer.map(|(name, _)| name),
        own.zip(peer).map(|(own, (_, peer))| own / peer),
        0.5,
        format!(
            "A caller is {} instructions, and {} of {}: it looks into the store, and then joins the flight in the table of the \
             group, where a placeholder in the store itself would be one look.",
            counted(Kept::NAME),
            counted(peer.map_or("", |(name, _)| name)),
            peer.map_or("no peer", |(name, _)| name),
        ),
    )
}

/// What is known of the page.
fn refreshes(pages: &[Hour]) -> [Bar; 4] {
    let expiry = |way| page::up(pages, way).map(page::Sums::calls_a_burst);
    let alone = format!("XFetch alone, {}", number(expiry(Way::PlainXFetch)));
    let errors = |way| page::down(pages, way).map(|sums| sums.errors as f64);
    let more = "Two loads of a key ran at the same time.".to_owned();
    [
        less(
            "the page: calls an expiry, `refresh_ahead`",
            Some(&alone),
            expiry(Way::Ahead),
            1.0,
            more.clone(),
        ),
        less(
            "the page: calls an expiry, XFetch and a flight",
            Some(&alone),
            expiry(Way::XFetch),
            1.0,
            more.clone(),
        ),
        less(
            "the page: calls an expiry, a flight",
            None,
            expiry(Way::Flight),
            1.0,
            more,
        ),
        less(
            "the page: errors while the source is down, `stale_if_error`",
            Some(&format!("without, {}", number(errors(Way::Flight)))),
            errors(Way::OnError),
            0.0,
            "A stale price was there, and not shown.".to_owned(),
        ),
    ]
}
