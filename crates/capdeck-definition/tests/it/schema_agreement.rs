//! Our schemas against the published ones of the format we are compatible with, on every fixture.

use std::{collections::BTreeSet, fs, path::Path};

use capdeck_definition::{caplet_schema, config_schema};
use serde_json::{Value, json};

use self::Difference::{OnlyOursAccepts, OnlyTheirsAccepts};
use crate::{examples::shared_data, fixtures::files};

/// What a pair of schemas says about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    OnlyOursAccepts,
    OnlyTheirsAccepts,
}

/// Every file the two schemas disagree on, whole or entry by entry, with the reason. Nothing else may differ.
const DIFFERENCES: &[(&str, Difference, &str)] = &[
    ("valid/action-hints.md", OnlyOursAccepts, "the older dialect's hints on actions"),
    ("valid/binding-false.md", OnlyOursAccepts, "`required: false` says what it says"),
    ("valid/chaos-config.json", OnlyOursAccepts, "`chaos` is ours"),
    ("valid/chaos.md", OnlyOursAccepts, "`chaos` is ours"),
    ("valid/client-block.json", OnlyOursAccepts, "entries of other MCP clients"),
    ("valid/config-options.yaml", OnlyOursAccepts, "`options.surfaceTokens` is ours"),
    ("valid/config-policy.yaml", OnlyOursAccepts, "`policy` and `pins` are ours"),
    ("valid/exposure-search.md", OnlyOursAccepts, "the exposures `search` and `none` are ours"),
    (
        "valid/graphql-query-tool.md",
        OnlyOursAccepts,
        "`queryTool` and `includeDeprecated` are ours",
    ),
    ("valid/hints.md", OnlyOursAccepts, "the older dialect's hints"),
    (
        "valid/http-output-schema.md",
        OnlyOursAccepts,
        "theirs takes `outputSchema` in config files only",
    ),
    ("valid/mcp-idle.md", OnlyOursAccepts, "`idleTimeoutMs` is ours"),
    ("valid/mcp-tools.md", OnlyOursAccepts, "`tools` of a server is ours"),
    ("valid/openapi-filters.md", OnlyOursAccepts, "operation filters on every kind of API"),
    ("warning/chaos-idle.md", OnlyOursAccepts, "`chaos` is ours"),
    ("valid/outgoing.md", OnlyOursAccepts, "`network`, `retries` and limits of requests are ours"),
    ("valid/pins.md", OnlyOursAccepts, "`pins` is ours"),
    ("warning/client-extra-keys.json", OnlyOursAccepts, "entries of other MCP clients"),
    ("warning/client-ids.json", OnlyOursAccepts, "entries of other MCP clients"),
    ("warning/empty-hint.md", OnlyOursAccepts, "the older dialect's hints on actions"),
    ("warning/long-hint.md", OnlyOursAccepts, "a long hint is cut, not refused"),
    ("warning/missing-auth.md", OnlyOursAccepts, "an API without `auth` is taken as public"),
    ("invalid/base-url.md", OnlyOursAccepts, "refused when read: a reference may hold a `?`"),
    ("invalid/chaos.md", OnlyOursAccepts, "refused when read: shares add up across keys"),
    ("invalid/client-entries.json", OnlyOursAccepts, "refused when read, with better words"),
    ("invalid/cli-reserved-child.md", OnlyTheirsAccepts, "theirs refuses it when read"),
    ("invalid/long-description.md", OnlyTheirsAccepts, "theirs refuses it when read"),
    ("invalid/repeated-feature.md", OnlyTheirsAccepts, "theirs refuses it when read"),
    ("invalid/short-description.md", OnlyTheirsAccepts, "theirs refuses it when read"),
];

#[test]
fn both_schemas_judge_alike_but_for_the_listed_differences() {
    let Some(data) = shared_data() else { return };
    let theirs = |name: &str| {
        let text = fs::read_to_string(data.join("schemas").join(name)).unwrap();
        jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
    };
    let ours = |schema: Value| jsonschema::validator_for(&schema).unwrap();
    let caplet = (ours(caplet_schema()), theirs("caplet.schema.json"));
    let config = (ours(config_schema()), theirs("caplets-config.schema.json"));
    let mut found = BTreeSet::new();
    let mut judged = 0;
    for (name, document) in documents() {
        let (ours, theirs) = if name.contains(".md") { &caplet } else { &config };
        judged += 1;
        let file = name.split('#').next().unwrap().to_owned();
        match (ours.is_valid(&document), theirs.is_valid(&document)) {
            (true, false) => drop(found.insert((file, OnlyOursAccepts))),
            (false, true) => drop(found.insert((file, OnlyTheirsAccepts))),
            (true, true) | (false, false) => {}
        }
    }
    assert!(judged > 120, "{judged}");
    let listed: BTreeSet<(String, Difference)> =
        DIFFERENCES.iter().map(|(file, kind, _)| ((*file).to_owned(), *kind)).collect();
    assert_eq!(found, listed);
}

#[test]
fn what_is_read_without_complaint_fits_our_schema() {
    let caplet = jsonschema::validator_for(&caplet_schema()).unwrap();
    let config = jsonschema::validator_for(&config_schema()).unwrap();
    for folder in ["valid", "warning"] {
        for (name, document) in documents_of(folder) {
            let validator = if name.contains(".md") { &caplet } else { &config };
            if let Err(error) = validator.validate(&document) {
                panic!("{name}: {error} at {}", error.instance_path());
            }
        }
    }
}

fn documents() -> Vec<(String, Value)> {
    ["valid", "warning", "invalid"].into_iter().flat_map(documents_of).collect()
}

/// The fixtures that hold a document at all, by folder and name.
fn documents_of(folder: &str) -> Vec<(String, Value)> {
    let named = |path: &Path| format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
    let whole = files(folder).into_iter().filter(|path| path.is_file());
    let whole = whole.filter_map(|path| Some((named(&path), document(&path)?)));
    whole.flat_map(with_each_entry_alone).collect()
}

/// The document, and for each entry of its maps the document with that entry alone, so that one entry's mistake does
/// not hide what a schema thinks of the next.
fn with_each_entry_alone((name, document): (String, Value)) -> Vec<(String, Value)> {
    let maps = [
        "mcpServers",
        "openapiEndpoints",
        "googleDiscoveryApis",
        "graphqlEndpoints",
        "httpApis",
        "capletSets",
    ];
    let mut documents = Vec::new();
    for map in maps {
        for (id, entry) in document.get(map).and_then(Value::as_object).into_iter().flatten() {
            let mut alone = document.clone();
            for other in maps {
                alone.as_object_mut().unwrap().shift_remove(other);
            }
            alone[map] = json!({ id: entry });
            documents.push((format!("{name}#{id}"), alone));
        }
    }
    documents.push((name, document));
    documents
}

fn document(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).unwrap();
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let document = match path.extension()?.to_str()? {
        "json" => serde_json::from_str(&text).ok()?,
        "md" => {
            let yaml = text.strip_prefix("---\n")?.split_once("\n---")?.0;
            parse_yaml(yaml)?
        }
        _ => parse_yaml(&text)?,
    };
    // An empty YAML file is an empty config.
    Some(if document == Value::Null { Value::Object(Default::default()) } else { document })
}

fn parse_yaml(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).ok()
}
