//! Tags: a thousand posts, each with a handful of them, all found or created in a few batches; then the links.
//!
//!   cargo run -p oneflight-sql --example tags

use oneflight_sql::{Draft, Error, Fold, Kind, Options, Resolver, Table, ddl, driver};

const TAGS: [&str; 8] = [
    "Rust",
    "rust ",
    "SQL",
    "Straße",
    "STRASSE",
    "caf\u{e9}",
    "cafe\u{301}",
    "Café",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    let tags = Table::builder("tag")
        .id("id")
        .key_text("name_key", Fold::FULL)
        .shown("name")
        .build()?;
    let links = Table::builder("post_tag") // a link table: nobody refers to its rows, so they have no id
        .key("post_id", Kind::Int)
        .key("tag_id", Kind::Int)
        .references("tag", "id")
        .build()?;
    ddl::prepare(&db, &[tags.table().clone(), links.table().clone()]).await?;
    let tags = Resolver::new(db.clone(), tags, Options::new()).await?;
    let links = Resolver::new(db.clone(), links, Options::new().remember(0)).await?;

    let before = db.round_trips();
    let posts = (0..1_000).map(|post| (post, [TAGS[post % 8], TAGS[post % 7], TAGS[post % 5]]));
    let named: Vec<(usize, &str)> = posts
        .flat_map(|(post, tags)| tags.map(|tag| (post, tag)))
        .collect();
    let ids = tags.resolve_many(named.iter().map(|(_, tag)| *tag)).await;
    let pairs = named
        .iter()
        .zip(ids)
        .map(|((post, _), tag)| Ok(Draft::new().key(*post as i64).key(tag?.id)));
    let pairs = pairs.collect::<Result<Vec<Draft>, Error>>()?;
    links
        .resolve_many(pairs)
        .await
        .into_iter()
        .collect::<Result<Vec<_>, Error>>()?;

    println!(
        "{} tags named, {} tags made",
        named.len(),
        tags.stats().created
    );
    println!(
        "{} links made, {} statements in all",
        links.stats().created,
        db.round_trips() - before
    );
    Ok(())
}
