//! Slugs: two different things that want the same one. The later one gets a suffix; the same thing, seen again, keeps its own.
//!
//!   cargo run -p oneflight-sql --example slugs

use oneflight_sql::{Draft, Fold, Options, Resolver, SameSource, Table, ddl, driver};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    let articles = Table::builder("article")
        .id("id")
        .key_text("slug", Fold::SLUG)
        .shown("title")
        .crosswalk("article_xref") // what the thing is, is said by the id in the system that it comes from
        .same_source(SameSource::Split) // two ids of one system are two things, also under one slug (the default)
        .build()?;
    ddl::prepare(&db, &[articles.table().clone()]).await?;
    let articles = Resolver::new(db.clone(), articles, Options::new()).await?;

    let feed = [
        ("cms", "100", "Über uns"),
        ("cms", "101", "Uber Uns!"), // another article, the same slug
        ("cms", "100", "Über uns"),  // the first one again
        ("wiki", "Q7", "ÜBER UNS"),  // another system's name for the first one
        ("cms", "102", "C"),
        ("cms", "103", "C#"),
    ];
    for (source, id, title) in feed {
        let article = articles
            .resolve(Draft::new().external(source, id).key(title))
            .await?;
        println!(
            "{source:>4} {id:>3} {title:<10} is article {:?} ({:?})",
            article.id_i64(),
            article.effect
        );
    }
    Ok(())
}
