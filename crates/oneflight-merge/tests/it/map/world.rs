//! A database of sorts: it keeps which identities there are, as the real ones would, and nothing else.

use oneflight_merge::batch::{Cell, Mapped, Rec, Reject};
use oneflight_merge::map::{Lookups, Mapper};
use oneflight_merge::mapping;
use oneflight_merge::plan::{ColumnKind, Plan};
use oneflight_merge::read::{self, Limits};
use std::collections::HashMap;
use std::path::Path;

/// What has been merged so far.
#[derive(Debug, Default)]
pub(crate) struct World {
    keys: Vec<HashMap<String, usize>>,
    externals: Vec<HashMap<String, usize>>,
    declared: Vec<HashMap<usize, ()>>,
    counts: Vec<usize>,
    names: Vec<String>,
    pub(crate) read: usize,
    pub(crate) mapped: usize,
    pub(crate) rejects: Vec<Reject>,
}

impl World {
    /// Merges all feeds of a plan, in this order or in their own, in small chunks.
    pub(crate) fn merge(&mut self, plan: &Plan, data: &Path, order: Option<&[&str]>) {
        self.names = plan
            .tables
            .iter()
            .map(|table| table.sql.name.clone())
            .collect();
        self.keys.resize_with(plan.tables.len(), HashMap::new);
        self.externals.resize_with(plan.tables.len(), HashMap::new);
        self.declared.resize_with(plan.tables.len(), HashMap::new);
        self.counts.resize(plan.tables.len(), 0);
        let lookups = Lookups::read(plan, data).expect("the lookups can be read");
        let mut feeds: Vec<usize> = (0..plan.feeds.len()).collect();
        if let Some(first) = order {
            feeds.sort_by_key(|feed| {
                first
                    .iter()
                    .position(|name| *name == plan.feeds[*feed].name)
                    .unwrap_or(usize::MAX)
            });
        }
        for feed in feeds {
            let mapper = Mapper::new(plan, feed, &lookups);
            for input in read::open(&plan.feeds[feed].source, data).expect("the feed can be opened")
            {
                for chunk in input.chunks(Limits {
                    rows: 997,
                    bytes: 1 << 20,
                }) {
                    let chunk = chunk.expect("the feed can be read");
                    let rows = match &chunk.rows {
                        oneflight_merge::rows::Rows::Flat(flat) => flat.len(),
                        oneflight_merge::rows::Rows::Tree(trees) => trees.len(),
                    };
                    self.read += rows + chunk.bad.len();
                    self.add(plan, mapper.map(&chunk));
                }
            }
        }
        assert_eq!(
            self.read,
            self.mapped + self.rejects.len(),
            "B3: a row is mapped or rejected"
        );
    }

    /// How many rows a table has.
    pub(crate) fn count(&self, table: &str) -> usize {
        self.counts[self.table(table)]
    }

    /// How many of them a feed declared.
    pub(crate) fn declared(&self, table: &str) -> usize {
        self.declared[self.table(table)].len()
    }

    /// How many external ids it has.
    pub(crate) fn externals(&self, table: &str) -> usize {
        self.externals[self.table(table)].len()
    }

    fn table(&self, name: &str) -> usize {
        self.names
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| panic!("no table {name}"))
    }

    fn add(&mut self, plan: &Plan, mapped: Mapped) {
        self.mapped += mapped.rows.len();
        self.rejects.extend(mapped.rejects);
        let mut ids: Vec<Vec<usize>> = vec![Vec::new(); plan.tables.len()];
        for (table, recs) in mapped.tables.iter().enumerate() {
            for rec in recs.iter() {
                let id = self.resolve(plan, table, rec, &ids);
                ids[table].push(id);
                if rec.is_declared() {
                    self.declared[table].insert(id, ());
                }
            }
        }
        for (table, recs) in mapped.tables.iter().enumerate() {
            for (column, cell) in recs
                .iter()
                .flat_map(|rec| plan.tables[table].columns.iter().zip(rec.cells()))
            {
                if let (ColumnKind::Ref(to), Cell::Ref(at)) = (column.kind, cell) {
                    assert!(
                        (at as usize) < mapped.tables[to].len(),
                        "B2: a reference dangles"
                    );
                }
            }
        }
    }

    fn resolve(&mut self, plan: &Plan, table: usize, rec: Rec<'_>, ids: &[Vec<usize>]) -> usize {
        let key = plan.tables[table]
            .columns
            .iter()
            .zip(rec.cells())
            .filter(|(column, _)| column.key);
        let parts: Vec<Option<String>> = key
            .map(|(column, cell)| match (column.kind, cell) {
                (_, Cell::Unset | Cell::Null) => None,
                (_, Cell::Folded { key, .. }) => Some(key.to_string()),
                (ColumnKind::Ref(to), Cell::Ref(at)) => Some(ids[to][at as usize].to_string()),
                (_, Cell::Ref(_)) => panic!("a reference in a column that is none"),
                (_, cell) => cell.value().map(|value| format!("{value:?}")),
            })
            .collect();
        let key = format!("{parts:?}");
        let external = rec.external().map(|external| format!("{external:?}"));
        let known = external
            .as_ref()
            .and_then(|external| self.externals[table].get(external))
            .or_else(|| self.keys[table].get(&key));
        let id = known.copied().unwrap_or(self.counts[table]);
        if id == self.counts[table] {
            self.counts[table] += 1;
            self.keys[table].insert(key, id);
        }
        if let Some(external) = external {
            self.externals[table].entry(external).or_insert(id);
        }
        id
    }
}

/// Reads a mapping that is right.
pub(crate) fn plan(text: &str) -> Plan {
    mapping::parse(text, "map.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

/// Maps the first chunk of the first feed of a mapping; `files` are its data.
pub(crate) fn mapped(map: &str, files: &[(&str, &str)]) -> (Plan, Mapped) {
    let data = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = data.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file stands in a folder"))
            .expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let plan = plan(map);
    let lookups = Lookups::read(&plan, data.path()).expect("the lookups can be read");
    let input = read::open(&plan.feeds[0].source, data.path())
        .expect("the feed can be opened")
        .remove(0);
    let chunk = input
        .chunks(Limits::default())
        .next()
        .expect("there are rows")
        .expect("they can be read");
    let mapped = Mapper::new(&plan, 0, &lookups).map(&chunk);
    (plan, mapped)
}

/// The records of a table, each as `column=value` for what it says; references as the position of what they refer to.
pub(crate) fn shown(plan: &Plan, mapped: &Mapped, table: &str) -> Vec<String> {
    let at = plan
        .tables
        .iter()
        .position(|plan| plan.sql.name == table)
        .unwrap_or_else(|| panic!("no table {table}"));
    let cell = |cell: Cell<'_>| match cell {
        Cell::Unset => None,
        Cell::Null => Some("null".to_owned()),
        Cell::Folded { key, shown } => Some(format!("{key}/{shown}")),
        Cell::Ref(rec) => Some(format!("#{rec}")),
        cell => cell.value().map(|value| {
            let shown = format!("{value:?}");
            match shown.split_once('(') {
                Some((_, inner)) => inner.trim_end_matches(')').trim_matches('"').to_owned(),
                None => shown,
            }
        }),
    };
    let rec = |rec: Rec<'_>| {
        let cells = plan.tables[at].columns.iter().zip(rec.cells());
        let cells =
            cells.filter_map(|(column, value)| Some(format!("{}={}", column.name, cell(value)?)));
        let external = rec
            .external()
            .into_iter()
            .map(|external| format!("{}:{}", external.source, external.id));
        cells.chain(external).collect::<Vec<_>>().join(" ")
    };
    mapped.tables[at].iter().map(rec).collect()
}

/// The rejects, each as `line column "value": reason`.
pub(crate) fn rejects(mapped: &Mapped) -> Vec<String> {
    let reject = |reject: &Reject| {
        let (column, value) = (
            reject.column.as_deref().unwrap_or("-"),
            reject.value.as_deref().unwrap_or("null"),
        );
        format!("{} {column} {value:?}: {}", reject.line, reject.reason)
    };
    mapped.rejects.iter().map(reject).collect()
}
