//! The guide to mappings is right: each of its mappings can be read.

use super::world::plan;
use std::path::Path;

#[test]
fn every_mapping_in_the_guide_is_right() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mapping.md");
    let guide = std::fs::read_to_string(&guide)
        .unwrap_or_else(|error| panic!("{}: {error}", guide.display()));
    let mappings: Vec<&str> = guide
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(mappings.len(), 6, "the guide has that many mappings");
    for mapping in mappings {
        plan(mapping);
    }
}
