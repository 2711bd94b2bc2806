//! Flights and batches: the resolver of `oneflight-sql`, on one connection.

use super::pick::Task;
use crate::error::Error;
use crate::feed::References;
use crate::merge::database::{Clock, Ran};
use crate::merge::tables::SOURCE;
use oneflight_sql::driver::{self, Statement};
use oneflight_sql::{Draft, Options, Resolver};

pub(super) async fn run(task: &Task) -> Result<Ran, Error> {
    let options = driver::Options::default().connections(1);
    let far = driver::connect(task.site.far(), options).await?;
    let resolver = Resolver::new(far.clone(), task.tables.entity.clone(), Options::new()).await?;
    // The connection is there before the clock starts, as everybody's is.
    far.query(Statement::new("SELECT 1")).await?;
    let statements = far.round_trips();
    let clock = Clock::start(&task.site);
    let drafts = task.keys.iter().map(|&key| {
        Draft::new()
            .external(SOURCE, References::external_id(key))
            .key(References::slug(key))
    });
    let outcomes = resolver.resolve_many(drafts).await;
    let mut answers = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        let id = outcome?.id_i64();
        answers.push(id.ok_or_else(|| Error::internal("an id that is no number"))?);
    }
    task.site.count(far.round_trips() - statements);
    Ok(clock.stop(answers))
}
