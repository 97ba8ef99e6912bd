//! Names of types: each means one thing, ends with a noun, and most say what it is without their module.

use std::collections::BTreeMap;

use super::{Problem, assert_none, product_sources, shown};

/// One word is enough for an idea that everything is about, and for little else.
const MAX_ONE_WORD_PERCENT: usize = 20;

/// Participles that do not end with `ed`.
const PARTICIPLES: [&str; 22] = [
    "Begun",
    "Broken",
    "Chosen",
    "Done",
    "Drawn",
    "Forbidden",
    "Found",
    "Given",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Left",
    "Lost",
    "Made",
    "Seen",
    "Sent",
    "Shown",
    "Taken",
    "Told",
    "Written",
];

/// Names that end like participles, each with what it is.
const NOT_A_PARTICIPLE: [(&str, &str); 2] =
    [("ActivityFeed", "a feed"), ("Forbidden", "the name of the HTTP status 403")];

#[test]
fn a_type_name_ends_with_a_noun() {
    let names = type_names();
    let is_excused = |name: &str| NOT_A_PARTICIPLE.iter().any(|(excused, _)| *excused == name);
    let mut problems: Vec<Problem> = names
        .iter()
        .filter(|(name, _)| ends_with_participle(name) && !is_excused(name))
        .map(|(name, places)| {
            format!("`{name}` in {} is a participle: name the thing", places.join(", "))
        })
        .collect();
    let needless = NOT_A_PARTICIPLE.iter().filter(|(excused, _)| !names.contains_key(*excused));
    problems
        .extend(needless.map(|(excused, _)| format!("there is no `{excused}`: remove its row")));
    assert_none(&problems);
}

/// Whether the last word of a name says what was done to a thing, and not what the thing is.
fn ends_with_participle(name: &str) -> bool {
    let start = name.rfind(char::is_uppercase).unwrap_or(0);
    let last = name.get(start..).unwrap_or(name);
    last.ends_with("ed") || PARTICIPLES.contains(&last)
}

#[test]
fn participles_are_recognized() {
    assert!(ends_with_participle("Shared") && ends_with_participle("CallRefused"));
    assert!(ends_with_participle("Told") && ends_with_participle("EntryKept"));
    assert!(!ends_with_participle("SharedState") && !ends_with_participle("Record"));
}

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
