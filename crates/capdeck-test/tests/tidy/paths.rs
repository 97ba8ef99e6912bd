//! What documents name is there, and nothing names the machine it was written on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{Problem, assert_none, files, root, shown};

#[test]
fn paths_in_documents_exist() {
    let mut problems = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for named in links(&text) {
            let target = named.split(['#', '?']).next().unwrap_or_default();
            if !document.parent().unwrap().join(target).exists() {
                problems.push(format!("{}: the link to `{named}` leads nowhere", shown(&document)));
            }
        }
        for named in code_spans(&text).filter(|span| looks_like_a_path(span)) {
            let below = [root(), root().join("crates")];
            if !below.iter().any(|folder| folder.join(named).exists()) {
                problems.push(format!("{}: there is no `{named}`", shown(&document)));
            }
        }
    }
    assert_none(&problems);
}

/// The documentation is also read as a site, where a page is found in the list at its side or by a link.
#[test]
fn the_site_lists_and_links_its_pages() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<&str> = links(&summary).collect();
    let mut problems = Vec::new();
    for page in files(&docs, &[".md"]) {
        let name = page.strip_prefix(&docs).unwrap().to_str().unwrap();
        if name != "SUMMARY.md" && listed.iter().filter(|target| **target == name).count() != 1 {
            problems.push(format!("docs/SUMMARY.md does not list {name} once"));
        }
        // The reference is generated, and notes on the design name files as the code does.
        let is_for_users = !name.starts_with("reference/") && !name.starts_with("design/");
        let text = fs::read_to_string(&page).unwrap();
        let named = code_spans(&text).filter(|span| span.starts_with("docs/"));
        for span in named.filter(|span| is_for_users && span.ends_with(".md")) {
            problems.push(format!("docs/{name}: make `{span}` a link"));
        }
    }
    assert_none(&problems);
}

/// What a console block shows is what happens only if a test runs it.
#[test]
fn every_console_block_is_replayed() {
    let replays = root().join("crates/capdeck-cli/tests/it/documents.rs");
    let replays = fs::read_to_string(replays).unwrap();
    let problems: Vec<Problem> = documents()
        .into_iter()
        .filter(|page| fs::read_to_string(page).unwrap().contains("\n```console\n"))
        .map(|page| shown(&page))
        .filter(|page| !replays.contains(&format!("\"{page}\"")))
        .map(|page| format!("{page}: its console blocks are not replayed in documents.rs"))
        .collect();
    assert_none(&problems);
}

/// The count of the main lines is worth what its tables are worth.
#[test]
fn functions_of_the_main_lines_are_in_their_files() {
    let text = fs::read_to_string(root().join("docs/design/058-the-main-lines.md")).unwrap();
    let mut problems = Vec::new();
    for (functions, file) in listed_functions(&text) {
        let source = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
        for name in code_spans(functions) {
            if !source.contains(&format!("fn {name}(")) && !source.contains(&format!("fn {name}<"))
            {
                problems.push(format!("{file}.rs has no function `{name}`"));
            }
        }
    }
    assert!(text.contains("crates/capdeck-host/src/calls.rs"), "the tables were not found");
    assert_none(&problems);
}

/// Rows of the first table, and the lists that each of them counts, by their beginnings.
const MAIN_LINES: [(&str, &[&str]); 6] = [
    ("a `tools/call` over HTTP", &["**A call over HTTP.**"]),
    ("a capsule write", &["**A capsule write.**"]),
    ("a tool call of a script", &["**The tool call of a script**"]),
    ("a whole code-mode run", &["**A whole code-mode run.**", "**The tool call of a script**"]),
    ("a definition from file to catalog", &["**A definition from file to catalog.**"]),
    (
        "a definition from file to `tools/list`",
        &["**A definition from file to catalog.**", "**From the catalog to `tools/list`**"],
    ),
];

#[test]
fn the_table_of_the_main_lines_counts_their_lists() {
    let text = fs::read_to_string(root().join("docs/design/058-the-main-lines.md")).unwrap();
    let mut problems = Vec::new();
    for (line, lists) in MAIN_LINES {
        let (mut functions, mut counted) = (0, BTreeSet::new());
        for beginning in lists {
            let list = text.split_once(&format!("\n{beginning}"));
            let list = list.and_then(|(_, list)| list.split("\n**").next()).unwrap_or_default();
            for (names, file) in listed_functions(list) {
                functions += code_spans(names).count();
                counted.insert(file);
            }
        }
        let row = text.lines().find(|row| row.starts_with(&format!("| {line}")));
        let now = format!("| {functions} in {} |", counted.len());
        if !row.is_some_and(|row| row.ends_with(&now)) {
            problems.push(format!("the row of `{line}` does not end with `{now}`, as listed"));
        }
    }
    assert_none(&problems);
}

/// The rows of lists of functions: the names, and the file without its ending.
fn listed_functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.strip_suffix(".rs` |")?.split_once(" | `"))
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let above = root().parent().unwrap().to_path_buf();
    // A clone straight below the root or the temporary folder has no telling parent.
    if above == Path::new("/") || above == std::env::temp_dir() {
        return;
    }
    let telling = format!("{}/", above.display());
    let endings = [".rs", ".toml", ".md", ".sh", ".py", ".mjs", ".json", ".yaml", ".yml", "/run"];
    let problems: Vec<Problem> = files(&root(), &endings)
        .into_iter()
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(&telling)))
        .map(|path| format!("{} names `{telling}`", shown(&path)))
        .collect();
    assert_none(&problems);
}

/// The documents at the top and everything under `docs` and `bench`.
pub(super) fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    for folder in ["docs", "bench"].map(|name| root().join(name)) {
        if folder.exists() {
            found.extend(files(&folder, &[".md"]));
        }
    }
    found
}

/// The local targets of Markdown links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ', '\n']).next()?;
        let is_local =
            !target.is_empty() && !target.contains("://") && !target.starts_with(['#', '<']);
        is_local.then_some(target)
    })
}

/// Text between single backticks, outside fenced blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

/// True for a path of this repository, written out in full.
fn looks_like_a_path(span: &str) -> bool {
    const TOP: [&str; 7] =
        ["crates/", "tests/", "docs/", "bench/", ".ci/", "examples/", "capdeck-"];
    let is_plain = !span.contains(['<', '*', '{', '…', ' ', '$', '|', ':']);
    is_plain && span.contains('/') && TOP.iter().any(|start| span.starts_with(start))
}
