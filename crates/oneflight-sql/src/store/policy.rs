//! What becomes of a row when a record meets it.
//!
//! Y1. Applying a record twice is applying it once.
//! Y2. Null says nothing: it never replaces a value.

use crate::record::{Applied, Effect};
use crate::schema::{Policy, Table};
use crate::value::Value;
use std::cmp::Ordering;

/// Applies what a record says to the values of a row that exists. On `Err` the row is as it was; the attribute is named.
pub(super) fn apply(
    table: &Table,
    row: &mut [Value],
    said: &[Option<Value>],
) -> Result<Applied, usize> {
    let is_stub = is_stub(table, row);
    let is_newer = is_newer(table, row, said);
    let mut conflicts = 0;
    let mut sets = Vec::new();
    for (at, (attribute, said)) in table.attributes.iter().zip(said).enumerate() {
        let Some(new) = said.as_ref().filter(|new| !new.is_null()) else {
            continue;
        };
        if attribute.policy == Policy::Once || *new == row[at] {
            continue;
        }
        let dates = table
            .newest_by
            .as_ref()
            .is_some_and(|by| *by == attribute.column.name);
        let policy = if dates {
            Policy::Newest
        } else {
            attribute.policy
        };
        let takes = match policy {
            _ if is_stub => true,
            Policy::Keep => false,
            Policy::Take => true,
            _ if row[at].is_null() => true,
            Policy::Newest => is_newer,
            Policy::Error => return Err(at),
            Policy::Fill | Policy::Once => false,
        };
        match takes {
            true => sets.push(at),
            false => conflicts += 1,
        }
    }
    for &at in &sets {
        if let Some(Some(new)) = said.get(at) {
            row[at] = new.clone();
        }
    }
    let effect = match (sets.is_empty(), is_stub) {
        (true, _) => Effect::Found,
        (false, true) => Effect::Completed,
        (false, false) => Effect::Updated,
    };
    Ok(Applied { effect, conflicts })
}

/// The values of a row that a record makes.
pub(super) fn fresh(table: &Table, said: &[Option<Value>]) -> Vec<Value> {
    table
        .attributes
        .iter()
        .enumerate()
        .map(|(at, _)| said.get(at).cloned().flatten().unwrap_or(Value::Null))
        .collect()
}

fn is_stub(table: &Table, row: &[Value]) -> bool {
    let mut counted = table
        .attributes
        .iter()
        .zip(row)
        .filter(|(attribute, _)| attribute.policy != Policy::Once)
        .peekable();
    counted.peek().is_some() && counted.all(|(_, value)| value.is_null())
}

fn is_newer(table: &Table, row: &[Value], said: &[Option<Value>]) -> bool {
    let Some(by) = &table.newest_by else {
        return false;
    };
    let Some(at) = table
        .attributes
        .iter()
        .position(|attribute| attribute.column.name == *by)
    else {
        return false;
    };
    match (said.get(at).and_then(Option::as_ref), &row[at]) {
        (None | Some(Value::Null), _) => false,
        (Some(_), Value::Null) => true,
        (Some(Value::Real(new)), Value::Real(old)) => new > old,
        (Some(Value::Decimal(new)), Value::Decimal(old)) => {
            compare_decimals(new, old) == Ordering::Greater
        }
        (Some(new), old) => new > old,
    }
}

/// Compares canonical decimals by their value.
fn compare_decimals(a: &str, b: &str) -> Ordering {
    let magnitude = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        (whole.len(), whole.to_owned(), fraction.to_owned())
    };
    match (a.strip_prefix('-'), b.strip_prefix('-')) {
        (None, None) => magnitude(a).cmp(&magnitude(b)),
        (Some(a), Some(b)) => magnitude(b).cmp(&magnitude(a)),
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Attribute, Column};
    use crate::value::Kind;

    fn table(policies: &[Policy]) -> Table {
        let attribute = |(at, policy): (usize, &Policy)| Attribute {
            column: Column {
                name: format!("a{at}"),
                kind: Kind::Int,
                max_chars: None,
                references: None,
            },
            required: false,
            policy: *policy,
        };
        let attributes = policies.iter().enumerate().map(attribute).collect();
        let newest_by = policies.contains(&Policy::Newest).then(|| "a0".to_owned());
        Table {
            name: "t".into(),
            id: None,
            key: Vec::new(),
            attributes,
            newest_by,
            crosswalk: None,
        }
    }

    fn applied(
        policies: &[Policy],
        row: &[i64],
        said: &[i64],
    ) -> (Vec<i64>, Result<(Effect, u32), usize>) {
        // Zero stands for null, and for not said.
        let value = |int: &i64| {
            if *int == 0 {
                Value::Null
            } else {
                Value::Int(*int)
            }
        };
        let mut row: Vec<Value> = row.iter().map(value).collect();
        let said: Vec<Option<Value>> = said.iter().map(|int| Some(value(int))).collect();
        let applied = apply(&table(policies), &mut row, &said)
            .map(|applied| (applied.effect, applied.conflicts));
        let row = row
            .iter()
            .map(|value| if let Value::Int(int) = value { *int } else { 0 })
            .collect();
        (row, applied)
    }

    #[test]
    fn each_policy_does_what_it_says() {
        use Effect::{Found, Updated};
        use Policy::{Error, Fill, Keep, Newest, Once, Take};
        for (policies, row, said, then) in [
            (
                &[Fill, Fill][..],
                &[1, 0][..],
                &[2, 3][..],
                (vec![1, 3], Ok((Updated, 1))),
            ),
            (
                &[Keep, Keep],
                &[1, 0],
                &[2, 3],
                (vec![1, 0], Ok((Found, 2))),
            ),
            (
                &[Take, Take],
                &[1, 4],
                &[2, 0],
                (vec![2, 4], Ok((Updated, 0))),
            ),
            (
                &[Newest, Newest],
                &[1, 4],
                &[2, 5],
                (vec![2, 5], Ok((Updated, 0))),
            ),
            (
                &[Newest, Newest],
                &[3, 4],
                &[2, 5],
                (vec![3, 4], Ok((Found, 2))),
            ),
            (
                &[Newest, Newest],
                &[3, 0],
                &[2, 5],
                (vec![3, 5], Ok((Updated, 1))),
            ),
            (
                &[Once, Fill],
                &[1, 4],
                &[2, 4],
                (vec![1, 4], Ok((Found, 0))),
            ),
            (&[Take, Error], &[1, 4], &[2, 5], (vec![1, 4], Err(1))),
            (
                &[Take, Error],
                &[1, 4],
                &[2, 4],
                (vec![2, 4], Ok((Updated, 0))),
            ),
            (&[Fill], &[7], &[7], (vec![7], Ok((Found, 0)))),
        ] {
            assert_eq!(
                applied(policies, row, said),
                then,
                "{policies:?} {row:?} {said:?}"
            );
        }
    }

    #[test]
    fn a_stub_is_completed_whatever_the_policies() {
        for policy in [Policy::Fill, Policy::Keep, Policy::Take, Policy::Error] {
            assert_eq!(
                applied(&[policy, policy], &[0, 0], &[2, 3]),
                (vec![2, 3], Ok((Effect::Completed, 0)))
            );
        }
        // A spelling is no attribute: the row is a stub all the same.
        assert_eq!(
            applied(&[Policy::Once, Policy::Keep], &[9, 0], &[8, 3]),
            (vec![9, 3], Ok((Effect::Completed, 0)))
        );
        assert_eq!(
            applied(&[Policy::Once], &[9], &[8]),
            (vec![9], Ok((Effect::Found, 0)))
        );
    }

    #[test]
    fn decimals_compare_by_value() {
        for (less, more) in [
            ("2", "10"),
            ("-10", "-2"),
            ("-1", "0"),
            ("0.5", "0.51"),
            ("9.9", "10"),
        ] {
            assert_eq!(
                compare_decimals(less, more),
                Ordering::Less,
                "{less} {more}"
            );
            assert_eq!(
                compare_decimals(more, less),
                Ordering::Greater,
                "{more} {less}"
            );
        }
    }
}
