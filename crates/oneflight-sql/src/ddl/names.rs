//! Names that we make up: of indexes, constraints, locks.

use crate::dialect::{Dialect, split};
use std::sync::Arc;

/// The longest name that all three databases take.
const LONGEST: usize = 63;

/// FNV-1a: the same number in every version of this crate, on every machine.
pub(crate) fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The name of an index or a constraint: `table_column_column_suffix`, shortened to what fits, and then unique by a hash.
pub(crate) fn index_name(dialect: Dialect, table: &str, columns: &[&str], suffix: &str) -> String {
    let table = match dialect {
        // In SQLite and PostgreSQL the schema holds the index, in MySQL the table does.
        Dialect::Sqlite | Dialect::Postgres | Dialect::MySql => split(table).1,
    };
    let name = format!("{table}_{}_{suffix}", columns.join("_"));
    if name.len() <= LONGEST {
        return name;
    }
    let hash = format!("_{:016x}", fnv(name.bytes()));
    let mut end = LONGEST - hash.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{hash}", &name[..end])
}

/// MySQL: the lock of a database (at most 64 characters, the same for the whole server).
pub(crate) fn lock_name(schema: &str) -> Arc<str> {
    format!(
        "oneflight:{:016x}",
        fnv(schema.bytes().map(|byte| byte.to_ascii_lowercase()))
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters_and_stays_unique() {
        let (a, b) = ("ä".repeat(40), format!("{}b", "ä".repeat(40)));
        let (a, b) = (
            index_name(Dialect::Postgres, &a, &["k"], "key"),
            index_name(Dialect::Postgres, &b, &["k"], "key"),
        );
        assert!(a.len() <= 63 && b.len() <= 63 && a != b);
        assert_eq!(
            index_name(Dialect::Sqlite, "main.team", &["slug"], "key"),
            "team_slug_key"
        );
    }
}
