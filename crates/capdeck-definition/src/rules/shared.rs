//! Rules of the fields that capabilities of every backend have, and of the icon.

use serde_json::{Map, Value};
use url::{Host, Url};

use super::inputs::check_program;
use crate::{diagnostic::FileFindings, document::ValueNode, shape::SharedFields};

/// Longer hints are cut.
const MAX_HINT: usize = 500;

/// Checks names, texts, tags and set-up, and trims what is trimmed.
pub(crate) fn check_shared(
    shared: &mut SharedFields,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    if let Some(name) = &mut shared.name {
        *name = name.trim().to_owned();
        if name.is_empty() {
            let message = "`name` is empty";
            findings.at(node.child("name").place).error("empty-value", message, "give it a value");
        }
    }
    if shared.description.as_ref().is_some_and(|text| text.trim().chars().count() < 10) {
        let message = "`description` is too short";
        let fix = "write at least 10 characters that tell an agent what this does";
        findings.at(node.child("description").place).error("too-short", message, fix);
    }
    for (index, tag) in shared.presentation.tags.iter_mut().enumerate() {
        *tag = tag.trim().to_owned();
        if tag.is_empty() {
            let message = format!("`tags[{index}]` is empty");
            let fix = "give it a value or remove it";
            findings.at(node.child("tags").item(index).place).error("empty-value", message, fix);
        }
    }
    check_hint(&mut shared.presentation.use_when, "useWhen", node, findings);
    check_hint(&mut shared.presentation.avoid_when, "avoidWhen", node, findings);
    let setup = &shared.presentation.setup;
    if let Some(setup) = setup {
        for (key, steps) in [("commands", &setup.commands), ("verify", &setup.verify)] {
            for (index, step) in steps.iter().enumerate() {
                let place = node.child("setup").child(key).item(index).child("command").place;
                check_program(&step.program.command, place, findings);
            }
        }
    }
    if setup.as_ref().is_some_and(|setup| setup.commands.is_empty() && setup.verify.is_empty()) {
        let message = "`setup` has no steps";
        let fix = "add a step under `commands` or `verify`, or remove `setup`";
        findings.at(node.key_place("setup")).error("empty-value", message, fix);
    }
}

/// Trims a hint. Hints never fail a file: an empty one is dropped and a long one is cut, with a warning.
pub(crate) fn check_hint(
    hint: &mut Option<String>,
    key: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    let Some(text) = hint.take() else { return };
    let text = text.trim();
    let place = node.child(key).place;
    if text.is_empty() {
        let message = format!("`{key}` is empty and is ignored");
        findings.at(place).warning("empty-value", message, "give it a value or remove the key");
        return;
    }
    let length = text.chars().count();
    if length > MAX_HINT {
        let message = format!("`{key}` has {length} characters and is cut to {MAX_HINT}");
        let fix = format!("shorten it to at most {MAX_HINT} characters");
        findings.at(place).warning("too-long", message, fix);
    }
    *hint = Some(text.chars().take(MAX_HINT).collect());
}

/// Warns of a schema that no call can satisfy. `node` is the action.
pub(super) fn check_input_schema(
    schema: Option<&Map<String, Value>>,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    let kind = schema.and_then(|schema| schema.get("type"));
    if kind.is_none_or(|kind| kind == "object") {
        return;
    }
    let message = "`inputSchema` does not describe an object, which arguments are";
    let fix = "write `type: object` and name the arguments under `properties`";
    findings.at(node.child("inputSchema").child("type").place).warning("wrong-type", message, fix);
}

/// What an icon may be: a public image URL, or an image beside the file.
const EXTENSIONS: [&str; 7] = ["svg", "png", "jpg", "jpeg", "webp", "gif", "ico"];

/// Checks an icon and returns it trimmed.
pub(crate) fn check_icon(
    icon: &str,
    catalog: &ValueNode,
    findings: &mut FileFindings,
) -> Option<String> {
    let icon = icon.trim();
    let problem = if icon.contains("://") { url_problem(icon) } else { path_problem(icon) };
    let Some(problem) = problem else { return Some(icon.to_owned()) };
    findings.at(catalog.child("icon").place).error(
        "bad-icon",
        format!("`icon` {problem}"),
        format!(
            "use a public `https` URL or a relative path of an image ({})",
            EXTENSIONS.join(", ")
        ),
    );
    None
}

fn url_problem(icon: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(icon) else { return Some("is not a URL") };
    if url.scheme() != "https" {
        return Some("must be an `https` URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("must have no user name");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Some("must have no query and no fragment");
    }
    if is_private(&url) {
        return Some("must be on a public host");
    }
    (!has_extension(url.path())).then_some("must end in an image extension")
}

fn path_problem(icon: &str) -> Option<&'static str> {
    let path = icon.strip_prefix("./").unwrap_or(icon);
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with('/') || path.contains(['\\', '?', '#']) || drive {
        return Some("must be a plain relative path");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some("must stay inside the file's folder");
    }
    (!has_extension(path)).then_some("must end in an image extension")
}

fn is_private(url: &Url) -> bool {
    match url.host() {
        None => true,
        Some(Host::Domain(name)) => {
            let name = name.to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost") || name.ends_with(".local")
        }
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
    }
}

fn has_extension(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{path_problem, url_problem};

    #[test]
    fn only_public_images_and_plain_paths_are_icons() {
        for icon in ["https://example.com/a.svg", "https://example.com/b%20c/d.PNG"] {
            assert_eq!(url_problem(icon), None, "{icon}");
        }
        for icon in [
            "http://example.com/a.svg",
            "https://user@example.com/a.svg",
            "https://example.com/a.svg?x=1",
            "https://example.com/a.svg#x",
            "https://example.com/a.html",
            "https://localhost/a.svg",
            "https://deck.local/a.svg",
            "https://127.0.0.1/a.svg",
            "https://10.1.2.3/a.svg",
            "https://172.20.1.1/a.svg",
            "https://192.168.1.1/a.svg",
            "https://[::1]/a.svg",
            "https://",
        ] {
            assert!(url_problem(icon).is_some(), "{icon}");
        }
        for icon in ["a.svg", "./icons/a.webp", "icons/b.ico"] {
            assert_eq!(path_problem(icon), None, "{icon}");
        }
        for icon in [
            "",
            "/a.svg",
            "../a.svg",
            "./../a.svg",
            "a//b.svg",
            "a/./b.svg",
            "a\\b.svg",
            "C:/a.svg",
            "a.svg?x",
            "a.txt",
            "svg",
        ] {
            assert!(path_problem(icon).is_some(), "{icon}");
        }
    }
}
