//! The OpenAPI 3.1 document, built from the same table as the router.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{RequiredAccess, RestOperation, problem::ProblemDetails};

const API_DESCRIPTION: &str = "The REST API of the dashboard. \
Lists are paged as `{items, next_cursor}`; a cursor is valid for its list and filters. \
Errors are `application/problem+json` with a stable `code`. \
Objects without access return 404, like objects that do not exist. \
`Idempotency-Key` makes a POST safe to repeat for 24 hours while the host runs: the same request gets the same response, another request with the same key is rejected. \
Entries have strong entity tags: a write with `If-Match` requires that version, with `If-None-Match: *` that no entry exists; \
a write without either replaces the current version, like the tool for agents, and the old version stays in the history. \
Deck objects have the member names of `capdeck … --json`; objects of capsules and of the registry use snake case.";

const COMMON_STATUSES: [u16; 5] = [400, 401, 403, 429, 503];

pub(super) fn document(operations: &[RestOperation], version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ProblemDetails>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let path = operation.declared.path.replace("{*", "{");
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[operation.declared.method.as_str().to_ascii_lowercase()] =
            operation_object(operation, &mut generator);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Capdeck", "version": version, "description": API_DESCRIPTION },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, { "session": [] }, {}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The admin key, an operator key or a client token. Not needed in local mode.",
                },
                "enrollment": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of an enrollment.",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-capdeck",
                    "description": "A signed-in operator; without HTTPS the cookie is named `capdeck`. Requests other than GET also need the header `x-capdeck-csrf`.",
                },
            },
            "responses": {
                "Problem": {
                    "description": "The error",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    });
    for change in [without_boolean_schemas, plain_enums, without_empty_defaults] {
        for_each_object(&mut document, change);
    }
    document
}

/// A body of bytes, as client generators expect it.
fn binary() -> Value {
    json!({ "schema": { "type": "string", "format": "binary" } })
}

/// Changes every object of a document, the outer ones first.
fn for_each_object(value: &mut Value, change: fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            change(members);
            members.values_mut().for_each(|member| for_each_object(member, change));
        }
        Value::Array(all) => all.iter_mut().for_each(|one| for_each_object(one, change)),
        _ => {}
    }
}

/// Turns a choice of constant strings into an `enum`: generators make one type of it instead of one per constant. Descriptions
/// of constants move to the enum.
fn plain_enums(members: &mut Map<String, Value>) {
    let Some((texts, notes)) = members.get("oneOf").and_then(constant_texts) else { return };
    members.shift_remove("oneOf");
    let about = members.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{about}\n\n{notes}").trim().to_owned();
    members.insert("type".to_owned(), json!("string"));
    members.insert("enum".to_owned(), json!(texts));
    if !about.is_empty() {
        members.insert("description".to_owned(), json!(about));
    }
}

/// The constants of a pure string choice, with their descriptions.
fn constant_texts(choices: &Value) -> Option<(Vec<Value>, String)> {
    let (mut texts, mut notes) = (Vec::new(), Vec::new());
    for choice in choices.as_array()? {
        if choice.get("type")? != "string" {
            return None;
        }
        let described = choice.get("description").and_then(Value::as_str);
        match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
            (Some(text), None) => {
                texts.push(text.clone());
                let note = |about| format!("`{}`: {about}", text.as_str().unwrap_or_default());
                notes.extend(described.map(note));
            }
            (None, Some(several)) => texts.extend(several.iter().cloned()),
            _ => return None,
        }
    }
    Some((texts, notes.join("\n\n")))
}

/// Removes empty defaults, such as an empty list: some generators treat a member with a default as required.
fn without_empty_defaults(members: &mut Map<String, Value>) {
    let properties = members.get_mut("properties").and_then(Value::as_object_mut);
    for schema in properties.into_iter().flat_map(|all| all.values_mut()) {
        let empty = [Value::Null, Value::Bool(false), json!([]), json!({})];
        if let Some(schema) = schema.as_object_mut()
            && schema.get("default").is_some_and(|default| empty.contains(default))
        {
            schema.shift_remove("default");
        }
    }
}

/// Replaces the schema `true` by `{}`: some generators accept only objects.
fn without_boolean_schemas(members: &mut Map<String, Value>) {
    let open = |schema: &mut Value| {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
    };
    for (keyword, member) in members.iter_mut() {
        match (keyword.as_str(), member) {
            ("items", schema) => open(schema),
            ("properties", Value::Object(all)) => all.values_mut().for_each(open),
            ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => all.iter_mut().for_each(open),
            _ => {}
        }
    }
}

fn operation_object(operation: &RestOperation, generator: &mut SchemaGenerator) -> Value {
    let description = format!(
        "{}\n\nWho may: {}",
        operation.declared.about,
        operation.declared.who.description()
    );
    let mut item = json!({
        "operationId": operation.declared.name,
        "tags": [tag(operation.declared.path)],
        "summary": operation.declared.summary,
        "description": description.trim(),
        "parameters": parameters(operation),
        "responses": responses(operation, generator),
    });
    if operation.declared.who == RequiredAccess::Stranger {
        // Only the enrollment's own token identifies the sender.
        let token =
            operation.declared.places().next().map_or(json!({}), |_| json!({ "enrollment": [] }));
        item["security"] = json!([token]);
    }
    if !operation.body.media_types.is_empty() {
        let schema = (operation.body.schema)(generator).map(|schema| json!({ "schema": schema }));
        let schema = schema.unwrap_or_else(binary);
        let types = operation.body.media_types.iter();
        let content: Map<String, Value> =
            types.map(|name| ((*name).to_owned(), schema.clone())).collect();
        item["requestBody"] = json!({ "required": operation.body.is_required, "content": content });
    }
    item
}

fn tag(path: &str) -> &str {
    let mut parts = path.split('/').skip(1).filter(|part| *part != "v1");
    parts.next().unwrap_or_default()
}

fn parameters(operation: &RestOperation) -> Vec<Value> {
    let mut entries: Vec<Value> = operation
        .declared
        .places()
        .map(|name| {
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "description": parameter_description(name),
                "schema": { "type": "string", "minLength": 1 },
            })
        })
        .collect();
    let required: Vec<&str> = operation.query.schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, schema) in operation.query.schema["properties"].as_object().into_iter().flatten() {
        let mut schema = schema.clone();
        let description =
            schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
        entries.push(json!({
            "name": name,
            "in": "query",
            "required": required.contains(&name.as_str()),
            "description": description.unwrap_or_default(),
            "schema": without_null(schema),
        }));
    }
    let mut header = |name: &str, description: &str, longest: u32| {
        entries.push(json!({
            "name": name,
            "in": "header",
            "required": false,
            "description": description,
            "schema": { "type": "string", "minLength": 1, "maxLength": longest },
        }));
    };
    if operation.declared.is_conditional {
        header("If-Match", "The required version of the entry: its `ETag`.", 64);
        header("If-None-Match", "`*`: the entry must not exist.", 64);
    }
    if accepts_idempotency_key(operation) {
        header(
            "Idempotency-Key",
            "The same key and request get the same response for 24 hours.",
            128,
        );
    }
    entries
}

/// `Idempotency-Key` requires a known sender, because responses are stored per principal.
fn accepts_idempotency_key(operation: &RestOperation) -> bool {
    operation.declared.method == http::Method::POST
        && operation.declared.who != RequiredAccess::Stranger
}

fn parameter_description(name: &str) -> &'static str {
    match name {
        "capsule" => "The capsule's id or name",
        "scheme" => "The scheme of the entry's address, such as `docs`",
        "path" => "The rest of the entry's address; slashes need no encoding",
        "capability" => "The capability's id",
        "tool" => "The tool's original name",
        _ => "The id",
    }
}

/// A query parameter is set or absent, never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
        if let [only] = choices.as_slice() {
            return only.clone();
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|one| !one.is_null());
    }
    schema
}

fn responses(operation: &RestOperation, generator: &mut SchemaGenerator) -> Value {
    let schema = (operation.answer.schema)(generator);
    let schema = schema.map_or_else(binary, |schema| json!({ "schema": schema }));
    let mut responses = Map::new();
    for status in operation.declared.success {
        let mut answer = json!({ "description": described_status(*status) });
        if let Some(media_type) = operation.answer.media_type
            && !matches!(status, 204 | 304)
        {
            answer["content"] = json!({ media_type: schema });
            if operation.declared.is_conditional || operation.declared.success.contains(&304) {
                answer["headers"] = json!({ "ETag": {
                    "description": "The state of the response; send it as `If-Match` or `If-None-Match`.",
                    "schema": { "type": "string" },
                } });
            }
        }
        responses.insert(status.to_string(), answer);
    }
    let has_places = operation.declared.places().next().is_some();
    let takes_body = !operation.body.media_types.is_empty();
    let also = [
        (has_places, &[404][..]),
        (true, &[413]),
        (takes_body, &[415]),
        (accepts_idempotency_key(operation), &[409, 422]),
        (operation.declared.is_conditional, &[412]),
    ];
    let also = also.into_iter().filter(|(applies, _)| *applies).flat_map(|(_, all)| all);
    let mut statuses: Vec<u16> =
        COMMON_STATUSES.iter().chain(also).chain(operation.declared.problems).copied().collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(responses)
}

fn described_status(status: u16) -> &'static str {
    match status {
        201 => "Created",
        204 => "Done, without content",
        304 => "Not modified",
        _ => "Done",
    }
}
