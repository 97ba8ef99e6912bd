//! The list of what must hold names tests that exist, and leaves nothing without one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{Problem, assert_none, files, root};

const LIST: &str = "docs/design/043-security-test-list.md";

/// The tables by the heading above them: how the tests are numbered, and how many items there are.
const TABLES: [(&str, &[&str], u32); 2] =
    [("## Capsules and sign-in", &["item_", "spec_26_"], 25), ("## MCP", &["security_"], 19)];

/// One row: the item, and the tests that show it.
struct Row<'t> {
    item: u32,
    text: &'t str,
    tests: Vec<&'t str>,
}

#[test]
fn every_item_has_tests_and_every_test_that_is_named_exists() {
    let list = fs::read_to_string(root().join(LIST)).unwrap();
    let known = known_tests();
    let mut problems: Vec<Problem> = Vec::new();
    for (heading, prefixes, count) in TABLES {
        let mut shown: BTreeMap<u32, usize> = (1..=count).map(|item| (item, 0)).collect();
        let mut places: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for Row { item, text, tests } in rows(&list, heading) {
            let Some(so_far) = shown.get_mut(&item) else {
                problems.push(format!("{heading}: there is no item {item}"));
                continue;
            };
            *so_far += tests.len();
            if tests.is_empty() && !text.contains("Does not apply:") {
                problems.push(format!("{heading}: a part of item {item} has no test: {text}"));
            }
            for test in tests {
                if !known.contains(test) {
                    problems.push(format!("{heading}, item {item}: there is no test `{test}`"));
                }
                places.entry(test).or_default().insert(item);
            }
        }
        let misplaced = places.iter().filter(|(test, items)| !is_about(test, prefixes, items));
        problems.extend(misplaced.map(|(test, items)| {
            format!("{heading}: `{test}` is named for another item than {items:?}")
        }));
        let bare = shown.iter().filter(|(_, tests)| **tests == 0);
        problems.extend(bare.map(|(item, _)| format!("{heading}: item {item} has no test")));
    }
    assert_none(&problems);
}

/// The rows of the table below a heading.
fn rows<'t>(list: &'t str, heading: &str) -> Vec<Row<'t>> {
    let below = list.split(heading).nth(1).unwrap_or_default();
    let table = below.split("\n## ").next().unwrap_or_default();
    table.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let (first, last) = (cells.first()?.trim(), cells.last()?);
    let number = first.split('.').next()?.parse().ok()?;
    Some(Row { item: number, text: line, tests: last.split('`').skip(1).step_by(2).collect() })
}

/// A test that has the numbers of items in its name is named at least at one of them.
fn is_about(test: &str, prefixes: &[&str], items: &BTreeSet<u32>) -> bool {
    let numbers: Vec<u32> = prefixes
        .iter()
        .flat_map(|prefix| test.split(prefix).skip(1))
        .filter_map(|rest| rest.split('_').next()?.parse().ok())
        .collect();
    // `spec_26_5_and_6_…` has two.
    let further: Option<u32> =
        test.split("_and_").nth(1).and_then(|rest| rest.split('_').next()?.parse().ok());
    let mut named = numbers.iter().chain(&further);
    numbers.is_empty() || named.any(|number| items.contains(number))
}

/// The functions of the Rust sources and of the programs in Python.
fn known_tests() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for path in files(&root(), &[".rs", ".py"]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for word in ["fn ", "def "] {
            let names = text.split(word).skip(1).filter_map(|rest| rest.split('(').next());
            let is_name =
                |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            known.extend(names.filter(is_name).map(str::to_owned));
        }
    }
    known
}
