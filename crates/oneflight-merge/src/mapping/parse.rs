//! The mapping file as a whole.

use super::error::{MappingErrors, Problems, start};
use super::feeds::{FeedDefaults, feed};
use super::layout::layout;
use super::lookups::lookup;
use super::section::{Section, Text};
use super::tables::{TableDefaults, TableDraft, fold, policy, table};
use super::values::tokens;
use crate::plan::{FeedPlan, LookupPlan, Plan, TablePlan};
use oneflight_sql::{Fold, Policy};
use std::path::Path;
use toml_edit::{Document, Item, TableLike};

/// Reads a mapping. `file_name` is what the file is called in messages; its stem names the source where the mapping does not.
///
/// # Errors
/// Whatever is wrong, each with its line and with what would be right.
///
/// # Examples
/// ```
/// use oneflight_merge::mapping;
///
/// let plan = mapping::parse(
///     r#"
///     [table.team]
///     key = "name"
///     fold = "full"
///
///     [feed.teams]
///     path = "teams.csv"
///     [feed.teams.into.team]
///     name = "Team"
///     "#,
///     "teams.toml",
/// )?;
/// assert_eq!(plan.tables[0].sql.name, "team");
///
/// let errors = mapping::parse("[table.team]\nkey = \"name\"\ncolums = {}", "teams.toml").unwrap_err();
/// assert!(errors.to_string().contains("teams.toml:3:1: `colums` is no key of a table; did you mean `columns`?"));
/// # Ok::<(), mapping::MappingErrors>(())
/// ```
pub fn parse(text: &str, file_name: &str) -> Result<Plan, MappingErrors> {
    let problems = Problems::new(file_name, text);
    let plan = match Document::parse(text) {
        Ok(document) => plan(&problems, document.as_table(), file_name),
        Err(error) => {
            problems.note(
                start(error.span()).unwrap_or(0),
                format!("this is no TOML: {}", error.message().replace('\n', ", ")),
            );
            None
        }
    };
    match plan {
        Some(plan) if problems.is_empty() => Ok(plan),
        _ => Err(problems.into_errors()),
    }
}

fn plan(problems: &Problems<'_>, root: &dyn TableLike, file_name: &str) -> Option<Plan> {
    let root = Section::new(problems, 0, root);
    root.only(
        "section",
        &["source", "defaults", "table", "feed", "lookup"],
    );
    let stem = Path::new(file_name)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("oneflight");
    let source = root.text("source").map_or(stem, |text| text.text);
    let (tables, mut feeds) = defaults(root, source);
    let drafts = read_tables(root, tables);
    let tables = layout(problems, &drafts);
    let lookups = read_lookups(root, &mut feeds);
    let names: Vec<String> = lookups.iter().map(|(name, _)| name.clone()).collect();
    let feeds = read_feeds(root, &feeds, tables.as_deref(), &names);
    let lookups = lookups
        .into_iter()
        .map(|(_, lookup)| lookup)
        .collect::<Option<Vec<LookupPlan>>>()?;
    Some(Plan {
        tables: tables?,
        feeds: feeds?,
        lookups,
    })
}

fn defaults<'t>(root: Section<'t>, source: &'t str) -> (TableDefaults, FeedDefaults<'t>) {
    let mut tables = TableDefaults {
        fold: Fold::EXACT,
        policy: Policy::default(),
    };
    let mut feeds = FeedDefaults {
        source,
        null: [String::new()].into(),
        trim: false,
    };
    let Some(section) = root.section("defaults") else {
        return (tables, feeds);
    };
    section.only("default", &["null", "trim", "fold", "policy"]);
    if let Some(texts) = section.texts("null") {
        feeds.null = tokens(&texts);
    }
    feeds.trim = section.flag("trim").unwrap_or(feeds.trim);
    tables.fold = section
        .text("fold")
        .and_then(|text| fold(section.problems, text))
        .unwrap_or(tables.fold);
    let mut newest: Option<Text<'_>> = None;
    tables.policy = section
        .text("policy")
        .and_then(|text| policy(section.problems, text, &mut newest))
        .unwrap_or(tables.policy);
    if let Some(newest) = newest {
        section.problems.note(
            newest.at,
            "`newest:COLUMN` belongs to a table, because the column does",
        );
    }
    (tables, feeds)
}

fn read_tables(root: Section<'_>, defaults: TableDefaults) -> Vec<TableDraft> {
    let Some(tables) = root.section("table") else {
        if !root.has("table") {
            root.problems.note(
                0,
                "the mapping has no table: expected sections such as [table.country]",
            );
        }
        return Vec::new();
    };
    tables
        .entries()
        .into_iter()
        .filter_map(|entry| table(entry, defaults))
        .collect()
}

fn read_lookups(
    root: Section<'_>,
    defaults: &mut FeedDefaults<'_>,
) -> Vec<(String, Option<LookupPlan>)> {
    let Some(lookups) = root.section("lookup") else {
        return Vec::new();
    };
    lookups
        .entries()
        .into_iter()
        .map(|entry| (entry.key.to_owned(), lookup(entry, &defaults.null)))
        .collect()
}

fn read_feeds<'t>(
    root: Section<'t>,
    defaults: &FeedDefaults<'t>,
    tables: Option<&'t [TablePlan]>,
    lookups: &'t [String],
) -> Option<Vec<FeedPlan>> {
    let sections = sections(root);
    if sections.is_empty() {
        root.problems.note(
            0,
            "the mapping has no feed: expected sections such as [feed.countries]",
        );
    }
    let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
    for (at, (name, section)) in sections.iter().enumerate() {
        if names[..at].contains(&name.as_str()) {
            section
                .problems
                .note(section.at, format!("two feeds are called `{name}`"));
        }
    }
    let feeds: Vec<Option<FeedPlan>> = sections
        .iter()
        .map(|(name, section)| feed(*section, name, defaults, tables, lookups))
        .collect();
    feeds.into_iter().collect()
}

/// The sections of the feeds with their names, from `[feed.NAME]` or from `[[feed]]`.
fn sections(root: Section<'_>) -> Vec<(String, Section<'_>)> {
    let Some(entry) = root.get("feed") else {
        return Vec::new();
    };
    if let Item::ArrayOfTables(array) = entry.item {
        let named = array.iter().map(|table| {
            let section = Section::new(
                root.problems,
                start(table.span()).unwrap_or(entry.at),
                table,
            );
            let name = section
                .text("name")
                .or_else(|| section.text("path"))
                .map_or("feed", |text| text.text);
            (name.to_owned(), section)
        });
        return named.collect();
    }
    let Some(feeds) = entry.section("sections such as [feed.NAME] or [[feed]]") else {
        return Vec::new();
    };
    let feeds = feeds.entries().into_iter();
    feeds
        .filter_map(|entry| {
            Some((
                entry.key.to_owned(),
                entry.section("a section such as [feed.NAME]")?,
            ))
        })
        .collect()
}
