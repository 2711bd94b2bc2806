//! Which bulk load it is, and from the ids that came back to what each caller got.

use super::super::pick::Task;
use super::{copy, import, load_data};
use crate::error::Error;
use crate::feed::References;
use crate::merge::database::Ran;
use oneflight_sql::Dialect;
use std::collections::HashMap;
use std::fmt::Write as _;

pub(in crate::merge::way) async fn run(task: &Task) -> Result<Ran, Error> {
    match task.site.dialect() {
        Dialect::Sqlite => import::run(task).await,
        Dialect::MySql => load_data::run(task).await,
        _ => copy::run(task).await,
    }
}

/// The feed as a file: external id and name, with a tab between and a line end behind.
pub(super) fn feed(task: &Task) -> String {
    let mut feed = String::new();
    for &key in &*task.keys {
        let (external, slug) = (References::external_id(key), References::slug(key));
        // Writing to a string does not fail.
        let _ = writeln!(feed, "{external}\t{slug}");
    }
    feed
}

/// What each caller gets, from the pairs of external id and id that came back. Who gets nothing is given an id that there is not.
pub(super) fn answers(task: &Task, pairs: HashMap<String, i64>) -> Vec<i64> {
    let id = |&key: &u32| {
        let external = References::external_id(key);
        pairs.get(&external).copied().unwrap_or(-1)
    };
    task.keys.iter().map(id).collect()
}

/// Pairs from lines such as a database's shell prints.
pub(super) fn pairs(printed: &str) -> HashMap<String, i64> {
    let pair = |line: &str| {
        let (external, id) = line.split_once('\t')?;
        Some((external.to_owned(), id.trim().parse().ok()?))
    };
    printed.lines().filter_map(pair).collect()
}
