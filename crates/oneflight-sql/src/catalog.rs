//! What the database says of a table: columns, unique indexes.
//!
//! C1. Names are matched exactly on PostgreSQL, and without regard to ASCII case on SQLite and MySQL, as those do.

use crate::dialect::{Dialect, split};
use crate::driver::{Driver, DriverError, Mode, Patience, Pipeline, Rows, Statement};
use crate::value::{Kind, Value};

/// A table that is there.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) columns: Vec<FoundColumn>,
    pub(crate) uniques: Vec<Unique>,
    /// A number that is the table's own within its database, if the database has one.
    pub(crate) oid: i64,
}

/// A column that is there.
#[derive(Debug)]
pub(crate) struct FoundColumn {
    pub(crate) name: String,
    /// What a cast takes (PostgreSQL), or the name of the type in lower case.
    pub(crate) db_type: String,
    /// The type as it was declared, in lower case, with what stands in brackets.
    pub(crate) full_type: String,
    /// What it holds; none for a type that has no kind of its own (JSON, enums).
    pub(crate) kind: Option<Kind>,
    pub(crate) collation: Option<String>,
    /// What a row gets that does not say: an expression, PostgreSQL only.
    pub(crate) default: Option<String>,
    /// True if the database counts it by itself.
    pub(crate) counts: bool,
    /// True if two texts that differ are never equal in its comparisons (but for spaces at the end, see `Col::pads`).
    pub(crate) exact: bool,
}

/// A unique index that is there.
#[derive(Debug)]
pub(crate) struct Unique {
    pub(crate) columns: Vec<String>,
    /// Why it decides nothing between two writers, if so.
    pub(crate) flaw: Option<String>,
}

impl Unique {
    /// True if it stands on exactly these columns, in any order.
    pub(crate) fn covers(&self, dialect: Dialect, names: &[&str]) -> bool {
        let has = |name: &&str| {
            let mut columns = self.columns.iter();
            columns.any(|column| same_name(dialect, column, name))
        };
        self.columns.len() == names.len() && names.iter().all(has)
    }
}

impl Found {
    pub(crate) fn column(&self, dialect: Dialect, name: &str) -> Option<&FoundColumn> {
        self.columns
            .iter()
            .find(|column| same_name(dialect, &column.name, name))
    }

    /// The unique index on exactly these columns, in any order: a sound one if there is one.
    pub(crate) fn unique(&self, dialect: Dialect, names: &[&str]) -> Option<&Unique> {
        let covers = |unique: &&Unique| unique.covers(dialect, names);
        let mut fitting = self.uniques.iter().filter(covers);
        let first = fitting.next()?;
        Some(
            fitting
                .find(|unique| unique.flaw.is_none())
                .filter(|_| first.flaw.is_some())
                .unwrap_or(first),
        )
    }
}

pub(crate) fn same_name(dialect: Dialect, a: &str, b: &str) -> bool {
    match dialect {
        Dialect::Postgres => a == b,
        Dialect::Sqlite | Dialect::MySql => a.eq_ignore_ascii_case(b),
    }
}

/// Asks for what may be asked for twice, also over a connection that breaks.
pub(crate) async fn ask(driver: &dyn Driver, statement: Statement) -> Result<Rows, DriverError> {
    let mut patience = Patience::default();
    loop {
        match driver.query(statement.clone()).await {
            Ok(rows) => return Ok(rows),
            Err(error) => patience.after(error).await?,
        }
    }
}

/// Reads tables, all in one round trip where statements are pipelined; none for a name that no table has.
pub(crate) async fn read<N: AsRef<str>>(
    driver: &dyn Driver,
    tables: &[N],
) -> Result<Vec<Option<Found>>, DriverError> {
    let looks = looks(driver.dialect(), tables);
    let mut patience = Patience::default();
    loop {
        let pipeline = Pipeline::new(Mode::Plain);
        match driver
            .run(looks.iter().cloned().fold(pipeline, Pipeline::step))
            .await
        {
            Ok(rows) => return Ok(found(driver.dialect(), &rows)),
            Err(error) => patience.after(error).await?,
        }
    }
}

/// Statements that look at tables, two for each; their rows are read by [`found`].
pub(crate) fn looks<N: AsRef<str>>(dialect: Dialect, tables: &[N]) -> Vec<Statement> {
    let looks = tables.iter().map(|table| match dialect {
        Dialect::Postgres => postgres(table.as_ref()),
        Dialect::Sqlite => sqlite(table.as_ref()),
        Dialect::MySql => mysql(table.as_ref()),
    });
    looks.flat_map(<[Statement; 2]>::from).collect()
}

/// Reads what [`looks`] returned.
pub(crate) fn found(dialect: Dialect, rows: &[Rows]) -> Vec<Option<Found>> {
    rows.chunks_exact(2)
        .map(|rows| table(dialect, &rows[0], &rows[1]))
        .collect()
}

fn table(dialect: Dialect, columns: &Rows, uniques: &Rows) -> Option<Found> {
    let oid = columns.iter().next().map(|row| int(&row[6]).unwrap_or(0))?;
    let columns = columns.iter().map(|row| column(dialect, row)).collect();
    let mut found: Vec<(String, Unique)> = Vec::new();
    for row in uniques.iter() {
        let (name, column, flaw) = (text(&row[0]), text(&row[1]), opt_text(&row[2]));
        if found.last().is_none_or(|(last, _)| *last != name) {
            found.push((
                name,
                Unique {
                    columns: Vec::new(),
                    flaw: None,
                },
            ));
        }
        if let Some((_, unique)) = found.last_mut() {
            unique.columns.push(column);
            unique.flaw = unique.flaw.take().or(flaw);
        }
    }
    Some(Found {
        columns,
        uniques: found.into_iter().map(|(_, unique)| unique).collect(),
        oid,
    })
}

/// Name, type, type to cast to, collation, default, counts, oid, exact, type with what stands in brackets.
fn column(dialect: Dialect, row: &[Value]) -> FoundColumn {
    let name = text(&row[0]);
    let db_type = text(&row[1]);
    let kind = match dialect {
        Dialect::Postgres => postgres_kind(&db_type),
        Dialect::Sqlite => sqlite_kind(&db_type),
        Dialect::MySql => mysql_kind(&db_type, &text(&row[2])),
    };
    let cast = text(&row[2]);
    let exact = int(&row[7]) != Some(0) && !(dialect == Dialect::Postgres && db_type == "citext");
    FoundColumn {
        name,
        db_type: if dialect == Dialect::Postgres {
            cast
        } else {
            db_type
        },
        full_type: text(&row[8]),
        kind,
        collation: opt_text(&row[3]),
        default: opt_text(&row[4]),
        counts: int(&row[5]) == Some(1),
        exact,
    }
}

const COLUMN: [Kind; 9] = [
    Kind::Text,
    Kind::Text,
    Kind::Text,
    Kind::Text,
    Kind::Text,
    Kind::Int,
    Kind::Int,
    Kind::Int,
    Kind::Text,
];
const UNIQUE: [Kind; 3] = [Kind::Text; 3];

fn postgres(table: &str) -> (Statement, Statement) {
    let quoted = Dialect::Postgres.quote_table(table);
    // A domain is what it stands on, however many stand between: what it adds is checked when a row is written. The type to cast to
    // goes without its length: a cast to varchar(10), or to a domain over it, would cut a text and say nothing. -1 is said because
    // without it `character`, `bit` and arrays of them are named as those of one.
    let columns = "SELECT a.attname::text, ty.typname::text, \
         format_type(ty.oid, -1), co.collname::text, \
         CASE WHEN a.attidentity <> '' THEN format('nextval(%L::regclass)', pg_get_serial_sequence($1, a.attname)) \
              ELSE said.otherwise END, \
         (a.attidentity <> '' OR said.otherwise LIKE 'nextval(%')::int::int8, a.attrelid::int8, \
         coalesce(co.collisdeterministic, true)::int::int8, format_type(ty.oid, base.mod) \
         FROM pg_attribute a JOIN pg_type own ON own.oid = a.atttypid \
         CROSS JOIN LATERAL (WITH RECURSIVE down(oid, mod) AS (SELECT a.atttypid, a.atttypmod \
             UNION ALL SELECT t.typbasetype, t.typtypmod FROM down JOIN pg_type t ON t.oid = down.oid WHERE t.typtype = 'd') \
           SELECT down.oid, down.mod FROM down JOIN pg_type t ON t.oid = down.oid WHERE t.typtype <> 'd') base \
         JOIN pg_type ty ON ty.oid = base.oid \
         LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
         CROSS JOIN LATERAL (SELECT coalesce(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(own.typdefaultbin, 0)) AS otherwise) said \
         LEFT JOIN pg_collation co ON co.oid = a.attcollation \
         WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
    let uniques = "SELECT i.indexrelid::text, a.attname::text, CASE WHEN i.indpred IS NOT NULL THEN 'it is partial' \
           WHEN NOT i.indimmediate THEN 'it is deferrable' WHEN NOT i.indisvalid THEN 'it is not valid' END \
         FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, n) \
         LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
         WHERE i.indrelid = to_regclass($1) AND i.indisunique AND k.n <= i.indnkeyatts ORDER BY 1, k.n";
    let statement = |sql: &'static str| Statement::new(sql).text(quoted.clone());
    (
        statement(columns).returns(COLUMN),
        statement(uniques).returns(UNIQUE),
    )
}

fn sqlite(table: &str) -> (Statement, Statement) {
    let (schema, table) = split(table);
    let statement = |sql: &'static str| {
        Statement::new(sql)
            .text(table)
            .text(schema.unwrap_or("main"))
    };
    // The alias of the rowid counts by itself, and has no index.
    let columns = "SELECT c.name, lower(c.type), '', NULL, NULL, \
         (c.pk = 1 AND lower(c.type) = 'integer' AND (SELECT count(*) FROM pragma_table_xinfo(?1, ?2) WHERE pk > 0) = 1), 0, 1, lower(c.type) \
         FROM pragma_table_xinfo(?1, ?2) c ORDER BY c.cid";
    let uniques = "SELECT l.name, i.name, CASE WHEN l.partial THEN 'it is partial' \
           WHEN upper(i.coll) <> 'BINARY' THEN 'its collation is ' || i.coll END \
         FROM pragma_index_list(?1, ?2) l, pragma_index_xinfo(l.name, ?2) i WHERE l.\"unique\" AND i.key \
         UNION ALL SELECT 'rowid', c.name, NULL FROM pragma_table_xinfo(?1, ?2) c WHERE c.pk = 1 AND lower(c.type) = 'integer' \
           AND (SELECT count(*) FROM pragma_table_xinfo(?1, ?2) WHERE pk > 0) = 1";
    (
        statement(columns).returns(COLUMN),
        statement(uniques).returns(UNIQUE),
    )
}

fn mysql(table: &str) -> (Statement, Statement) {
    let (schema, table) = split(table);
    let statement = |sql: &'static str| {
        let statement = Statement::new(sql).text(table);
        match schema {
            Some(schema) => statement.text(schema),
            None => statement.bind(crate::driver::Bind::One(Kind::Text, Value::Null)),
        }
    };
    let columns = "SELECT CAST(column_name AS CHAR), CAST(lower(data_type) AS CHAR), CAST(lower(column_type) AS CHAR), \
         CAST(collation_name AS CHAR), NULL, CAST(extra LIKE '%auto_increment%' AS SIGNED), 0, \
         CAST(collation_name IS NULL OR collation_name LIKE '%\\_bin' OR collation_name = 'binary' AS SIGNED), CAST(lower(column_type) AS CHAR) \
         FROM information_schema.columns WHERE table_name = ? AND table_schema = coalesce(?, database()) ORDER BY ordinal_position";
    let uniques = "SELECT CAST(index_name AS CHAR), CAST(column_name AS CHAR), \
         CAST(CASE WHEN sub_part IS NOT NULL THEN 'it covers but the first characters' END AS CHAR) \
         FROM information_schema.statistics WHERE table_name = ? AND table_schema = coalesce(?, database()) AND non_unique = 0 \
         ORDER BY index_name, seq_in_index";
    (
        statement(columns).returns(COLUMN),
        statement(uniques).returns(UNIQUE),
    )
}

fn postgres_kind(name: &str) -> Option<Kind> {
    Some(match name {
        "text" | "varchar" | "bpchar" | "citext" | "name" => Kind::Text,
        "int2" | "int4" | "int8" => Kind::Int,
        "float4" | "float8" => Kind::Real,
        "numeric" => Kind::Decimal,
        "bool" => Kind::Bool,
        "date" => Kind::Date,
        "timestamp" | "timestamptz" => Kind::Timestamp,
        "uuid" => Kind::Uuid,
        "bytea" => Kind::Bytes,
        _ => return None,
    })
}

/// By SQLite's own rules of affinity, with the names that people give to numeric ones.
fn sqlite_kind(name: &str) -> Option<Kind> {
    Some(match name {
        name if name.contains("int") => Kind::Int,
        name if ["char", "clob", "text"]
            .iter()
            .any(|part| name.contains(part)) =>
        {
            Kind::Text
        }
        name if ["real", "floa", "doub"]
            .iter()
            .any(|part| name.contains(part)) =>
        {
            Kind::Real
        }
        name if name.contains("blob") => Kind::Bytes,
        name if name.contains("bool") => Kind::Bool,
        "date" => Kind::Date,
        name if name.contains("time") => Kind::Timestamp,
        name if name.contains("dec") || name.contains("num") => Kind::Decimal,
        _ => return None,
    })
}

fn mysql_kind(name: &str, full: &str) -> Option<Kind> {
    Some(match name {
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Kind::Text,
        "tinyint" if full.starts_with("tinyint(1)") => Kind::Bool,
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => Kind::Int,
        "float" | "double" => Kind::Real,
        "decimal" => Kind::Decimal,
        "date" => Kind::Date,
        "datetime" | "timestamp" => Kind::Timestamp,
        "uuid" => Kind::Uuid,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Kind::Bytes,
        _ => return None,
    })
}

/// True if a column that the database says is `found` can hold what is described as `kind`.
pub(crate) fn fits(dialect: Dialect, kind: Kind, found: Option<Kind>) -> bool {
    match (dialect, kind, found) {
        (_, kind, Some(found)) if kind == found => true,
        // JSON, enums and the like show as text.
        (Dialect::Postgres | Dialect::MySql, Kind::Text, None) => true,
        // A column without affinity keeps what it is given.
        (Dialect::Sqlite, _, None) => true,
        (
            Dialect::Sqlite,
            Kind::Decimal | Kind::Date | Kind::Timestamp | Kind::Uuid,
            Some(Kind::Text),
        ) => true,
        (Dialect::Sqlite, Kind::Bool, Some(Kind::Int))
        | (Dialect::Sqlite, Kind::Date, Some(Kind::Timestamp)) => true,
        (Dialect::MySql, Kind::Bool, Some(Kind::Int))
        | (Dialect::MySql, Kind::Int, Some(Kind::Bool)) => true,
        (Dialect::MySql, Kind::Uuid, Some(Kind::Bytes | Kind::Text)) => true,
        _ => false,
    }
}

fn text(value: &Value) -> String {
    opt_text(value).unwrap_or_default()
}

fn opt_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        _ => None,
    }
}
