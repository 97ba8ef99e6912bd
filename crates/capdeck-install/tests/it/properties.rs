//! What holds for every file: an edit changes what it says it changes, and can be taken back.

use capdeck_install::{
    ClientScope, ConfigDocument, FileFormat, LaunchTarget, OverwritePolicy, TextSplice, keys,
    plan_connect, plan_disconnect,
};
use proptest::prelude::*;
use serde_json::json;

use crate::connect::{Place, entry};
use crate::generated::{json_file, toml_file, yaml_file};

/// Adds an entry, and takes it out by the record of the change and by its name.
fn check(text: &str, format: FileFormat) -> Result<(), TestCaseError> {
    let before = ConfigDocument::parse(text, format)
        .map_err(|error| TestCaseError::fail(format!("generated text is broken: {error}")))?;
    prop_assert_eq!(before.text(), text);
    let path = keys(&["servers", "capdeck"]);
    let entry = json!({ "command": "/opt/deck", "args": ["serve", "--project", "a b"], "env": {} });
    let mut document = before.clone();
    prop_assert!(
        document
            .set(&path, entry.clone())
            .map_err(|error| TestCaseError::fail(error.to_string()))?
    );
    prop_assert_eq!(document.get(&path), Some(&entry));

    let after = document.text();
    prop_assert_eq!(TextSplice::between(text, &after).undo(&after), Some(text.to_owned()));
    let lost =
        text.lines().find(|line| line.trim().starts_with('#') && !after.contains(line.trim()));
    prop_assert_eq!(lost, None);

    prop_assert_eq!(
        document.set(&path, entry).map_err(|error| TestCaseError::fail(error.to_string()))?,
        false
    );
    prop_assert!(document.remove(&path).map_err(|error| TestCaseError::fail(error.to_string()))?);
    if before.get(&keys(&["servers"])).is_some_and(|servers| !servers.is_null()) {
        prop_assert_eq!(document.value(), before.value());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json(text in json_file("servers")) {
        check(&text, FileFormat::Json)?;
    }

    #[test]
    fn toml(text in toml_file("servers")) {
        check(&text, FileFormat::Toml)?;
    }

    #[test]
    fn yaml(text in yaml_file("servers")) {
        check(&text, FileFormat::Yaml)?;
    }

    #[test]
    fn no_text_breaks_a_parser(text in "[ \\n\\[\\]{}\",:#/*a=&|>'-]{0,40}") {
        for format in [FileFormat::Json, FileFormat::Toml, FileFormat::Yaml] {
            if let Ok(mut document) = ConfigDocument::parse(&text, format) {
                // Whether the edit is possible is another matter.
                let _tried = document.set(&keys(&["servers", "capdeck"]), json!({ "a": 1 }));
            }
        }
    }
}

/// `disconnect(connect(f)) = f`, byte for byte, on disk; also when the entry is renewed in between.
fn check_round_trip(client: &str, text: Option<&str>) -> Result<(), TestCaseError> {
    let failed = |error: capdeck_install::ConnectError| TestCaseError::fail(error.to_string());
    let place = Place::new();
    let target = place.target(client, ClientScope::User);
    if let Some(text) = text {
        std::fs::create_dir_all(target.file.parent().unwrap()).unwrap();
        std::fs::write(&target.file, text).unwrap();
    }
    let url = LaunchTarget::Url {
        url: "http://127.0.0.1:7717/mcp".to_owned(),
        command: "capdeck".to_owned(),
    };
    let renewed = target.client.entry("capdeck", &url);
    for entry in [&entry(client), &renewed, &renewed] {
        let plan = plan_connect(&target, entry, &[], OverwritePolicy::Keep, &place.records)
            .map_err(failed)?;
        plan.apply(&place.records).map_err(failed)?;
        let document = target.document().map_err(failed)?;
        let servers = document.get(&target.client.container(&document)).cloned();
        prop_assert_eq!(servers.as_ref().map(|servers| &servers["capdeck"]), Some(entry));
    }
    let plan = plan_disconnect(&target, OverwritePolicy::Keep, &place.records).map_err(failed)?;
    plan.apply(&place.records).map_err(failed)?;
    let left = std::fs::read(&target.file).ok();
    prop_assert_eq!(left.as_deref(), text.map(str::as_bytes));
    prop_assert!(text.is_some() || !target.file.parent().unwrap().exists());
    Ok(())
}

/// A line that was added since stays, and so does every byte that was there before.
fn check_edited(client: &str, comment: &str, text: &str) -> Result<(), TestCaseError> {
    let failed = |error: capdeck_install::ConnectError| TestCaseError::fail(error.to_string());
    let place = Place::new();
    let target = place.target(client, ClientScope::User);
    std::fs::create_dir_all(target.file.parent().unwrap()).unwrap();
    std::fs::write(&target.file, text).unwrap();
    let plan = plan_connect(&target, &entry(client), &[], OverwritePolicy::Keep, &place.records)
        .map_err(failed)?;
    plan.apply(&place.records).map_err(failed)?;
    let edited = format!("{comment}\n{}", std::fs::read_to_string(&target.file).unwrap());
    std::fs::write(&target.file, edited).unwrap();
    let plan = plan_disconnect(&target, OverwritePolicy::Keep, &place.records).map_err(failed)?;
    plan.apply(&place.records).map_err(failed)?;
    let left = std::fs::read_to_string(&target.file).unwrap();
    prop_assert_eq!(left, format!("{comment}\n{text}"));
    Ok(())
}

/// An item is added to a list and taken out by its tag; the list says what it said.
fn check_list(text: &str, format: FileFormat) -> Result<(), TestCaseError> {
    let failed = |error: capdeck_install::EditError| TestCaseError::fail(error.to_string());
    let before = ConfigDocument::parse(text, format)
        .map_err(|error| TestCaseError::fail(format!("generated text is broken: {error}")))?;
    let list = keys(&["servers", "tagged"]);
    let mut document = before.clone();
    if before.get(&list).is_some_and(|found| !found.is_array() && !found.is_null()) {
        return Ok(());
    }
    let items = |document: &ConfigDocument| match document.get(&list) {
        Some(serde_json::Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    let earlier = items(&before);
    document.push(&list, json!({ "name": "ours:1", "run": ["a"] })).map_err(failed)?;
    document.push(&list, json!({ "name": "theirs" })).map_err(failed)?;
    document.push(&list, json!({ "name": "ours:2" })).map_err(failed)?;
    prop_assert_eq!(items(&document).len(), earlier.len() + 3);
    let is_ours = |item: &serde_json::Value| {
        item["name"].as_str().is_some_and(|name| name.starts_with("ours:"))
    };
    prop_assert_eq!(document.remove_items(&list, is_ours).map_err(failed)?, 2);
    let expected: Vec<_> = earlier.into_iter().chain([json!({ "name": "theirs" })]).collect();
    prop_assert_eq!(items(&document), expected);
    Ok(())
}

fn maybe(file: impl Strategy<Value = String>) -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.98, file)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn disconnect_restores_json(text in maybe(json_file("mcpServers"))) {
        check_round_trip("cursor", text.as_deref())?;
    }

    #[test]
    fn disconnect_restores_toml(text in maybe(toml_file("mcp_servers"))) {
        check_round_trip("codex", text.as_deref())?;
    }

    #[test]
    fn what_was_written_since_stays(
        json in json_file("mcpServers"), toml in toml_file("mcp_servers"), yaml in yaml_file("extensions"),
    ) {
        let plain = |text: &str| !text.starts_with('\u{feff}') && !text.starts_with("---");
        for (client, comment, text) in
            [("cursor", "// new", &json), ("codex", "# new", &toml), ("goose", "# new", &yaml)]
        {
            if plain(text) {
                check_edited(client, comment, text)?;
            }
        }
    }

    #[test]
    fn items_come_and_go(
        json in json_file("servers"), toml in toml_file("servers"), yaml in yaml_file("servers"),
    ) {
        check_list(&json, FileFormat::Json)?;
        check_list(&toml, FileFormat::Toml)?;
        check_list(&yaml, FileFormat::Yaml)?;
    }

    #[test]
    fn disconnect_restores_yaml(text in maybe(yaml_file("extensions"))) {
        check_round_trip("goose", text.as_deref())?;
    }
}
