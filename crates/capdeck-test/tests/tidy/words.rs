//! Plain words: a short glossary that explains each word once, and texts without words of a private dialect.

use std::{collections::HashSet, fs, path::Path};

use super::{Problem, assert_none, files, paths::documents, product_sources, root, shown};

const MAX_GLOSSARY_WORDS: usize = 40;

/// Words that say less than the ones that engineers use every day: reported, sent, a client, again.
const DIALECT: [&str; 6] = ["told", "nobody", "somebody", "whoever", "anew", "whom"];

/// The same of several words: differs, does not match, is invalid.
const DIALECT_PHRASES: [&str; 2] = ["is not what", "are not what"];

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
fn documents_use_plain_words() {
    let mut problems: Vec<Problem> = Vec::new();
    for page in documents() {
        // The past is not rewritten.
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        // Blocks of the generated reference are help texts of ours.
        let is_generated = shown(&page).starts_with("docs/reference/");
        let all_lines = text.lines().zip(1..).map(|(line, number)| (number, line));
        let lines: Vec<(usize, &str)> =
            if is_generated { all_lines.collect() } else { prose_lines(&text).collect() };
        problems.extend(lines.into_iter().filter_map(|(number, line)| check(&page, number, line)));
    }
    assert_none(&problems);
}

#[test]
fn the_dashboard_uses_plain_words() {
    let folder = root().join("crates/capdeck-serve/dashboard");
    let mut problems: Vec<Problem> = Vec::new();
    for path in files(&folder, &[".js", ".html", ".css"]) {
        if path.starts_with(folder.join("vendor")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().zip(1..);
        problems.extend(lines.filter_map(|(line, number)| check(&path, number, line)));
    }
    assert_none(&problems);
}

/// Files whose words are those of others: what people write in questions and searches.
const VOCABULARIES: [&str; 2] = [
    "crates/capdeck-catalog/src/search/words.rs",
    "crates/capdeck-definition/src/cmp/matcher/lexicon.rs",
];

#[test]
fn messages_and_comments_use_plain_words() {
    let mut problems: Vec<Problem> = Vec::new();
    for (path, text) in product_sources() {
        if VOCABULARIES.contains(&shown(&path).as_str()) {
            continue;
        }
        for (line, number) in text.lines().zip(1..) {
            let texts = comment(line).map_or_else(|| string_literals(line), str::to_owned);
            problems.extend(check(&path, number, &texts));
        }
    }
    assert_none(&problems);
}

fn check(path: &Path, number: usize, text: &str) -> Option<Problem> {
    let text = text.to_lowercase();
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    let phrase = || DIALECT_PHRASES.into_iter().find(|phrase| text.contains(phrase));
    let found = words.find(|word| DIALECT.contains(word)).or_else(phrase)?;
    Some(format!("{}:{number}: `{found}` is not plain", shown(path)))
}

/// The text of a line that is a comment. Doc comments are among them, and with them the help of the command line.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")
}

/// The texts in quotes on a line of code, without what is put in by name.
fn string_literals(line: &str) -> String {
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
}

/// The lines outside of fenced blocks, with their numbers. Blocks show files and output.
pub(super) fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
