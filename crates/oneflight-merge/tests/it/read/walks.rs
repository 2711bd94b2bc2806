//! Walks: random documents, walked in a stream and evaluated in memory, must agree on rows and on what encloses them.

use super::{json_at, source, try_read};
use serde_json::{Map, Value};

/// A small generator, so that a failure can be replayed by its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn value(&mut self, depth: u32) -> Value {
        const TEXTS: [&str; 6] = ["", "é", "\"]}", "\\", "a\nb", "日"];
        match self.roll(if depth == 0 { 4 } else { 8 }) {
            0 => Value::Null,
            1 => Value::Bool(true),
            2 => Value::from(self.roll(1_000)),
            3 => Value::from(TEXTS[self.roll(6) as usize]),
            4 | 5 => (0..self.roll(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object(self.members(depth)),
        }
    }

    fn members(&mut self, depth: u32) -> Map<String, Value> {
        const KEYS: [&str; 5] = ["m", "n", "k", "é", "\"x"];
        (0..self.roll(5))
            .map(|_| {
                (
                    KEYS[self.roll(5) as usize].to_owned(),
                    self.value(depth - 1),
                )
            })
            .collect()
    }
}

/// Rows and scopes (innermost first), or none where the walk must be refused.
fn evaluate(
    value: &Value,
    path: &[&str],
    around: &[Value],
    out: &mut Vec<(Value, Vec<Value>)>,
) -> Option<()> {
    let Some((step, rest)) = path.split_first() else {
        out.push((value.clone(), around.to_vec()));
        return Some(());
    };
    match (value, *step) {
        (Value::Null, _) => Some(()),
        (Value::Array(items), "*") => items
            .iter()
            .try_for_each(|item| evaluate(item, rest, around, out)),
        (other, "*") => evaluate(other, rest, around, out),
        (Value::Object(members), name) => {
            let Some(inner) = members.get(name) else {
                return Some(());
            };
            let mut others = members.clone();
            others.remove(name);
            evaluate(
                inner,
                rest,
                &[&[Value::Object(others)], around].concat(),
                out,
            )
        }
        _ => None,
    }
}

#[test]
fn a_walk_sees_what_an_evaluation_in_memory_sees() {
    let paths: [&[&str]; 6] = [
        &["*"],
        &["m"],
        &["m", "*"],
        &["*", "m", "*"],
        &["m", "*", "n", "*"],
        &["m", "n", "*", "k"],
    ];
    let (mut agreed, mut rows) = (0, 0);
    for seed in 1..=2_000_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let document = match dice.roll(3) {
            0 => Value::Array(
                (0..dice.roll(5))
                    .map(|_| Value::Object(dice.members(4)))
                    .collect(),
            ),
            _ => Value::Object(dice.members(5)),
        };
        let text = if dice.roll(2) == 0 {
            document.to_string()
        } else {
            format!("{document:#}")
        };
        for path in paths {
            let mut expected = Vec::new();
            let fine = evaluate(&document, path, &[], &mut expected).is_some();
            match try_read(text.as_bytes(), source("", json_at(path))) {
                Ok(seen) => {
                    let got: Vec<(Value, Vec<Value>)> =
                        seen.values().into_iter().zip(seen.scopes).collect();
                    assert!(
                        fine,
                        "seed {seed}, {path:?}: a refusal was expected for {text}"
                    );
                    assert_eq!(got, expected, "seed {seed}, {path:?}: {text}");
                    agreed += 1;
                    rows += got.len();
                }
                // A path that no object has is refused although an evaluation finds nothing wrong.
                Err(error) => assert!(
                    !fine || (error.is_header() && expected.is_empty()),
                    "seed {seed}, {path:?}: {error}: {text}"
                ),
            }
        }
    }
    assert!(
        agreed > 3_000 && rows > 2_000,
        "only {agreed} documents with {rows} rows agreed"
    );
}
