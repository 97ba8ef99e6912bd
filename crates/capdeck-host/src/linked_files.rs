//! Files that a server's text links to, such as a screenshot: `[Screenshot](.output/page.png)`.
//!
//! Servers that work beside the client write files and name them in Markdown. Clients of Caplets
//! find them in `_meta.caplets.artifacts`.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::raw;

/// More links than this are a document, not results.
const MAX_LINKS: usize = 20;

#[derive(Deserialize)]
struct LinkingResult {
    #[serde(default)]
    content: Vec<LinkingBlock>,
}

#[derive(Deserialize)]
struct LinkingBlock {
    text: Option<String>,
}

/// `{kind, path, label?}` for every link to a file in the texts of a result. Most results have no
/// link and are not parsed.
pub(crate) fn linked_files(result: &RawValue) -> Vec<Value> {
    if !result.get().contains("](") {
        return Vec::new();
    }
    let Some(parsed) = raw::parse::<LinkingResult>(result) else { return Vec::new() };
    let texts = parsed.content.iter().filter_map(|block| block.text.as_deref());
    texts
        .flat_map(links)
        .filter_map(|(label, target)| linked_file(label, target))
        .take(MAX_LINKS)
        .collect()
}

/// The label and the target of each Markdown link.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_once("](")?;
        let (target, remaining) = after.split_once(')')?;
        rest = remaining;
        Some((before.rsplit_once('[').map_or("", |(_, label)| label), target))
    })
}

fn linked_file(label: &str, target: &str) -> Option<Value> {
    // A title may follow the target.
    let path = target.split_whitespace().next()?.trim_matches(['<', '>']);
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.contains("://") || path.starts_with(['#', '?']) || path.starts_with("mailto:") {
        return None;
    }
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    let words = format!("{label} {path}").to_lowercase();
    let kind = match extension.to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" | "webp" => "screenshot",
        _ if words.contains("snapshot") => "snapshot",
        _ if words.contains("console") => "console-log",
        _ if words.contains("network") => "network-log",
        extension
            if extension.is_empty() || extension.contains(|one: char| !one.is_alphanumeric()) =>
        {
            return None;
        }
        _ => "file",
    };
    let mut file = json!({ "kind": kind, "path": path });
    raw::put_some(&mut file, "label", Some(label).filter(|label| !label.is_empty()));
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, files: Value) {
        let result = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        let result = RawValue::from_string(result).unwrap();
        assert_eq!(Value::Array(linked_files(&result)), files);
    }

    #[test]
    fn links_to_files_are_found_with_what_they_are() {
        check(
            "Saved.\n- [Screenshot of page](.output/page-1.png)\n- [Snapshot](./a/page.yml \"Page\")",
            json!([
                { "kind": "screenshot", "path": ".output/page-1.png", "label": "Screenshot of page" },
                { "kind": "snapshot", "path": "./a/page.yml", "label": "Snapshot" },
            ]),
        );
        check(
            "[Console](file:///tmp/console.log) and [](net/network.txt), [report](/tmp/report.pdf)",
            json!([
                { "kind": "console-log", "path": "/tmp/console.log", "label": "Console" },
                { "kind": "network-log", "path": "net/network.txt" },
                { "kind": "file", "path": "/tmp/report.pdf", "label": "report" },
            ]),
        );
    }

    #[test]
    fn other_links_are_left_alone() {
        for text in [
            "see [the page](https://example.com/a.png)",
            "[mail](mailto:a@b.c), [part](#part.one), [query](?a.b)",
            "[folder](src/main), [odd](a.b/c), call(a)(b.png)",
            "unfinished [link](a.png",
            "",
        ] {
            check(text, json!([]));
        }
    }

    #[test]
    fn a_long_document_gives_a_bounded_list() {
        let text = "[a](a.txt)".repeat(100);
        let result = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        let result = RawValue::from_string(result).unwrap();
        assert_eq!(linked_files(&result).len(), MAX_LINKS);
    }
}
