//! What documents name is there, and nothing names the machine it was written on.

use std::{
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

/// The count of the main lines is worth what its tables are worth.
#[test]
fn functions_of_the_main_lines_are_in_their_files() {
    let text = fs::read_to_string(root().join("docs/design/058-the-main-lines.md")).unwrap();
    let mut problems = Vec::new();
    let rows = text.lines().filter_map(|line| line.strip_suffix(".rs` |")?.split_once(" | `"));
    for (functions, file) in rows {
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
