//! Look up, or create: what everybody writes first.

use super::connection::{Connection, Param};
use crate::error::Error;
use crate::feed::References;
use crate::merge::database::Site;
use crate::merge::tables::Tables;

/// A connection with its statements prepared, each run of which counts as a round trip.
#[derive(Debug)]
pub(in crate::merge) struct Link {
    connection: Connection,
}

impl Link {
    /// Connects by way of the proxy, and prepares what looks up or creates the things of one pair of tables.
    pub(in crate::merge) async fn open(site: &Site, tables: &Tables) -> Result<Self, Error> {
        let statements = tables.statements().in_order();
        Self::prepare(site, statements.iter().map(String::as_str)).await
    }

    /// Connects by way of the proxy, and prepares.
    pub(in crate::merge) async fn prepare<'s>(
        site: &Site,
        statements: impl Iterator<Item = &'s str>,
    ) -> Result<Self, Error> {
        let statements: Vec<&str> = statements.collect();
        let connection = Connection::open(site.far(), &statements).await?;
        Ok(Self { connection })
    }

    /// The id of a thing of the only pair of tables.
    pub(in crate::merge) async fn resolve(&mut self, site: &Site, key: u32) -> Result<i64, Error> {
        let (external, slug) = (References::external_id(key), References::slug(key));
        self.find_or_create(site, 0, &external, &[Param::Text(&slug)])
            .await
    }

    /// The id of a thing, whose statements begin with the one of this number, in [`Statements::in_order`]; `names` begin with its
    /// key. A look-up, and if it is not known, two statements more.
    ///
    /// It is right for as long as nobody else creates the same thing between look-up and insert. With a unique name, the loser
    /// of that race finds the winner's row; without one, it leaves a row that nothing leads to.
    ///
    /// [`Statements::in_order`]: crate::merge::tables::Statements::in_order
    pub(in crate::merge) async fn find_or_create(
        &mut self,
        site: &Site,
        first: usize,
        external: &str,
        names: &[Param<'_>],
    ) -> Result<i64, Error> {
        let [find, create, locate, attach] = [0, 1, 2, 3].map(|at| first + at);
        let known = self.run(site, find, &[Param::Text(external)]).await?;
        if let Some(id) = known {
            return Ok(id);
        }
        let id = match self.run(site, create, names).await? {
            Some(id) => id,
            None => {
                let located = self.run(site, locate, &names[..1]).await?;
                located.ok_or_else(|| {
                    Error::internal(format!("`{external}` is neither there nor not"))
                })?
            }
        };
        let link = [Param::Text(external), Param::Int(id)];
        self.run(site, attach, &link).await?;
        Ok(id)
    }

    /// Runs the statement of this number.
    pub(in crate::merge) async fn run(
        &mut self,
        site: &Site,
        statement: usize,
        params: &[Param<'_>],
    ) -> Result<Option<i64>, Error> {
        site.count(1);
        self.connection.run(statement, params).await
    }
}
