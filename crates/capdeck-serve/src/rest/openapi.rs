//! The document of all operations: OpenAPI 3.1, made from the table that the router is made from.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{operation::Operation, problem::Problem, who::Who};

const ABOUT: &str = "Everything that the dashboard does, for programs. \
Lists come in pages of `{items, next_cursor}`; a cursor belongs to its list and filters. \
Problems are `application/problem+json` with a `code` that programs can rely on. \
What you may not know does not exist here: it is answered like something that was never there. \
`Idempotency-Key` makes a POST safe to repeat for 24 hours while the host runs: the same request gets the same answer, another request under the same key is refused. \
Entries have strong tags: a write with `If-Match` happens only on that version, with `If-None-Match: *` only where there is nothing; \
a write without either replaces what is there, as the tool for agents does, and the version before stays in the history. \
Members of the deck's objects have the names that `capdeck … --json` gives them; those of capsules and of the registry are in snake case.";

/// Statuses that any operation can end with.
const ANY: [u16; 5] = [400, 401, 403, 429, 503];

/// The whole document.
pub(super) fn document(operations: &[Operation], version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let path = operation.path.replace("{*", "{");
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[operation.method.as_str().to_ascii_lowercase()] = described(operation, &mut generator);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Capdeck", "version": version, "description": ABOUT },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, { "session": [] }, {}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The host's key, or the token of a client. On a host for this machine alone none is needed.",
                },
                "enrollment": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token that a sign-up was answered with.",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-capdeck",
                    "description": "A signed-in operator; without HTTPS the cookie is called `capdeck`. Everything but GET needs the header `x-capdeck-csrf`, too.",
                },
            },
            "responses": {
                "Problem": {
                    "description": "Why it was not done",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    });
    without_boolean_schemas(&mut document);
    plain_enums(&mut document);
    without_empty_defaults(&mut document);
    document
}

/// A body of bytes, in the words that generators of clients know.
fn binary() -> Value {
    json!({ "schema": { "type": "string", "format": "binary" } })
}

/// Writes a choice between constant texts as an `enum`: generators make one type of that, and of each constant its own.
/// What was said about a constant is said about the whole.
fn plain_enums(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some((texts, notes)) = members.get("oneOf").and_then(constant_texts) {
                members.shift_remove("oneOf");
                let about = members.get("description").and_then(Value::as_str).unwrap_or_default();
                let about = format!("{about}\n\n{notes}").trim().to_owned();
                members.insert("type".to_owned(), json!("string"));
                members.insert("enum".to_owned(), json!(texts));
                if !about.is_empty() {
                    members.insert("description".to_owned(), json!(about));
                }
            }
            members.values_mut().for_each(plain_enums);
        }
        Value::Array(all) => all.iter_mut().for_each(plain_enums),
        _ => {}
    }
}

/// The texts of a choice that has nothing else, and what is said about each.
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

/// Leaves out defaults that say nothing, such as an empty list: some generators take a member with a default for one that
/// has to be sent.
fn without_empty_defaults(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            for schema in properties.into_iter().flat_map(|all| all.values_mut()) {
                let empty = [Value::Null, Value::Bool(false), json!([]), json!({})];
                if let Some(schema) = schema.as_object_mut()
                    && schema.get("default").is_some_and(|default| empty.contains(default))
                {
                    schema.shift_remove("default");
                }
            }
            members.values_mut().for_each(without_empty_defaults);
        }
        Value::Array(all) => all.iter_mut().for_each(without_empty_defaults),
        _ => {}
    }
}

/// Writes `true`, which is a schema that takes everything, as `{}`: some generators read schemas as objects only.
fn without_boolean_schemas(value: &mut Value) {
    let open = |schema: &mut Value| {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
    };
    match value {
        Value::Object(members) => {
            for (keyword, member) in members.iter_mut() {
                match (keyword.as_str(), &mut *member) {
                    ("items", schema) => open(schema),
                    ("properties", Value::Object(all)) => all.values_mut().for_each(open),
                    ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => {
                        all.iter_mut().for_each(open);
                    }
                    _ => {}
                }
                without_boolean_schemas(member);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(without_boolean_schemas),
        _ => {}
    }
}

fn described(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let description = format!("{}\n\nWho may: {}", operation.about, operation.who.told());
    let mut told = json!({
        "operationId": operation.name,
        "tags": [tag(operation.path)],
        "summary": operation.summary,
        "description": description.trim(),
        "parameters": parameters(operation),
        "responses": responses(operation, generator),
    });
    if operation.who == Who::Stranger {
        // What identifies the sender, where something has to, is the sign-up's own token.
        let token = operation.places().next().map_or(json!({}), |_| json!({ "enrollment": [] }));
        told["security"] = json!([token]);
    }
    if !operation.body.media_types.is_empty() {
        let schema = (operation.body.schema)(generator).map(|schema| json!({ "schema": schema }));
        let schema = schema.unwrap_or_else(binary);
        let types = operation.body.media_types.iter();
        let content: Map<String, Value> =
            types.map(|name| ((*name).to_owned(), schema.clone())).collect();
        told["requestBody"] = json!({ "required": operation.body.is_required, "content": content });
    }
    told
}

/// The first word after the version, or after the deck.
fn tag(path: &str) -> &str {
    let mut parts = path.split('/').skip(1).filter(|part| *part != "v1");
    parts.next().unwrap_or_default()
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let mut told: Vec<Value> = operation
        .places()
        .map(|name| {
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "description": place_told(name),
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
        told.push(json!({
            "name": name,
            "in": "query",
            "required": required.contains(&name.as_str()),
            "description": description.unwrap_or_default(),
            "schema": without_null(schema),
        }));
    }
    let mut header = |name: &str, description: &str, longest: u32| {
        told.push(json!({
            "name": name,
            "in": "header",
            "required": false,
            "description": description,
            "schema": { "type": "string", "minLength": 1, "maxLength": longest },
        }));
    };
    if operation.is_conditional {
        header("If-Match", "Only on this version of the entry: its `ETag`.", 64);
        header("If-None-Match", "`*`: only where there is no entry.", 64);
    }
    if takes_key(operation) {
        header(
            "Idempotency-Key",
            "The same key and request get the same answer for 24 hours.",
            128,
        );
    }
    told
}

/// Whether `Idempotency-Key` is taken: where somebody is known, for whom an answer can be kept.
fn takes_key(operation: &Operation) -> bool {
    operation.method == http::Method::POST && operation.who != Who::Stranger
}

fn place_told(name: &str) -> &'static str {
    match name {
        "capsule" => "The capsule's id or name",
        "scheme" => "The scheme of the entry's address, such as `docs`",
        "path" => "The rest of the entry's address; slashes may stand as they are",
        "capability" => "The capability's id",
        "tool" => "The tool's own name",
        _ => "The id",
    }
}

/// In a query something is given or left out; null cannot be written.
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

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let content = (operation.answer)(generator);
    let mut told = Map::new();
    for status in operation.success {
        let mut answer = json!({ "description": described_status(*status) });
        if let Some((media_type, schema)) = &content
            && !matches!(status, 204 | 304)
        {
            let schema = schema.as_ref().map_or_else(binary, |schema| json!({ "schema": schema }));
            answer["content"] = json!({ *media_type: schema });
            if operation.is_conditional || operation.success.contains(&304) {
                answer["headers"] = json!({ "ETag": {
                    "description": "The state that was answered; send it as `If-Match` or `If-None-Match`.",
                    "schema": { "type": "string" },
                } });
            }
        }
        told.insert(status.to_string(), answer);
    }
    let has_places = operation.places().next().is_some();
    let takes_body = !operation.body.media_types.is_empty();
    let also = [
        (has_places, &[404][..]),
        (true, &[413]),
        (takes_body, &[415]),
        (takes_key(operation), &[409, 422]),
        (operation.is_conditional, &[412]),
    ];
    let also = also.into_iter().filter(|(applies, _)| *applies).flat_map(|(_, all)| all);
    let mut statuses: Vec<u16> =
        ANY.iter().chain(also).chain(operation.problems).copied().collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        told.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(told)
}

fn described_status(status: u16) -> &'static str {
    match status {
        201 => "Made",
        204 => "Done; there is nothing to say",
        304 => "You have it as it is",
        _ => "Done",
    }
}
