//! `docs/reference/rest.md` is what `/v1/openapi.json` says.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use serde_json::{Map, Value};

use super::stage::Api;

const INTRODUCTION: &str = "# REST API reference

Every operation of `/v1`, from the document at `/v1/openapi.json`. `docs/guide/rest.md` explains its use. A test
(`crates/capdeck-serve/tests/it/rest/reference.rs`) writes and checks this page.

Every operation can also return 400, 401, 403, 413, 429 or 503 with a `Problem`; further statuses are listed with it.
Bodies and queries are validated by the types on this page; unknown members are rejected.
";

/// Statuses of the introduction.
const USUAL: [&str; 6] = ["400", "401", "403", "413", "429", "503"];

#[test]
fn the_reference_is_current() {
    let document = Api::new().get("/v1/openapi.json").is(200);
    let actual = reference(&document);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rest.md");
    #[expect(clippy::disallowed_methods, reason = "the switch of this test, not of the product")]
    let update = std::env::var_os("CAPDECK_UPDATE_DOCS").is_some();
    if update {
        fs::write(&path, &actual).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == actual,
        "docs/reference/rest.md is old; run this test with CAPDECK_UPDATE_DOCS=1"
    );
}

fn reference(document: &Value) -> String {
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, reported) in item.as_object().unwrap() {
            let group = groups.entry(reported["tags"][0].as_str().unwrap()).or_default();
            group.push_str(&operation(method, path, reported));
        }
    }
    let mut text = INTRODUCTION.to_owned();
    for (group, operations) in groups {
        write!(text, "\n## {group}\n{operations}").unwrap();
    }
    text.push_str("\n## Types\n");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        write!(text, "\n### {name}\n\n{}", type_reported(schema)).unwrap();
    }
    text
}

fn operation(method: &str, path: &str, reported: &Value) -> String {
    let mut text = format!("\n### `{} {path}`\n\n", method.to_ascii_uppercase());
    let summary = reported["summary"].as_str().unwrap();
    writeln!(text, "{summary} (`{}`).", reported["operationId"].as_str().unwrap()).unwrap();
    let description = reported["description"].as_str().unwrap();
    write!(text, "\n{description}\n").unwrap();
    let parameters = reported["parameters"].as_array().unwrap();
    if !parameters.is_empty() {
        text.push_str("\n| parameter | in | type | meaning |\n|---|---|---|---|\n");
    }
    for one in parameters {
        let [name, place] = [&one["name"], &one["in"]].map(|text| text.as_str().unwrap());
        let needed = if place == "query" && one["required"] == true { ", required" } else { "" };
        let (kind, meaning) = (kind(&one["schema"]), cell(&one["description"]));
        writeln!(text, "| `{name}` | {place}{needed} | {kind} | {meaning} |").unwrap();
    }
    if let Some(content) = reported["requestBody"]["content"].as_object() {
        let may =
            if reported["requestBody"]["required"] == true { "" } else { ", may be left out" };
        writeln!(text, "\nBody: {}{may}.", contents(content)).unwrap();
    }
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (status, answer) in reported["responses"].as_object().unwrap() {
        match answer.get("$ref") {
            Some(_) if USUAL.contains(&status.as_str()) => {}
            Some(_) => bad.push(format!("`{status}`")),
            None => {
                let content = answer["content"].as_object().map(contents);
                let content = content.map(|content| format!(" with {content}")).unwrap_or_default();
                good.push(format!("`{status}`{content}"));
            }
        }
    }
    writeln!(text, "\nAnswers: {}.", good.join(", ")).unwrap();
    if !bad.is_empty() {
        writeln!(text, "\nProblems: {}.", bad.join(", ")).unwrap();
    }
    text
}

/// Media types with what they hold.
fn contents(content: &Map<String, Value>) -> String {
    let one = |(media_type, reported): (&String, &Value)| match reported.get("schema") {
        Some(schema) if media_type == "application/json" => kind(schema),
        _ => format!("`{media_type}`"),
    };
    content.iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn type_reported(schema: &Value) -> String {
    let mut text = String::new();
    if let Some(description) = schema["description"].as_str() {
        writeln!(text, "{}\n", description.replace('\n', " ")).unwrap();
    }
    let members = schema["properties"].as_object();
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    match (members, choices) {
        (Some(members), _) => {
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            text.push_str("| member | type | meaning |\n|---|---|---|\n");
            for (name, member) in members {
                let may = if required.contains(&name.as_str()) { "" } else { ", optional" };
                let meaning = cell(&member["description"]);
                writeln!(text, "| `{name}` | {}{may} | {meaning} |", kind(member)).unwrap();
            }
        }
        (None, Some(choices)) => {
            text.push_str("One of:\n\n");
            for choice in choices {
                let about = cell(&choice["description"]);
                let about = if about.is_empty() { about } else { format!(": {about}") };
                writeln!(text, "- {}{about}", kind(choice)).unwrap();
            }
        }
        (None, None) => writeln!(text, "{}", kind(schema)).unwrap(),
    }
    text
}

/// A type in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(word) = schema.get("const") {
        return format!("`{}`", word.as_str().map_or_else(|| word.to_string(), str::to_owned));
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().map(|word| match word.as_str() {
            Some(word) => format!("`{word}`"),
            None => word.to_string(),
        });
        return words.collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |name: &str| match name {
        "array" if schema["items"].is_object() => format!("list of {}", kind(&schema["items"])),
        "array" => "list".to_owned(),
        "object" if schema["properties"].is_object() => {
            let members = schema["properties"].as_object().unwrap().iter();
            let members = members.map(|(name, member)| format!("`{name}`: {}", kind(member)));
            format!("object with {}", members.collect::<Vec<_>>().join(", "))
        }
        "boolean" => "yes or no".to_owned(),
        "integer" => "whole number".to_owned(),
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

/// Text that fits into a cell of a table.
fn cell(text: &Value) -> String {
    text.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}
