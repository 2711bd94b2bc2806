//! The statements that make tables.

use super::index_name;
use crate::dialect::Dialect;
use crate::schema::{Attribute, Column, Crosswalk, Reference, Table};
use crate::value::Kind;
use std::collections::HashSet;

/// What an index of InnoDB holds, in characters of four bytes.
const INDEX_CHARS: u32 = 768;

/// Makes those tables that are not `present` (which has one entry a table, and one a crosswalk). `collation` is MySQL's.
pub(super) fn statements(
    dialect: Dialect,
    collation: &'static str,
    tables: &[Table],
    present: &[bool],
) -> Vec<crate::driver::Statement> {
    let writer = Writer { dialect, collation };
    let mut present = present.iter().copied();
    let mut absent: Vec<(&Table, bool, bool)> = Vec::new();
    for table in tables {
        let table_is_there = present.next().unwrap_or(true);
        let links_are_there = table.crosswalk.is_none() || present.next().unwrap_or(true);
        absent.push((table, table_is_there, links_are_there));
    }
    // A table may be named twice; it is made once.
    let mut waiting: HashSet<&str> = absent
        .iter()
        .filter(|(_, there, _)| !there)
        .map(|(table, ..)| table.name.as_str())
        .collect();
    let mut sql = Vec::new();
    let mut later = Vec::new();
    for (table, is_there, _) in &absent {
        if *is_there || !waiting.remove(table.name.as_str()) {
            continue;
        }
        let (inline, closing): (Vec<_>, Vec<_>) = references(table).partition(|(_, to)| {
            dialect == Dialect::Sqlite
                || to.table == table.name
                || !waiting.contains(to.table.as_str())
        });
        sql.push(writer.table(table, &inline));
        later.extend(
            closing
                .into_iter()
                .map(|(column, to)| writer.add_foreign_key(table, column, to)),
        );
    }
    sql.extend(later);
    let mut made = HashSet::new();
    for (table, _, are_there) in &absent {
        if let (Some(crosswalk), Some(id), false) = (&table.crosswalk, &table.id, are_there)
            && made.insert(&crosswalk.table)
        {
            sql.extend(writer.crosswalk(table, crosswalk, id));
        }
    }
    sql.into_iter().map(crate::driver::Statement::new).collect()
}

fn references(table: &Table) -> impl Iterator<Item = (&Column, &Reference)> {
    let columns = table
        .key
        .iter()
        .chain(table.attributes.iter().map(|attribute| &attribute.column));
    columns.filter_map(|column| column.references.as_ref().map(|to| (column, to)))
}

struct Writer {
    dialect: Dialect,
    collation: &'static str,
}

impl Writer {
    fn table(&self, table: &Table, inline: &[(&Column, &Reference)]) -> String {
        let mut parts = Vec::new();
        if let Some(id) = &table.id {
            parts.push(format!("{} {}", self.quote(id), self.id_type()));
        }
        let chars = text_chars(&table.key);
        for column in &table.key {
            parts.push(format!(
                "{} {} NOT NULL",
                self.quote(&column.name),
                self.key_type(column, chars)
            ));
        }
        for Attribute {
            column, required, ..
        } in &table.attributes
        {
            let not_null = if *required { " NOT NULL" } else { "" };
            parts.push(format!(
                "{} {}{not_null}",
                self.quote(&column.name),
                self.attribute_type(column)
            ));
        }
        let key: Vec<&str> = table
            .key
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        if !key.is_empty() {
            let quoted: Vec<_> = key.iter().map(|name| self.quote(name)).collect();
            parts.push(match &table.id {
                None => format!("PRIMARY KEY ({})", quoted.join(", ")),
                Some(_) => self.constraint(
                    &table.name,
                    &key,
                    "key",
                    &format!("UNIQUE ({})", quoted.join(", ")),
                ),
            });
        }
        parts.extend(
            inline
                .iter()
                .map(|(column, to)| self.foreign_key(&table.name, &column.name, to)),
        );
        let end = match (self.dialect, &table.id) {
            (Dialect::MySql, _) => " ENGINE=InnoDB",
            // The key is the row: half the size, half the work.
            (Dialect::Sqlite, None) => " WITHOUT ROWID",
            _ => "",
        };
        format!(
            "CREATE TABLE {} ({}){end}",
            self.dialect.quote_table(&table.name),
            parts.join(", ")
        )
    }

    fn crosswalk(&self, table: &Table, crosswalk: &Crosswalk, id: &str) -> Vec<String> {
        let columns = [&*crosswalk.source, &*crosswalk.external_id].map(|name| self.quote(name));
        let text = |chars: u32| match self.dialect {
            Dialect::Sqlite => "TEXT".to_owned(),
            Dialect::Postgres => "text COLLATE \"C\"".to_owned(),
            Dialect::MySql => format!(
                "VARCHAR({chars}) CHARACTER SET utf8mb4 COLLATE {}",
                self.collation
            ),
        };
        let int = match self.dialect {
            Dialect::Sqlite => "INTEGER",
            Dialect::Postgres | Dialect::MySql => "bigint",
        };
        let to = Reference {
            table: table.name.clone(),
            column: id.to_owned(),
        };
        let end = match self.dialect {
            Dialect::MySql => " ENGINE=InnoDB",
            Dialect::Sqlite => " WITHOUT ROWID",
            Dialect::Postgres => "",
        };
        let create = format!(
            "CREATE TABLE {} ({} {} NOT NULL, {} {} NOT NULL, {} {int} NOT NULL, PRIMARY KEY ({}), {}){end}",
            self.dialect.quote_table(&crosswalk.table),
            columns[0],
            text(190),
            columns[1],
            text(255),
            self.quote(&crosswalk.id),
            columns.join(", "),
            self.foreign_key(&crosswalk.table, &crosswalk.id, &to),
        );
        if self.dialect == Dialect::MySql {
            // The foreign key brings its own index.
            return vec![create];
        }
        let name = index_name(self.dialect, &crosswalk.table, &[&crosswalk.id], "idx");
        let (schema, bare) = crate::dialect::split(&crosswalk.table);
        let (name, on) = match (self.dialect, schema) {
            (Dialect::Sqlite, Some(schema)) => (
                format!("{}.{}", self.quote(schema), self.quote(&name)),
                self.quote(bare),
            ),
            _ => (
                self.quote(&name),
                self.dialect.quote_table(&crosswalk.table),
            ),
        };
        vec![
            create,
            format!(
                "CREATE INDEX {name} ON {on} ({})",
                self.quote(&crosswalk.id)
            ),
        ]
    }

    fn add_foreign_key(&self, table: &Table, column: &Column, to: &Reference) -> String {
        let key = self.foreign_key(&table.name, &column.name, to);
        format!(
            "ALTER TABLE {} ADD {key}",
            self.dialect.quote_table(&table.name)
        )
    }

    fn foreign_key(&self, table: &str, column: &str, to: &Reference) -> String {
        // SQLite looks for the parent in the schema of the child, and takes no other.
        let parent = match self.dialect {
            Dialect::Sqlite => self.quote(crate::dialect::split(&to.table).1),
            Dialect::Postgres | Dialect::MySql => self.dialect.quote_table(&to.table),
        };
        let what = format!(
            "FOREIGN KEY ({}) REFERENCES {parent} ({})",
            self.quote(column),
            self.quote(&to.column)
        );
        self.constraint(table, &[column], "fkey", &what)
    }

    fn constraint(&self, table: &str, columns: &[&str], suffix: &str, what: &str) -> String {
        format!(
            "CONSTRAINT {} {what}",
            self.quote(&index_name(self.dialect, table, columns, suffix))
        )
    }

    fn quote(&self, name: &str) -> String {
        self.dialect.quote(name)
    }

    fn id_type(&self) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => "INTEGER PRIMARY KEY",
            Dialect::Postgres => "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
            Dialect::MySql => "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
        }
    }

    fn key_type(&self, column: &Column, chars: u32) -> String {
        let chars = column.max_chars.unwrap_or(chars);
        match (self.dialect, column.kind) {
            (Dialect::Postgres, Kind::Text) => "text COLLATE \"C\"".to_owned(),
            (Dialect::MySql, Kind::Text) => format!(
                "VARCHAR({chars}) CHARACTER SET utf8mb4 COLLATE {}",
                self.collation
            ),
            (Dialect::MySql, Kind::Bytes) => format!("VARBINARY({chars})"),
            _ => self.attribute_type(column),
        }
    }

    fn attribute_type(&self, column: &Column) -> String {
        let name = match (self.dialect, column.kind) {
            (Dialect::Sqlite, Kind::Int | Kind::Bool) => "INTEGER",
            (Dialect::Sqlite, Kind::Real) => "REAL",
            (Dialect::Sqlite, Kind::Bytes) => "BLOB",
            (Dialect::Sqlite, _) => "TEXT",
            (Dialect::Postgres, Kind::Int) => "bigint",
            (Dialect::Postgres, Kind::Real) => "double precision",
            (Dialect::Postgres, Kind::Decimal) => "numeric",
            (Dialect::Postgres, Kind::Bool) => "boolean",
            (Dialect::Postgres, Kind::Date) => "date",
            (Dialect::Postgres, Kind::Timestamp) => "timestamptz",
            (Dialect::Postgres, Kind::Uuid) => "uuid",
            (Dialect::Postgres, Kind::Bytes) => "bytea",
            (Dialect::Postgres, Kind::Text) => "text",
            (Dialect::MySql, Kind::Int) => "BIGINT",
            (Dialect::MySql, Kind::Real) => "DOUBLE",
            (Dialect::MySql, Kind::Decimal) => "DECIMAL(65, 30)",
            (Dialect::MySql, Kind::Bool) => "BOOLEAN",
            (Dialect::MySql, Kind::Date) => "DATE",
            (Dialect::MySql, Kind::Timestamp) => "DATETIME(6)",
            (Dialect::MySql, Kind::Uuid) => "BINARY(16)",
            (Dialect::MySql, Kind::Bytes) => "LONGBLOB",
            (Dialect::MySql, Kind::Text) => {
                return format!("LONGTEXT CHARACTER SET utf8mb4 COLLATE {}", self.collation);
            }
        };
        name.to_owned()
    }
}

/// How many characters a text of the key has that does not say: 255, or less if the index could not hold them.
fn text_chars(key: &[Column]) -> u32 {
    let texts = key
        .iter()
        .filter(|column| matches!(column.kind, Kind::Text | Kind::Bytes));
    let said: u32 = texts.clone().filter_map(|column| column.max_chars).sum();
    let unsaid = texts.filter(|column| column.max_chars.is_none()).count() as u32;
    let others = key.len() as u32 * 8;
    (INDEX_CHARS.saturating_sub(said + others) / unsaid.max(1)).clamp(1, 255)
}
