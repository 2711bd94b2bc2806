//! The tables of one way: things with a name each, and the external ids that lead to them.
//!
//!   player_1 (id, slug)  ◀──  player_1_xref (source, external_id, entity_id)

use super::database::Site;
use crate::error::Error;
use oneflight_sql::driver::Statement;
use oneflight_sql::{Dialect, Entity, Fold, Kind, Table, ddl};

/// The source of all external ids here.
pub(super) const SOURCE: &str = "lab";

/// A pair of tables that nobody has written to yet.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) entity: Entity,
    dialect: Dialect,
}

impl Tables {
    /// Makes them. `unique` is whether the database holds names to be unique (L3).
    pub(super) async fn create(site: &Site, number: u32, unique: bool) -> Result<Self, Error> {
        let name = format!("player_{number}");
        let table = Table::builder(&*name).id("id");
        let table = match unique {
            true => table.key_text("slug", Fold::EXACT),
            false => table.attribute("slug", Kind::Text),
        };
        let built = table.crosswalk(format!("{name}_xref")).build();
        let entity = built.map_err(Error::from)?;
        ddl::prepare(site.near(), &[entity.table().clone()]).await?;
        Ok(Self {
            entity,
            dialect: site.dialect(),
        })
    }

    /// Drops them, so that a long run needs no more room than a short one.
    pub(super) async fn remove(&self, site: &Site) -> Result<(), Error> {
        for table in [self.links(), self.name().to_owned()] {
            site.near()
                .query(Statement::new(format!("DROP TABLE {table}")))
                .await?;
        }
        Ok(())
    }

    /// The table of things.
    pub(super) fn name(&self) -> &str {
        &self.entity.table().name
    }

    /// The table of external ids.
    pub(super) fn links(&self) -> String {
        format!("{}_xref", self.name())
    }

    /// What a caller does who knows nothing of flights and batches.
    pub(super) fn statements(&self) -> Statements {
        Statements::new(
            self.dialect,
            self.name(),
            &["slug"],
            &self.links(),
            "entity_id",
        )
    }
}

/// The statements that look one thing up, or create it.
#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// External id ─▶ id, or nothing.
    pub(super) find: String,
    /// Name ─▶ id; nothing if somebody else was faster.
    pub(super) create: String,
    /// Name ─▶ id, or nothing.
    pub(super) locate: String,
    /// External id, id.
    pub(super) attach: String,
}

impl Statements {
    /// For a table with the name in `columns` (the key first), and its external ids in `links`.
    pub(super) fn new(
        dialect: Dialect,
        table: &str,
        columns: &[&str],
        links: &str,
        id: &str,
    ) -> Self {
        let [one, two] = match dialect {
            Dialect::MySql => ["?", "?"],
            Dialect::Sqlite => ["?1", "?2"],
            _ => ["$1", "$2"],
        };
        let values = [one, two][..columns.len().min(2)].join(", ");
        let (insert, attach) = match dialect {
            // MySQL cannot return what was inserted, but tells the last id that it was shown.
            Dialect::MySql => (
                " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)",
                " ON DUPLICATE KEY UPDATE external_id = external_id",
            ),
            _ => (
                " ON CONFLICT DO NOTHING RETURNING id",
                " ON CONFLICT DO NOTHING",
            ),
        };
        let names = columns.join(", ");
        Self {
            find: format!(
                "SELECT {id} FROM {links} WHERE source = '{SOURCE}' AND external_id = {one}"
            ),
            create: format!("INSERT INTO {table} ({names}) VALUES ({values}){insert}"),
            locate: format!("SELECT id FROM {table} WHERE {} = {one}", columns[0]),
            attach: format!(
                "INSERT INTO {links} (source, external_id, {id}) VALUES ('{SOURCE}', {one}, {two}){attach}"
            ),
        }
    }

    /// Find, create, locate, attach.
    pub(super) fn in_order(self) -> [String; 4] {
        [self.find, self.create, self.locate, self.attach]
    }
}
