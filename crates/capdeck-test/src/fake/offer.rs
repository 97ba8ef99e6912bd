//! What the fake server says it has.

use serde_json::{Value, json};

use super::{behaviour::BEHAVIOURS, plan::FakePlan};

/// An answer, or a JSON-RPC error object.
type FakeResult = Result<Value, Value>;

pub(super) fn initialize(plan: &FakePlan, params: &Value) -> Value {
    let version = match &plan.protocol_version {
        Some(version) => json!(version),
        None => params["protocolVersion"].clone(),
    };
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": capabilities(plan),
        "serverInfo": server_info(plan),
    });
    if let Some(instructions) = &plan.instructions {
        result["instructions"] = json!(instructions);
    }
    result
}

pub(super) fn server_info(plan: &FakePlan) -> Value {
    json!({"name": plan.name, "version": "1.0.0", "x-vendor": "kept"})
}

pub(super) fn capabilities(plan: &FakePlan) -> Value {
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if plan.everything {
        capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
        capabilities["prompts"] = json!({"listChanged": true});
        capabilities["completions"] = json!({});
        capabilities["logging"] = json!({});
    }
    capabilities
}

/// One page of tools. Cursors are positions in the list, as text.
pub(super) fn tools(plan: &FakePlan, added: &[String], params: &Value) -> FakeResult {
    let mut all = all_tools(plan, added);
    all.extend(from_file(plan, "tools")?);
    let Some(size) = plan.page_size else { return Ok(json!({"tools": all})) };
    let start = match params.get("cursor") {
        None => 0,
        Some(cursor) => match cursor.as_str().and_then(|text| text.parse::<usize>().ok()) {
            Some(position) => position,
            None => return Err(json!({"code": -32602, "message": "unknown cursor"})),
        },
    };
    let end = start.saturating_add(size);
    let mut page = json!({"tools": all.get(start..end.min(all.len())).unwrap_or_default()});
    if end < all.len() || plan.endless_pages {
        page["nextCursor"] = json!(end.to_string());
    }
    Ok(page)
}

/// Everything that is neither a tool nor the handshake.
pub(super) fn other(plan: &FakePlan, method: &str, params: &Value, is_modern: bool) -> FakeResult {
    match method {
        "resources/list" => with_file(
            plan,
            "resources",
            json!([
                {"uri": "fake://note", "name": "note", "description": "A note", "mimeType": "text/plain", "x-unknown": 1},
            ]),
        ),
        "resources/templates/list" => with_file(
            plan,
            "resourceTemplates",
            json!([
                {"uriTemplate": "fake://items/{id}", "name": "item", "description": "An item by number"},
            ]),
        ),
        "resources/read" => read_resource(params["uri"].as_str().unwrap_or_default(), is_modern),
        "prompts/list" => with_file(
            plan,
            "prompts",
            json!([{
                "name": "greet",
                "description": "Greets somebody",
                "arguments": [{"name": "who", "description": "Whom to greet", "required": true}],
            }]),
        ),
        "prompts/get" => {
            let who = params["arguments"]["who"].as_str().unwrap_or("nobody");
            let content = json!({"type": "text", "text": format!("Greet {who}")});
            Ok(json!({"messages": [{"role": "user", "content": content}]}))
        }
        "completion/complete" => {
            let start = params["argument"]["value"].as_str().unwrap_or_default();
            let names = ["anna", "anton", "berta"];
            let values: Vec<&str> =
                names.into_iter().filter(|name| name.starts_with(start)).collect();
            Ok(json!({"completion": {"values": values, "hasMore": false}}))
        }
        _ => Err(method_not_found(method)),
    }
}

/// A whole list: what the server always has, and what its file adds.
fn with_file(plan: &FakePlan, member: &str, always: Value) -> FakeResult {
    let Value::Array(mut entries) = always else { unreachable!("lists are arrays") };
    entries.extend(from_file(plan, member)?);
    Ok(json!({ member: entries }))
}

/// What the plan's file adds to a list at this moment.
fn from_file(plan: &FakePlan, member: &str) -> Result<Vec<Value>, Value> {
    let Some(path) = &plan.list_file else { return Ok(Vec::new()) };
    let read = || -> Option<Value> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok().filter(Value::is_object)
    };
    let lists =
        read().ok_or_else(|| json!({"code": -32603, "message": "the list file is broken"}))?;
    Ok(lists[member].as_array().cloned().unwrap_or_default())
}

/// A prompt or a resource made of what the client answered.
pub(super) fn answered(method: &str, answer: &Value) -> Value {
    let text = answer.to_string();
    match method {
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
        }
        _ => {
            json!({"contents": [{"uri": "fake://question", "mimeType": "text/plain", "text": text}]})
        }
    }
}

pub(super) fn method_not_found(method: &str) -> Value {
    json!({"code": -32601, "message": format!("method not found: {method}")})
}

fn read_resource(uri: &str, is_modern: bool) -> FakeResult {
    let text = match uri.strip_prefix("fake://items/") {
        Some(number) => format!("item {number}"),
        None if uri == "fake://note" => "a note".to_owned(),
        None => {
            let code = if is_modern { -32602 } else { -32002 };
            return Err(
                json!({"code": code, "message": "resource not found", "data": {"uri": uri}}),
            );
        }
    };
    Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}))
}

fn all_tools(plan: &FakePlan, added: &[String]) -> Vec<Value> {
    let behaviours = BEHAVIOURS.iter().filter(|_| plan.behaviours);
    let mut tools: Vec<Value> = behaviours
        .map(|(name, description)| match *name {
            "structured" => structured(description),
            name => plain(name, description),
        })
        .collect();
    tools.extend((0..plan.tools).map(generated));
    tools.extend(added.iter().map(|name| plain(name, "Added while running")));
    tools.extend(plan.extra_tools.iter().cloned());
    if plan.duplicate_tools
        && let Some(first) = tools.first().cloned()
    {
        tools.push(first);
    }
    tools
}

fn plain(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

/// A tool with parts that careless middlemen drop: `$defs`, `$ref`, `execution`, unknown members.
fn structured(description: &str) -> Value {
    json!({
        "name": "structured",
        "title": "Structured",
        "description": description,
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"origin": {"$ref": "#/$defs/point"}},
            "$defs": {"point": {"$anchor": "point", "type": "object", "properties": {"x": {"type": "number"}}}},
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"point": {"$ref": "#/$defs/point"}},
            "required": ["point"],
            "$defs": {"point": {"type": "object", "required": ["x", "y"]}},
        },
        "annotations": {"readOnlyHint": true, "x-hint": "kept"},
        "execution": {"taskSupport": "forbidden"},
        "_meta": {"example.com/kept": [1, 2.50]},
        "x-unknown": {"z": 1, "a": 2},
    })
}

/// The schema has about the size of a real tool's.
fn generated(number: usize) -> Value {
    json!({
        "name": format!("tool_{number:05}"),
        "description": format!("Reads item {number} of a store and reports what changed since a given day"),
        "inputSchema": {
            "type": "object",
            "properties": {
                "item": {"type": "string", "description": "Which item to read"},
                "since": {"type": "string", "format": "date", "description": "Only changes after this day"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            },
        },
    })
}
