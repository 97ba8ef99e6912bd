//! The wrapper tool of a capability: one tool with an `operation` argument. Operations, fields and
//! response shapes are those of existing Caplets clients.

use std::{sync::Arc, time::Instant};

use capdeck_backend::{ArtifactUri, CallError};
use capdeck_catalog::{Capability, Discovery, RawMembers, Tool};
use capdeck_definition::{BackendKind, CapabilityId, Deck, Definition};
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    OperationResult,
    arguments::{OperationArguments, operations_of},
    run,
};
use crate::{
    CallConsent, CallForm, RequestContext, ToolRequest, artifacts, audit::elapsed_ms, calls,
    linked_files::linked_files, meta_tools::answer_with, raw, view::add_origin,
};

/// Runs a wrapper call of the capability `id`. The other members of `outer`, such as answers to
/// questions, are for the server.
pub(crate) async fn call_wrapper(
    request: &RequestContext<'_>,
    id: &str,
    outer: &ToolRequest,
) -> raw::Answer {
    let started = Instant::now();
    let capability = &request.deck.capability(id)?;
    let fields = match &outer.arguments {
        None => Map::new(),
        Some(text) => serde_json::from_str(text.get())
            .map_err(|_| CallError::invalid_request("the arguments must be a JSON object"))?,
    };
    let kind = capability.definition.backend.kind();
    let (operation, arguments) =
        OperationArguments::of_wrapper(&capability.definition.id, kind, fields)?;
    let mut subject = WrapperSubject { capability, operation, item: None, started };
    if operation == DeckOperation::CallTool {
        let name = arguments.text("name")?;
        if ArtifactUri::is_meant(name) {
            return artifacts::read_on(&request.deck, name).await;
        }
        let result = call_tool(request, id, &arguments, outer).await?;
        if asks_for_input(&result) {
            return Ok(result);
        }
        subject.item = Some(("tool", name.to_owned()));
        return Ok(subject.annotate(&result).unwrap_or(result));
    }
    let answer = run(request, capability, operation, &arguments, &outer.rest).await?;
    match answer {
        OperationResult::Facts { item, facts, markdown } => {
            subject.item = item;
            answer_with(&json!({ "caplets": subject.meta(), "result": facts }), markdown)
        }
        OperationResult::Forwarded { answer, .. } if asks_for_input(&answer) => Ok(answer),
        OperationResult::Forwarded { item, answer } => {
            subject.item = Some(item);
            let unwritten = || CallError::internal("the answer could not be written as JSON");
            subject.embed(&answer).ok_or_else(unwritten)
        }
    }
}

async fn call_tool(
    request: &RequestContext<'_>,
    id: &str,
    arguments: &OperationArguments,
    outer: &ToolRequest,
) -> raw::Answer {
    let inner = ToolRequest {
        capability: id.to_owned(),
        tool: arguments.text("name")?.to_owned(),
        arguments: Some(raw::text(arguments.object("args")?)?),
        fields: arguments.field_paths()?,
        consent: CallConsent::NotAsked,
        form: CallForm::OwnName,
        ..outer.clone()
    };
    calls::call(request.clone(), &inner).await
}

struct WrapperSubject<'a> {
    capability: &'a Capability,
    operation: DeckOperation,
    item: Option<(&'static str, String)>,
    started: Instant,
}

impl WrapperSubject<'_> {
    fn meta(&self) -> Value {
        let definition = &self.capability.definition;
        let mut meta = json!({
            "id": definition.id,
            "name": definition.name,
            "backend": definition.backend.kind().as_str(),
            "operation": self.operation.wrapper_name(),
        });
        if let Some((key, value)) = &self.item {
            meta[*key] = json!(value);
        }
        meta["status"] = json!("ok");
        meta["elapsedMs"] = json!(elapsed_ms(self.started));
        meta
    }

    /// The same for the result of a call: whether it failed, and the files that its text links to.
    fn result_meta(&self, result: &RawValue) -> Value {
        let mut meta = self.meta();
        if calls::is_tool_error(result) {
            meta["status"] = json!("error");
        }
        if self.capability.definition.backend.kind() == BackendKind::Mcp {
            let linked = linked_files(result);
            if !linked.is_empty() {
                meta["artifacts"] = Value::Array(linked);
            }
        }
        meta
    }

    /// Turns an MCP response into a tool result: its own members, `_meta.caplets`, and `content`
    /// for the model. Contents of a resource become content; other responses are shown as JSON.
    fn embed(&self, answer: &RawValue) -> Option<Box<RawValue>> {
        let mut object: RawMembers = raw::parse(&self.annotate(answer)?)?;
        let content = match raw::get::<Vec<Box<RawValue>>>(&object, "contents") {
            Some(read) => {
                let block = |resource| json!({ "type": "resource", "resource": resource });
                read.into_iter().map(block).collect()
            }
            None => json!([{ "type": "text", "text": answer.get() }]),
        };
        raw::set(&mut object, "content", &content);
        raw::text(&object).ok()
    }

    /// The server's own result with `_meta.caplets` added; everything else remains byte for byte.
    fn annotate(&self, result: &RawValue) -> Option<Box<RawValue>> {
        let mut object: RawMembers = raw::parse(result)?;
        add_origin(&mut object, self.result_meta(result));
        raw::text(&object).ok()
    }
}

/// True when the server needs input from the client first. Such a response is forwarded whole.
fn asks_for_input(result: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct WrapperResultKind {
        #[serde(default, rename = "resultType")]
        result_type: Option<String>,
    }
    let kind: Option<WrapperResultKind> = raw::parse(result);
    kind.and_then(|kind| kind.result_type).as_deref() == Some("input_required")
}

pub(crate) fn wrapper_tool(name: &str, definition: &Definition) -> Option<Tool> {
    let value = json!({
        "name": name,
        "title": definition.name,
        "description": wrapper_description(definition),
        "inputSchema": input_schema(definition.backend.kind()),
    });
    Tool::new(serde_json::from_str(&value.to_string()).ok()?)
}

fn wrapper_description(definition: &Definition) -> String {
    let mut text = format!("{}: {}", definition.name, definition.description.trim());
    if let Some(hint) = &definition.hints.use_when {
        text.push_str(&format!("\nUse when: {hint}"));
    }
    if let Some(hint) = &definition.hints.avoid_when {
        text.push_str(&format!("\nAvoid when: {hint}"));
    }
    text.push_str(
        "\nFind a tool with `search_tools` or `tools`, read it with `describe_tool`, \
         run it with `call_tool` and `args`.",
    );
    text
}

fn input_schema(kind: BackendKind) -> Value {
    let operations: Vec<&str> = operations_of(kind).map(DeckOperation::wrapper_name).collect();
    let mut properties = json!({
        "operation": { "type": "string", "enum": operations },
        "query": { "type": "string" },
        "limit": { "type": "integer", "minimum": 1 },
        "cursor": { "type": "string" },
        "name": { "type": "string", "description": "Tool or prompt name" },
        "args": { "type": "object", "properties": {}, "description": "Arguments of the tool or prompt" },
        "fields": {
            "type": "array", "minItems": 1, "items": { "type": "string" },
            "description": "Dotted paths of the result to keep"
        },
    });
    let of_servers = json!({
        "uri": { "type": "string" },
        "ref": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": { "type": "string", "enum": ["prompt", "resourceTemplate"] },
                "name": { "type": "string" },
                "uri": { "type": "string" }
            }
        },
        "argument": {
            "type": "object", "required": ["name", "value"],
            "properties": { "name": { "type": "string" }, "value": { "type": "string" } }
        },
        "context": {
            "type": "object",
            "properties": {
                "arguments": { "type": "object", "properties": {}, "additionalProperties": { "type": "string" } }
            }
        },
    });
    if kind == BackendKind::Mcp
        && let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), of_servers)
    {
        properties.extend(more);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["operation"],
        "additionalProperties": false,
    })
}

/// The tools of a set: one wrapper per member.
pub(crate) fn set_discovery(set: &CapabilityId, deck: &Deck) -> Discovery {
    let members = deck
        .definitions
        .iter()
        .filter(|definition| definition.member_of.as_ref() == Some(set) && !definition.disabled);
    let tools = members
        .filter_map(|definition| wrapper_tool(member_name(set, &definition.id), definition))
        .map(Arc::new)
        .collect();
    Discovery { tools, ..Discovery::default() }
}

/// A member's id without the set's: `toolkit__osv` is `osv` inside `toolkit`.
pub(crate) fn member_name<'a>(set: &CapabilityId, member: &'a CapabilityId) -> &'a str {
    let text = member.as_str();
    text.strip_prefix(set.as_str()).and_then(|rest| rest.strip_prefix("__")).unwrap_or(text)
}
