//! Find or create a user by e-mail: sixty-four log-ins at once, in four spellings, and one row.
//!
//!   cargo run -p oneflight-sql --example user_by_email

use oneflight_sql::{Draft, Effect, Fold, Kind, Options, Resolver, Table, ddl, driver};
use std::collections::HashSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = driver::connect("sqlite::memory:", driver::Options::default()).await?;
    let users = Table::builder("users")
        .id("id")
        .key_text("email_key", Fold::FULL) // what is unique: folded by us, stored, indexed
        .shown("email") // what people see: as the first one wrote it
        .attribute("name", Kind::Text)
        .build()?;
    ddl::prepare(&db, &[users.table().clone()]).await?;
    let users = Resolver::new(db, users, Options::new()).await?;

    let spellings = [
        "Ada@Example.org",
        "ada@example.org",
        " ADA@EXAMPLE.ORG",
        "ada@Example.org\u{a0}",
    ];
    let log_ins = (0..64).map(|n| {
        let users = users.clone();
        tokio::spawn(async move { users.resolve(spellings[n % 4]).await })
    });
    let (mut ids, mut created) = (HashSet::new(), 0);
    for log_in in log_ins.collect::<Vec<_>>() {
        let user = log_in.await??;
        ids.insert(user.id_i64());
        created += u32::from(user.effect == Effect::Created);
    }
    println!("64 log-ins: {} id, created {created} time", ids.len());

    let named = users
        .resolve(
            Draft::new()
                .key("ada@example.org")
                .set("name", "Ada Lovelace"),
        )
        .await?;
    println!("then her name came: {:?}", named.effect);
    println!("is there a bob? {:?}", users.find("bob@example.org").await?);
    println!("{:?}", users.stats());
    Ok(())
}
