//! The audit of databases that were made, and broken, by hand.

use oneflight_merge::audit::{AuditReport, FindingKind, Why, audit};
use oneflight_merge::{Error, mapping};
use sqlx::Connection as _;

const MAP: &str = r#"
[table.club]
key = "name"
fold = "full"
crosswalk = true
columns = { name = "text", founded = "integer" }

[table.player]
crosswalk = true
columns = { name = "text", club = "ref club" }

[table.goal]
key = ["club", "scorer", "minute"]
fold = { scorer = "full" }
null_key = "value"
columns = { club = "ref club", scorer = "text", minute = "integer" }

[feed.clubs]
path = "clubs.csv"
[feed.clubs.into.club]
name = "name"
"#;

/// As a merge would leave it, but without the indexes and foreign keys that would keep us from breaking it.
const WHOLE: &str = "
CREATE TABLE club (id INTEGER PRIMARY KEY, name_key TEXT, name TEXT, founded INTEGER);
CREATE TABLE club_xref (source TEXT, external_id TEXT, club_id INTEGER);
CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, club_id INTEGER);
CREATE TABLE player_xref (source TEXT, external_id TEXT, player_id INTEGER);
CREATE TABLE goal (row_key BLOB, club_id INTEGER, scorer TEXT, minute INTEGER);
INSERT INTO club VALUES (1, 'ashford', 'Ashford', 1887), (2, 'blåvik if', 'Blåvik IF', NULL), (3, 'grossenbach 04', 'Großenbach 04', 1904);
INSERT INTO club_xref VALUES ('a', 'A1', 1), ('a', 'A2', 2), ('b', 'A1', 3);
INSERT INTO player VALUES (7, 'João Silva', 1), (8, 'João Silva', NULL);
INSERT INTO player_xref VALUES ('b', '70', 7), ('b', '80', 8), ('c', '1', 8);
INSERT INTO goal VALUES (x'01', 1, 'João Silva', 90), (x'02', 1, 'João Silva', NULL), (x'03', NULL, NULL, 90);
";

/// Audits the database that `sql` makes.
async fn audited(sql: &'static str) -> Result<AuditReport, Error> {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("a.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&format!("{url}?mode=rwc"))
        .await
        .unwrap();
    sqlx::raw_sql(WHOLE).execute(&mut connection).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    audit(&mapping::parse(MAP, "map.toml").unwrap(), &url).await
}

/// The findings in all tables: table, kind, column, count and first example.
async fn findings(sql: &'static str) -> Vec<(String, FindingKind, String, u64, String)> {
    let report = audited(sql).await.unwrap();
    let of = |name: &str, finding: &oneflight_merge::audit::Finding| {
        let example = finding.examples.first().cloned().unwrap_or_default();
        (
            name.to_owned(),
            finding.kind,
            finding.column.clone(),
            finding.count,
            example,
        )
    };
    report
        .tables
        .iter()
        .flat_map(|table| {
            table
                .findings
                .iter()
                .map(|finding| of(&table.name, finding))
        })
        .collect()
}

fn finding(
    table: &str,
    kind: FindingKind,
    column: &str,
    count: u64,
    example: &str,
) -> (String, FindingKind, String, u64, String) {
    (table.into(), kind, column.into(), count, example.into())
}

#[tokio::test]
async fn a_whole_database_is_clean_and_its_rows_are_counted() {
    let report = audited("").await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    let rows: Vec<_> = report
        .tables
        .iter()
        .map(|table| (table.name.as_str(), table.rows))
        .collect();
    assert_eq!(rows, [("club", 3), ("player", 2), ("goal", 3)]);
}

#[tokio::test]
async fn a_key_that_several_rows_have_is_found_without_any_index() {
    let found = findings(
        "INSERT INTO club VALUES (4, 'ashford', 'Ashford', 1), (5, 'ashford', 'ashford', 1)",
    )
    .await;
    assert_eq!(
        found,
        [finding(
            "club",
            FindingKind::DuplicateKey,
            "name_key",
            1,
            "ashford"
        )]
    );
    let found = findings("INSERT INTO goal VALUES (x'03', 2, 'B', 1)").await;
    assert_eq!(
        found,
        [finding(
            "goal",
            FindingKind::DuplicateKey,
            "row_key",
            1,
            "03"
        )]
    );
}

#[tokio::test]
async fn a_stored_key_that_its_text_does_not_fold_to_is_found_with_the_row_it_hides() {
    let found = findings("INSERT INTO club VALUES (4, 'Ashford', ' ASHFORD', NULL)").await;
    assert_eq!(
        found,
        [
            finding(
                "club",
                FindingKind::StaleKey,
                "name",
                1,
                " ASHFORD (id 4) is stored as `Ashford`"
            ),
            finding(
                "club",
                FindingKind::EqualUnderFold,
                "name",
                1,
                "Ashford (id 1) =  ASHFORD (id 4)"
            ),
        ]
    );
}

#[tokio::test]
async fn rows_with_a_digest_are_compared_by_the_fold_of_their_texts_and_nulls_are_equal() {
    let found = findings(
        "INSERT INTO goal VALUES (x'04', 1, 'JOÃO  SILVA', NULL), (x'05', NULL, NULL, 91)",
    )
    .await;
    let example = "1, João Silva, null = 1, JOÃO  SILVA, null";
    assert_eq!(
        found,
        [finding(
            "goal",
            FindingKind::EqualUnderFold,
            "scorer",
            1,
            example
        )]
    );
}

#[tokio::test]
async fn two_entities_that_were_kept_apart_on_purpose_are_no_finding() {
    let found = findings("INSERT INTO club VALUES (4, 'ashford~A9', 'Ashford', 1); INSERT INTO club_xref VALUES ('a', 'A9', 4)").await;
    assert_eq!(found, []);
}

#[tokio::test]
async fn a_reference_to_nothing_is_found_without_any_foreign_key() {
    let found =
        findings("DELETE FROM club WHERE id = 1; DELETE FROM club_xref WHERE club_id = 1").await;
    assert_eq!(
        found,
        [
            finding(
                "player",
                FindingKind::Dangling,
                "club_id",
                1,
                "7 refers to club 1"
            ),
            finding(
                "goal",
                FindingKind::Dangling,
                "club_id",
                2,
                "01 refers to club 1"
            ),
        ]
    );
}

#[tokio::test]
async fn a_crosswalk_that_has_gone_astray_is_found() {
    let found = findings(
        "INSERT INTO club_xref VALUES ('a', 'A1', 2), ('a', 'A7', 99), ('a', 'A8', NULL); INSERT INTO player VALUES (9, 'Nobody', 2)",
    )
    .await;
    assert_eq!(
        found,
        [
            finding(
                "club",
                FindingKind::CrosswalkDangling,
                "club_xref",
                2,
                "a A7 points at 99"
            ),
            finding("club", FindingKind::CrosswalkTwice, "club_xref", 1, "a A1"),
            finding("player", FindingKind::Orphan, "id", 1, "9"),
        ]
    );
}

#[tokio::test]
async fn keys_that_look_alike_are_a_hint_and_no_finding() {
    let report = audited(
        "INSERT INTO club VALUES (4, 'blavik if', 'Blavik IF', 1), (5, 'ashfort', 'Ashfort', 1)",
    )
    .await
    .unwrap();
    assert!(report.is_clean());
    let hint = &report.tables[0].hints[0];
    let pairs: Vec<_> = hint
        .pairs
        .iter()
        .map(|pair| (pair.one.as_str(), pair.other.as_str(), pair.why))
        .collect();
    assert_eq!(
        pairs,
        [
            ("Blavik IF", "Blåvik IF", Why::Accents),
            ("Ashford", "Ashfort", Why::Letter)
        ]
    );
    assert_eq!((hint.count, hint.column.as_str()), (2, "name"));
}

#[tokio::test]
async fn more_rows_than_a_page_are_all_read() {
    let found = findings(
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 50009)
         INSERT INTO club SELECT i, 'club ' || i || ' x', 'Club ' || i || ' X', i FROM n;
         UPDATE club SET name = 'CLUB 10 X' WHERE id = 50009",
    )
    .await;
    assert_eq!(
        found,
        [
            finding(
                "club",
                FindingKind::StaleKey,
                "name",
                1,
                "CLUB 10 X (id 50009) is stored as `club 50009 x`"
            ),
            finding(
                "club",
                FindingKind::EqualUnderFold,
                "name",
                1,
                "Club 10 X (id 10) = CLUB 10 X (id 50009)"
            ),
        ]
    );
}

#[tokio::test]
async fn a_table_that_is_not_there_is_the_callers_mistake() {
    let error = audited("DROP TABLE player_xref").await.unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("merge first"),
        "{error}"
    );
    let plan = mapping::parse(MAP, "map.toml").unwrap();
    let error = audit(&plan, "sqlite:/no/such/folder/a.db")
        .await
        .unwrap_err();
    assert!(error.is_usage() && !error.is_database(), "{error}");
    let error = audit(&plan, "postgres://ann:sesame7@127.0.0.1:9/league")
        .await
        .unwrap_err();
    assert!(
        error.is_database() && !format!("{error} {error:?}").contains("sesame7"),
        "{error}"
    );
}

/// The tables of a clean database, as a server's own SQL has them.
fn in_the_words_of(server: &str) -> String {
    let bytes = if server.starts_with("postgres") {
        "BYTEA"
    } else {
        "BLOB"
    };
    let text = if server.starts_with("postgres") {
        "TEXT COLLATE \"C\""
    } else {
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    };
    let sql = WHOLE
        .replace("BLOB", bytes)
        .replace("TEXT", text)
        .replace("INTEGER", "BIGINT");
    if server.starts_with("postgres") {
        sql.replace("x'", "'\\x")
    } else {
        sql
    }
}

/// Every kind of fault at once, and rows that are read page after page, on a server.
async fn is_the_same_on(server: String) {
    let sql = in_the_words_of(&server);
    let broken = "
        INSERT INTO club VALUES (4, 'ashford', 'Ashford', 1), (5, 'Ashford', ' ASHFORD', NULL), (6, 'blavik if', 'Blavik IF', 1);
        INSERT INTO club_xref VALUES ('a', 'A1', 2), ('a', 'A7', 99);
        INSERT INTO player VALUES (9, 'Nobody', 77)";
    let database = testkit::Database::create(&server).await;
    testkit::execute(database.url(), &sql).await;
    let clean = audit(&mapping::parse(MAP, "map.toml").unwrap(), database.url())
        .await
        .unwrap();
    assert!(clean.is_clean(), "{clean:?}");
    testkit::execute(database.url(), broken).await;
    let report = audit(&mapping::parse(MAP, "map.toml").unwrap(), database.url())
        .await
        .unwrap();
    let found: Vec<_> = report
        .tables
        .iter()
        .flat_map(|table| &table.findings)
        .map(|finding| (finding.kind, finding.count))
        .collect();
    assert_eq!(
        found,
        [
            (FindingKind::DuplicateKey, 1),
            (FindingKind::CrosswalkDangling, 1),
            (FindingKind::CrosswalkTwice, 1),
            (FindingKind::StaleKey, 1),
            (FindingKind::EqualUnderFold, 1),
            (FindingKind::Dangling, 1),
            (FindingKind::Orphan, 1),
        ],
        "{report:?}"
    );
    assert!(
        report.tables[0].hints[0]
            .pairs
            .iter()
            .any(|pair| pair.one == "Blavik IF"),
        "{report:?}"
    );
    testkit::execute(database.url(), "DROP TABLE player_xref").await;
    let error = audit(&mapping::parse(MAP, "map.toml").unwrap(), database.url())
        .await
        .unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("merge first"),
        "{error}"
    );
}

#[tokio::test]
async fn postgres_is_audited_like_sqlite() {
    is_the_same_on(testkit::services::postgres()).await;
}

#[tokio::test]
async fn mariadb_is_audited_like_sqlite() {
    is_the_same_on(testkit::services::mariadb()).await;
}
