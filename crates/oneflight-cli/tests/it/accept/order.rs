//! Feeds in any order give the same entities.

use super::check;
use super::run::{map, merge, run};
use super::server::Server;
use super::sets::{F1, FOOTBALL, INTERNATIONAL, OPENFLIGHTS, Set};
use testkit::data;

/// A map with its feeds in another order: its head, and its feeds with everything that belongs to each.
fn with_feeds(text: &str, order: impl FnOnce(&mut Vec<String>)) -> String {
    let mut head = String::new();
    let mut feeds: Vec<String> = Vec::new();
    for line in text.lines() {
        let name = line
            .strip_prefix("[feed.")
            .and_then(|rest| rest.strip_suffix(']'));
        if name.is_some_and(|name| !name.contains('.')) {
            feeds.push(String::new());
        }
        let place = feeds.last_mut().unwrap_or(&mut head);
        place.push_str(line);
        place.push('\n');
    }
    order(&mut feeds);
    head + &feeds.concat()
}

async fn in_this_order_the_set_comes_out_right(set: &Set, order: impl FnOnce(&mut Vec<String>)) {
    let Some(data) = data() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(set.map);
    std::fs::write(
        &path,
        with_feeds(&std::fs::read_to_string(map(set.map)).unwrap(), order),
    )
    .unwrap();
    for server in Server::ALL {
        let database = server.database().await;
        let ran = run(merge(&path, &data, database.url())).await;
        check::books(&ran, set);
        check::right(server, database.url(), set).await;
        check::no_id_is_burnt(server, database.url(), set).await;
    }
}

#[test]
fn feeds_are_moved_whole() {
    let text = "a\n[feed.x]\nb\n[feed.x.into.t]\nc\n[feed.y]\nd\n";
    assert_eq!(
        with_feeds(text, |feeds| feeds.reverse()),
        "a\n[feed.y]\nd\n[feed.x]\nb\n[feed.x.into.t]\nc\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_comes_out_right_with_the_results_first() {
    in_this_order_the_set_comes_out_right(&F1, |feeds| {
        let at = feeds
            .iter()
            .position(|feed| feed.starts_with("[feed.race_results]"))
            .unwrap();
        feeds[..=at].rotate_right(1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_comes_out_right_backwards() {
    in_this_order_the_set_comes_out_right(&F1, |feeds| feeds.reverse()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openflights_comes_out_right_backwards() {
    in_this_order_the_set_comes_out_right(&OPENFLIGHTS, |feeds| feeds.reverse()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn international_comes_out_right_backwards() {
    in_this_order_the_set_comes_out_right(&INTERNATIONAL, |feeds| feeds.reverse()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn football_comes_out_right_backwards() {
    in_this_order_the_set_comes_out_right(&FOOTBALL, |feeds| feeds.reverse()).await;
}
