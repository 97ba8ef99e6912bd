use std::{collections::BTreeSet, fs, path::Path};

use super::*;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/dashboard"))
}

fn files_below(below: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path().strip_prefix(folder()).unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

fn our_scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let ours =
        FILES.iter().filter(|(path, _)| path.ends_with(".js") && !path.starts_with("vendor/"));
    ours.map(|(path, bytes)| (*path, std::str::from_utf8(bytes).unwrap()))
}

#[test]
fn every_file_of_the_folder_is_in_the_binary() {
    let mut on_disk = files_below(folder());
    on_disk.retain(|path| path != "index.html");
    on_disk.sort();
    let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
    assert_eq!(listed, on_disk, "list them in the same order");
}

/// Untrusted text is on every page. It stays text because no file turns text into markup or code.
#[test]
fn nothing_turns_text_into_markup_or_code() {
    const FORBIDDEN: [&str; 12] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "dangerouslySet",
        "document.write",
        "createContextualFragment",
        "DOMParser",
        "srcdoc",
        "eval(",
        "new Function",
        "javascript:",
        "<script",
    ];
    for (path, text) in our_scripts() {
        for forbidden in FORBIDDEN {
            assert!(!text.contains(forbidden), "{path} has `{forbidden}`");
        }
    }
}

#[test]
fn nothing_is_asked_of_other_hosts() {
    for (path, text) in our_scripts() {
        for word in text.split(['\'', '"', '`']) {
            let is_address =
                ["http://", "https://", "//"].iter().any(|start| word.starts_with(start));
            assert!(!is_address || word.contains('\n'), "{path} names `{word}`");
        }
    }
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.ends_with(".css")) {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(!text.contains("url(") && !text.contains("@import"), "{path}");
    }
}

#[test]
fn scripts_say_what_they_are_and_are_short() {
    for (path, text) in our_scripts() {
        let mut lines = text.lines().skip_while(|line| *line == "// @ts-check");
        assert!(
            lines.next().is_some_and(|line| line.starts_with("// ")),
            "{path} has no first line"
        );
        assert!(text.lines().count() <= 300, "{path} is too long: find a seam");
    }
}

fn imports(path: &str) -> Vec<String> {
    let text = fs::read_to_string(folder().join(path)).unwrap();
    let mut found = Vec::new();
    for line in text.split(';').map(str::trim) {
        let is_static = line.contains("import") || line.contains("export");
        let Some(named) =
            line.split(['\'', '"']).find(|part| part.starts_with("./") || part.starts_with("../"))
        else {
            continue;
        };
        if is_static && !line.contains("import(") && named.ends_with(".js") {
            let above = Path::new(path).parent().unwrap();
            let joined = named.strip_prefix("./").map_or_else(
                || above.parent().unwrap_or(Path::new("")).join(named.trim_start_matches("../")),
                |rest| above.join(rest),
            );
            found.push(joined.to_str().unwrap().to_owned());
        }
    }
    found
}

/// Each level of imports costs a round trip, so the page preloads all modules.
#[test]
fn the_page_names_every_module_of_its_first_paint() {
    let mut needed = BTreeSet::new();
    let mut left = vec!["app.js".to_owned(), "pages/overview.js".to_owned()];
    while let Some(path) = left.pop() {
        if needed.insert(path.clone()) {
            left.extend(imports(&path));
        }
    }
    needed.remove("app.js");
    let named: BTreeSet<String> = PAGE
        .lines()
        .filter(|line| line.contains("modulepreload"))
        .map(|line| line.split("__assets__/").nth(1).unwrap().trim_end_matches("\">").to_owned())
        .collect();
    assert_eq!(named, needed);
}

#[test]
fn packed_files_are_smaller_and_whole() {
    use std::io::Read;

    let packed = file("vendor/preact.js").unwrap();
    let zipped = packed.gzip.as_ref().unwrap();
    assert!(zipped.len() < packed.plain.len() / 2);
    let mut back = Vec::new();
    flate2::read::GzDecoder::new(zipped.as_ref()).read_to_end(&mut back).unwrap();
    assert_eq!(back, packed.plain);
    assert!(file("vendor").is_none() && file("../Cargo.toml").is_none() && file("").is_none());
    let text = std::str::from_utf8(&page().plain).unwrap();
    assert!(text.contains(&format!("/assets/{}/app.js", build())) && !text.contains(FOLDER));
}
