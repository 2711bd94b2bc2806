//! PostgreSQL: `COPY` into a temporary table.

use super::super::pick::Task;
use super::start::{answers, feed};
use crate::error::Error;
use crate::merge::database::{Clock, Ran};
use crate::merge::link::postgres;
use crate::merge::tables::SOURCE;
use bytes::Bytes;
use futures_util::{SinkExt as _, pin_mut};
use tokio_postgres::SimpleQueryMessage;

/// Bytes that are handed to the connection at once.
const PIECE: usize = 1 << 16;

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let (things, links) = (task.tables.name(), task.tables.links());
    let client = postgres(task.site.far()).await?;
    let feed = Bytes::from(feed(task));
    let clock = Clock::start(&task.site);
    // One round trip where a script has two: tokio-postgres prepares a COPY, which costs the one that is saved here.
    client
        .batch_execute("BEGIN; CREATE TEMP TABLE stage (external_id text COLLATE \"C\", slug text COLLATE \"C\") ON COMMIT DROP")
        .await.map_err(Error::of_postgres)?;
    let sink = client
        .copy_in::<_, Bytes>("COPY stage FROM STDIN")
        .await
        .map_err(Error::of_postgres)?;
    pin_mut!(sink);
    for at in (0..feed.len()).step_by(PIECE) {
        let end = (at + PIECE).min(feed.len());
        sink.send(feed.slice(at..end))
            .await
            .map_err(Error::of_postgres)?;
    }
    sink.finish().await.map_err(Error::of_postgres)?;
    let statements = [
        format!(
            "INSERT INTO {things} (slug) SELECT DISTINCT slug FROM stage ORDER BY slug ON CONFLICT DO NOTHING"
        ),
        format!(
            "INSERT INTO {links} (source, external_id, entity_id) SELECT DISTINCT '{SOURCE}', s.external_id, t.id \
             FROM stage s JOIN {things} t ON t.slug = s.slug ON CONFLICT DO NOTHING"
        ),
    ];
    for sql in &statements {
        client
            .batch_execute(sql)
            .await
            .map_err(Error::of_postgres)?;
    }
    let ids = format!(
        "SELECT external_id, entity_id FROM {links} WHERE source = '{SOURCE}' AND external_id IN (SELECT external_id FROM stage)"
    );
    let rows = client
        .simple_query(&ids)
        .await
        .map_err(Error::of_postgres)?;
    client
        .batch_execute("COMMIT")
        .await
        .map_err(Error::of_postgres)?;
    let pairs = rows.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?)),
        _ => None,
    });
    Ok(clock.stop(answers(task, pairs.collect())))
}
