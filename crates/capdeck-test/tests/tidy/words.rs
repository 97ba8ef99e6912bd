//! Plain words: a short glossary that explains each word once, and guides without words of a private dialect.

use std::{collections::HashSet, fs};

use super::{Problem, assert_none, product_sources, root, shown};

const MAX_GLOSSARY_WORDS: usize = 40;

/// Words that say less than the ones that engineers use every day: reported, sent, a client, again.
const DIALECT: [&str; 5] = ["told", "nobody", "somebody", "whoever", "anew"];

#[test]
fn a_word_is_explained_once() {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let mut seen = HashSet::new();
    let problems: Vec<Problem> = words(&glossary)
        .filter(|word| !seen.insert(*word))
        .map(|word| format!("docs/glossary.md explains `{word}` twice: make it one row"))
        .collect();
    assert_none(&problems);
    assert!(!seen.is_empty(), "the glossary has no rows");
    assert!(
        seen.len() <= MAX_GLOSSARY_WORDS,
        "docs/glossary.md explains {} words, {MAX_GLOSSARY_WORDS} at most: use words that engineers know",
        seen.len()
    );
}

#[test]
fn guides_use_plain_words() {
    let guides = fs::read_dir(root().join("docs/guide")).unwrap();
    let pages = guides.map(|guide| guide.unwrap().path()).chain(
        ["CONTRIBUTING.md", "SECURITY.md", "docs/glossary.md"].map(|page| root().join(page)),
    );
    let mut problems: Vec<Problem> = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in prose_lines(&text) {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric());
            if let Some(word) = words.find(|word| DIALECT.contains(&word.to_lowercase().as_str())) {
                problems.push(format!("{}:{number}: `{word}` is not a plain word", page.display()));
            }
        }
    }
    assert_none(&problems);
}

/// Files whose words are those of others: what people write in questions and searches.
const VOCABULARIES: [&str; 2] = [
    "crates/capdeck-catalog/src/search/words.rs",
    "crates/capdeck-definition/src/cmp/matcher/lexicon.rs",
];

#[test]
fn messages_use_plain_words() {
    let mut problems: Vec<Problem> = Vec::new();
    for (path, text) in product_sources() {
        if VOCABULARIES.contains(&shown(&path).as_str()) {
            continue;
        }
        for (line, number) in text.lines().zip(1..) {
            let texts = string_literals(line);
            let mut words = texts.split(|letter: char| !letter.is_alphanumeric());
            if let Some(word) = words.find(|word| DIALECT.contains(&word.to_lowercase().as_str())) {
                problems.push(format!("{}:{number}: `{word}` is not a plain word", shown(&path)));
            }
        }
    }
    assert_none(&problems);
}

/// The texts in quotes on a line of code, without what is put in by name.
fn string_literals(line: &str) -> String {
    if line.trim_start().starts_with("//") {
        return String::new();
    }
    let line = line.replace("\\\"", "").replace("'\"'", "");
    let mut texts = String::new();
    for text in line.split('"').skip(1).step_by(2) {
        let mut is_name = false;
        texts.extend(text.chars().filter(|letter| {
            is_name = (is_name || *letter == '{') && *letter != '}';
            !is_name
        }));
        texts.push(' ');
    }
    texts
}

#[test]
fn names_put_into_a_message_are_no_words_of_it() {
    assert_eq!(string_literals(r#"let told = format!("a {answers} b", "c");"#), "a } b c ");
    assert_eq!(string_literals("// \"told\""), "");
}

/// The lines outside of fenced blocks, with their numbers. Blocks show files and output.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        (!in_block && !is_fence).then_some((number, line))
    })
}

/// The first cells of its tables, but for their headings.
fn words(glossary: &str) -> impl Iterator<Item = &str> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next()).filter(|word| *word != "word")
}
