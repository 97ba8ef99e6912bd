//! Names of types: each means one thing, and most say what it is without their module.

use std::collections::BTreeMap;

use super::{Problem, assert_none, product_sources, shown};

/// One word is enough for an idea that everything is about, and for little else.
const MAX_ONE_WORD_PERCENT: usize = 20;

#[test]
fn a_type_name_is_defined_once() {
    let problems: Vec<Problem> = type_names()
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| {
            format!("`{name}` is defined in {}: share the type or rename one", places.join(", "))
        })
        .collect();
    assert_none(&problems);
}

#[test]
fn most_type_names_have_two_words() {
    let names = type_names();
    let is_one_word = |name: &str| name.chars().filter(|letter| letter.is_uppercase()).count() == 1;
    let short: Vec<&str> =
        names.keys().map(String::as_str).filter(|name| is_one_word(name)).collect();
    let percent = short.len() * 100 / names.len();
    assert!(
        percent <= MAX_ONE_WORD_PERCENT,
        "{percent} % of the type names are one word, {MAX_ONE_WORD_PERCENT} % at most: {short:?}"
    );
}

/// Every struct, enum, trait, union and alias of the product, with the files that define it.
fn type_names() -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in product_sources() {
        for line in text.lines() {
            if let Some(name) = defined_type(line) {
                names.entry(name.to_owned()).or_default().push(shown(&path));
            }
        }
    }
    names
}

/// The type that a line defines. Associated types are indented aliases and belong to their trait.
fn defined_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let (kind, rest) = code.split_once(' ')?;
    let is_kind = match kind {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
    let name = rest.get(..end)?;
    (is_kind && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn definitions_are_recognized() {
    assert_eq!(defined_type("pub(crate) struct CallOptions {"), Some("CallOptions"));
    assert_eq!(defined_type("pub enum Role {"), Some("Role"));
    assert_eq!(defined_type("    type Error = StoreError;"), None);
    assert_eq!(defined_type("    struct Inner<'a>(&'a str);"), Some("Inner"));
    assert_eq!(defined_type("let struct_name = 1;"), None);
}
