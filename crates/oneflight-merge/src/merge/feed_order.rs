//! W3 under a script: chunks that are all under way at once, of which the last is let on first wherever two could go on, leave what
//! they leave one by one.

use super::count::Written;
use super::options::Options;
use super::target::Target;
use super::write::Writer;
use crate::map::{Lookups, Mapper};
use crate::mapping;
use crate::plan::Plan;
use crate::rows::{Chunk, File, Flat, Rows};
use futures_util::future::{join_all, poll_immediate};
use sqlx::sqlite::SqlitePool;
use std::fmt::Write as _;
use std::sync::Arc;

/// A mapping, chunks that are written one after the other in any case, and chunks whose order is tried. A chunk is rows of cells
/// with a space between; `-` is an empty cell.
struct Script {
    map: &'static str,
    before: &'static [&'static [&'static str]],
    chunks: &'static [&'static [&'static str]],
    /// What stands in the database, a text a row.
    rows: &'static str,
}

impl Script {
    /// The books of each chunk and the rows that are left, one after the other.
    #[track_caller]
    fn agrees(&self) -> (Vec<String>, Vec<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let in_order = runtime.block_on(self.run(false));
        let last_first = runtime.block_on(self.run(true));
        assert_eq!(in_order, last_first, "W3");
        in_order
    }

    async fn run(&self, last_first: bool) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", dir.path().join("out.db").display());
        let plan = mapping::parse(self.map, "map.toml").unwrap_or_else(|errors| panic!("{errors}"));
        let plan = Arc::new(plan);
        let options = Options::new(dir.path(), &url);
        let driver = Target::connect(&options).await.expect("a database");
        let target = Target::open(driver, &plan, &options).await;
        let target = target.unwrap_or_else(|error| panic!("{error}"));
        let writer = Writer::new(plan.clone(), target.sinks(&plan, &options));
        let mapped =
            |rows: &&[&str]| Mapper::new(&plan, 0, &Lookups::default()).map(&chunk(&plan, rows));
        let mut number = 0;
        for rows in self.before {
            writer.write(number, mapped(rows)).await.expect("a chunk");
            number += 1;
        }
        let chunks = (number..).zip(self.chunks);
        let writes = chunks.map(|(number, rows)| writer.write(number, mapped(rows)));
        let books = match last_first {
            false => {
                let mut books = Vec::new();
                for write in writes {
                    books.push(write.await);
                }
                books
            }
            true => all_at_once(&url, writes.collect()).await,
        };
        let books = books
            .into_iter()
            .map(|written| told(&written.expect("a chunk")));
        let books = books.collect();
        let pool = SqlitePool::connect(&url).await.expect("the database");
        let rows = sqlx::query_scalar(self.rows).fetch_all(&pool).await;
        pool.close().await;
        (books, rows.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// Lets the last chunk on first, and nothing be written before all are under way.
async fn all_at_once<W: Future>(url: &str, mut writes: Vec<W>) -> Vec<W::Output> {
    let pool = SqlitePool::connect(url).await.expect("the database");
    let writer = pool.begin_with("BEGIN IMMEDIATE").await.expect("a lock");
    let polls = 2 * writes.len();
    writes.reverse();
    // Whenever it is polled, all that are pending are, in this order.
    let mut writes = std::pin::pin!(join_all(writes));
    for _ in 0..polls {
        assert!(
            poll_immediate(writes.as_mut()).await.is_none(),
            "the database is locked"
        );
    }
    writer.rollback().await.expect("unlocked");
    pool.close().await;
    let mut written = writes.await;
    written.reverse();
    written
}

fn chunk(plan: &Plan, rows: &[&str]) -> Chunk {
    let crate::plan::Format::Csv(csv) = &plan.feeds[0].source.format else {
        panic!("the feed of a script is a CSV file")
    };
    let columns = csv.columns.clone().expect("columns");
    let mut flat = Flat::new(columns.len());
    for (line, row) in (1..).zip(rows) {
        for cell in row.split(' ') {
            flat.push(Some(if cell == "-" { "" } else { cell }));
        }
        flat.end_row(line);
    }
    let file = File {
        name: "x.csv".into(),
        stem: "x".into(),
        captures: Vec::new(),
        columns,
        bytes: None,
    };
    Chunk {
        file: Arc::new(file),
        rows: Rows::Flat(flat),
        bad: Vec::new(),
        bytes_read: 0,
    }
}

/// The books of a chunk, as a text.
fn told(written: &Written) -> String {
    let Written {
        inserted,
        existing,
        updated,
        rejects,
        tables,
    } = written;
    let mut told = format!("+{inserted} ={existing} ~{updated}");
    for reject in rejects {
        let _ = write!(told, " !{}", reject.line);
    }
    for table in tables {
        let _ = write!(
            told,
            " | +{} ={} ~{} ^{} ?{}",
            table.created, table.found, table.updated, table.completed, table.conflicts
        );
    }
    told
}

/// Visits to clubs that are known by name and by id; `full` ones say the city as well.
macro_rules! clubs {
    ($same_source:literal) => {
        concat!(
            r#"
            source = "s"
            [table.club]
            key = "name"
            crosswalk = { same_source = ""#,
            $same_source,
            r#"" }
            columns = { name = "text", city = "text" }
            [table.visit]
            key = "n"
            columns = { n = "integer", club = "ref club" }
            [feed.visits]
            path = "x.csv"
            header = false
            columns = ["kind", "n", "id", "name", "city"]
            [feed.visits.into.brief]
            table = "visit"
            when = { kind = ["brief"] }
            n = "n"
            club = { external_id = "id", name = "name" }
            [feed.visits.into.full]
            table = "visit"
            when = { kind = ["full"] }
            n = "n"
            club = { external_id = "id", name = "name", city = "city" }
            "#
        )
    };
}

const CLUBS: &str = "SELECT v.n || ' ' || c.name || coalesce(' in ' || c.city, '') FROM visit v JOIN club c ON c.id = v.club_id ORDER BY 1";

#[test]
fn an_id_that_was_refused_one_key_gets_the_next_before_a_later_id_does() {
    let script = Script {
        map: clubs!("error"),
        before: &[&["brief 0 z one -"]],
        chunks: &[
            &["brief 1 a one -"],
            &["brief 2 a two -"],
            &["brief 3 c two -"],
        ],
        rows: CLUBS,
    };
    let (books, rows) = script.agrees();
    assert_eq!(rows, ["0 one", "2 two"]);
    assert!(books[2].contains("!1"), "{books:?}");
}

#[test]
fn an_id_that_came_without_a_key_first_has_the_key_before_a_later_id() {
    let script = Script {
        map: clubs!("split"),
        before: &[],
        chunks: &[
            &["brief 1 a - -"],
            &["brief 2 a one -"],
            &["brief 3 b one -"],
            &["brief 4 a - -"],
        ],
        rows: CLUBS,
    };
    let (_, rows) = script.agrees();
    assert_eq!(rows, ["2 one", "3 one~b", "4 one"]);
}

#[test]
fn an_id_that_came_without_a_key_first_is_linked_to_the_first_key() {
    let script = Script {
        map: clubs!("link"),
        before: &[],
        chunks: &[
            &["brief 1 a - -"],
            &["brief 2 a one -"],
            &["brief 3 a two -"],
        ],
        rows: CLUBS,
    };
    let (_, rows) = script.agrees();
    assert_eq!(rows, ["2 one", "3 one"]);
}

#[test]
fn what_is_said_by_a_key_comes_before_what_is_said_by_an_id_later() {
    let script = Script {
        map: clubs!("link"),
        before: &[],
        chunks: &[
            &["brief 1 - one -"],
            &["full 2 - one rome", "full 3 a one pisa"],
        ],
        rows: CLUBS,
    };
    let (_, rows) = script.agrees();
    assert_eq!(rows[0], "1 one in rome");
}

#[test]
fn a_row_is_inserted_by_the_first_that_declares_it() {
    let script = Script {
        map: r#"
            [table.club]
            key = "name"
            columns = { name = "text" }
            [table.visit]
            key = "n"
            columns = { n = "integer", club = "ref club" }
            [feed.visits]
            path = "x.csv"
            header = false
            columns = ["kind", "n", "name"]
            [feed.visits.into.club]
            name = "name"
            [feed.visits.into.visit]
            when = { kind = ["visit"] }
            n = "n"
            club = "name"
        "#,
        before: &[],
        chunks: &[&["club - one"], &["visit 1 one"]],
        rows: "SELECT name FROM club",
    };
    let (books, _) = script.agrees();
    assert!(
        books.iter().all(|book| book.starts_with("+1 ")),
        "{books:?}"
    );
}

#[test]
fn a_reference_to_the_own_table_is_written_before_the_next_chunk_begins() {
    let script = Script {
        map: r#"
            [table.person]
            key = "name"
            columns = { name = "text", age = "integer", boss = "ref person" }
            [feed.people]
            path = "x.csv"
            header = false
            columns = ["name", "age", "boss"]
            [feed.people.into.person]
            name = "name"
            age = "age"
            boss = "boss"
        "#,
        before: &[&["eve - ann"]],
        chunks: &[&["ann - bob"], &["ann 50 -"]],
        rows: "SELECT p.name || ' ' || coalesce(p.age, '-') || ' ' || coalesce(b.name, '-') FROM person p LEFT JOIN person b ON b.id = p.boss_id ORDER BY 1",
    };
    let (books, rows) = script.agrees();
    assert_eq!(rows, ["ann 50 bob", "bob - -", "eve - ann"]);
    assert!(
        books[0].contains("^1") && books[1].contains("~1"),
        "{books:?}"
    );
}
