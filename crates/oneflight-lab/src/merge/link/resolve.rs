//! Look up, or create: what everybody writes first.

use super::connection::{Connection, Param};
use crate::error::Error;
use crate::feed::References;
use crate::merge::database::Site;
use crate::merge::tables::{Statements, Tables};

/// A connection with the statements of one pair of tables.
#[derive(Debug)]
pub(in crate::merge) struct Link {
    connection: Connection,
}

const FIND: usize = 0;
const CREATE: usize = 1;
const LOCATE: usize = 2;
const ATTACH: usize = 3;

impl Link {
    /// Connects by way of the proxy, and prepares.
    pub(in crate::merge) async fn open(site: &Site, tables: &Tables) -> Result<Self, Error> {
        let Statements {
            find,
            create,
            locate,
            attach,
        } = tables.statements();
        let connection = Connection::open(site.far(), &[&find, &create, &locate, &attach]).await?;
        Ok(Self { connection })
    }

    /// The id of a thing. A look-up, and if it is not known, two statements more.
    ///
    /// It is right for as long as nobody else creates the same thing between look-up and insert. With a unique name, the loser
    /// of that race finds the winner's row; without one, it leaves a row that nothing leads to.
    pub(in crate::merge) async fn resolve(&mut self, site: &Site, key: u32) -> Result<i64, Error> {
        let external = References::external_id(key);
        let known = self.run(site, FIND, &[Param::Text(&external)]).await?;
        if let Some(id) = known {
            return Ok(id);
        }
        let slug = References::slug(key);
        let id = match self.run(site, CREATE, &[Param::Text(&slug)]).await? {
            Some(id) => id,
            None => {
                let located = self.run(site, LOCATE, &[Param::Text(&slug)]).await?;
                located
                    .ok_or_else(|| Error::internal(format!("`{slug}` is neither there nor not")))?
            }
        };
        let link = [Param::Text(&external), Param::Int(id)];
        self.run(site, ATTACH, &link).await?;
        Ok(id)
    }

    async fn run(
        &mut self,
        site: &Site,
        statement: usize,
        params: &[Param<'_>],
    ) -> Result<Option<i64>, Error> {
        site.count(1);
        self.connection.run(statement, params).await
    }
}
