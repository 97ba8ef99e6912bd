//! The JSON Schemas of the files, made from the types in `shape`.
//!
//! Making one takes longer than the rest of a start, so what files are checked against is part of the binary: the rules
//! in `schema/`, which are the schemas without the words for editors. A test holds them to the types.

use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    capability_file::CapabilityShape,
    client_block::ClientServerBlock,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
    pattern,
    shape::{
        CapletFile,
        cmp_files::{CmpCapabilityFile, CmpFile, ManifestFile},
        config_file::ConfigFile,
    },
};

/// The schema of a Caplet file's frontmatter.
pub fn caplet_schema() -> Value {
    generate::<CapletFile>()
}

/// The schema of a config file. Besides full entries it allows what other MCP clients write under `mcpServers`.
pub fn config_schema() -> Value {
    let mut schema = generate::<ConfigFile>();
    let client = generate::<ClientServerBlock>();
    if let Some(servers) = schema.pointer_mut("/properties/mcpServers") {
        let full = servers["additionalProperties"].take();
        servers["patternProperties"] = json!({ pattern::ID: { "anyOf": [full, client] } });
        // Other clients allow any name; it is made into an id when the file is read.
        servers["additionalProperties"] = client;
        servers["propertyNames"] = json!({ "minLength": 1 });
    }
    // For editors only: reading the file gives better messages.
    if let Some(rule) = schema.pointer_mut("/$defs/RuleFields") {
        rule["minProperties"] = json!(1);
        rule["maxProperties"] = json!(1);
    }
    schema
}

pub fn capability_file_schema() -> Value {
    generate::<CapabilityShape>()
}

/// The schema of the files of a CMP tool: either of the two.
pub fn cmp_schema() -> Value {
    generate::<CmpFile>()
}

pub(crate) struct FileSchema {
    /// What `capdeck schema` calls it.
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
}

pub(crate) static CAPLET: LazyLock<FileSchema> =
    LazyLock::new(|| FileSchema::embedded("caplet", include_str!("schema/caplet.json")));

/// A config file after client entries have been rewritten.
pub(crate) static CONFIG: LazyLock<FileSchema> =
    LazyLock::new(|| FileSchema::embedded("config", include_str!("schema/config.json")));

/// A capability file. Unknown keys are warnings.
pub(crate) static CAPABILITIES: LazyLock<FileSchema> = LazyLock::new(|| {
    FileSchema::embedded("capabilities", include_str!("schema/capabilities.json"))
});

pub(crate) static CMP_MANIFEST: LazyLock<FileSchema> =
    LazyLock::new(|| FileSchema { name: "cmp", schema: generate::<ManifestFile>() });

pub(crate) static CMP_CAPABILITY: LazyLock<FileSchema> =
    LazyLock::new(|| FileSchema { name: "cmp", schema: generate::<CmpCapabilityFile>() });

impl FileSchema {
    fn embedded(name: &'static str, rules: &str) -> Self {
        // A test reads each of them.
        Self { name, schema: serde_json::from_str(rules).unwrap_or_default() }
    }

    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<T> {
        let read = serde_json::from_value(node.to_json()).ok();
        if read.is_none() {
            findings.add(self.unreadable());
        }
        read
    }

    /// What serde refuses although the schema allows it: a safety net, since the schema is meant to be at least as
    /// strict. Serde's own words would show the value, which may be a secret.
    pub(crate) fn unreadable(&self) -> Diagnostic {
        let fix = format!("compare the file with `capdeck schema {}`", self.name);
        Diagnostic::error("invalid-value", "a value is invalid for its field", fix)
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        property_names(&self.schema)
    }

    pub(crate) fn keys_of(&self, part: &str) -> Vec<&str> {
        self.schema.pointer(&format!("/$defs/{part}")).map(property_names).unwrap_or_default()
    }
}

fn property_names(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}

/// The largest integer that every JSON reader keeps exact.
const MAX_EXACT_INTEGER: u64 = (1 << 53) - 1;

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(as_written);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Makes the schema say what a file may hold rather than what a Rust type may.
///
/// An absent value is a missing key here and never `null`, integers stay within what JSON readers keep exact, and
/// Rust's own number formats mean nothing to an editor.
fn as_written(schema: &mut Schema) {
    transform_subschemas(&mut as_written, schema);
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    let maximum = match object.get("format").and_then(Value::as_str) {
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some(format) if format.starts_with("uint") => Some(MAX_EXACT_INTEGER),
        _ => None,
    };
    if let Some(maximum) = maximum {
        object.remove("format");
        object.entry("maximum").or_insert_with(|| json!(maximum));
    }
    if object.get("format").and_then(Value::as_str) == Some("double") {
        object.remove("format");
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| *branch != json!({ "type": "null" }));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes what no file is checked against.
    fn rules_only(schema: &mut Schema) {
        transform_subschemas(&mut rules_only, schema);
        for word in ["$schema", "title", "description", "default", "examples", "deprecated"] {
            schema.remove(word);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the variable is for people who run the test")]
    fn the_rules_are_those_of_the_types() {
        for (name, schema) in [
            ("caplet", generate::<CapletFile>()),
            ("config", generate::<ConfigFile>()),
            ("capabilities", generate::<CapabilityShape>()),
        ] {
            let mut rules = Schema::try_from(schema).unwrap();
            rules_only(&mut rules);
            let rules = serde_json::to_string_pretty(&rules).unwrap() + "\n";
            let path = format!("{}/src/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("CAPDECK_UPDATE_DOCS").is_some() {
                std::fs::write(&path, &rules).unwrap();
            }
            let written = std::fs::read_to_string(&path).unwrap();
            assert!(written == rules, "{path} is old; run this test with CAPDECK_UPDATE_DOCS=1");
        }
    }
}
