//! The order of the tables (P1): every table after those that it refers to; where that cannot be, a reference outside the key
//! is deferred.

/// A reference between two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// True if it is part of the key.
    pub(crate) key: bool,
}

/// The tables in order, or a cycle of references in keys.
///
/// A reference outside the key is deferred if the table that it refers to does not stand before its own.
pub(crate) fn order(tables: usize, edges: &[Edge]) -> Result<Vec<usize>, Vec<usize>> {
    let mut order: Vec<usize> = Vec::with_capacity(tables);
    while order.len() < tables {
        let waits = |table: usize, keys_only: bool| {
            edges.iter().any(|edge| {
                edge.from == table && (edge.key || !keys_only) && !order.contains(&edge.to)
            })
        };
        let left = || (0..tables).filter(|table| !order.contains(table));
        let next = left()
            .find(|table| !waits(*table, false))
            .or_else(|| left().find(|table| !waits(*table, true)));
        match next {
            Some(table) => order.push(table),
            None => return Err(cycle(edges, &order, left().next().unwrap_or_default())),
        }
    }
    Ok(order)
}

/// Walks along references in keys until a table comes again.
fn cycle(edges: &[Edge], placed: &[usize], from: usize) -> Vec<usize> {
    let mut walk = vec![from];
    loop {
        let last = walk[walk.len() - 1];
        let next = edges
            .iter()
            .find(|edge| edge.key && edge.from == last && !placed.contains(&edge.to))
            .map(|edge| edge.to);
        // Each table that is left waits for one that is left, so there always is a next one.
        let Some(next) = next else { return walk };
        if let Some(at) = walk.iter().position(|table| *table == next) {
            let mut cycle = walk.split_off(at);
            cycle.push(next);
            return cycle;
        }
        walk.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, key: bool) -> Edge {
        Edge { from, to, key }
    }

    #[test]
    fn a_table_comes_after_those_that_it_refers_to() {
        assert_eq!(
            order(3, &[edge(0, 1, true), edge(1, 2, false)]),
            Ok(vec![2, 1, 0])
        );
    }

    #[test]
    fn a_reference_outside_the_key_gives_way() {
        assert_eq!(
            order(2, &[edge(0, 1, false), edge(1, 0, true)]),
            Ok(vec![0, 1])
        );
        assert_eq!(order(1, &[edge(0, 0, false)]), Ok(vec![0]));
    }

    #[test]
    fn a_cycle_in_keys_is_shown() {
        assert_eq!(
            order(4, &[edge(0, 1, true), edge(1, 2, true), edge(2, 1, true)]),
            Err(vec![1, 2, 1])
        );
        assert_eq!(order(1, &[edge(0, 0, true)]), Err(vec![0, 0]));
    }
}
