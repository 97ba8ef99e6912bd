//! The wrapper tool of a capability: one tool with an `operation` argument. Operations, fields and
//! response shapes are those of existing Caplets clients.

use std::time::Instant;

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    OperationResult,
    arguments::{OperationArguments, invalid},
    run,
};
use crate::{CallConsent, CallForm, RequestContext, ToolRequest, artifacts, calls};

/// Runs a wrapper call of the capability `id`. The other members of `outer`, such as answers to
/// questions, are for the server.
pub(crate) async fn call_wrapper(
    request: &RequestContext<'_>,
    id: &str,
    outer: &ToolRequest,
) -> Result<Box<RawValue>, CallError> {
    let started = Instant::now();
    let capability = &request.deck.capability(id)?;
    let fields = match &outer.arguments {
        None => Map::new(),
        Some(text) => serde_json::from_str(text.get())
            .map_err(|_| invalid("the arguments must be a JSON object".to_owned()))?,
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
    let written = match answer {
        OperationResult::Facts { item, facts, markdown } => {
            subject.item = item;
            subject.answer(&facts, &markdown)
        }
        OperationResult::Forwarded { answer, .. } if asks_for_input(&answer) => Some(answer),
        OperationResult::Forwarded { item, answer } => {
            subject.item = Some(item);
            subject.embed(&answer)
        }
    };
    let unwritten = "the answer could not be written as JSON";
    written.ok_or_else(|| CallError::new(ErrorCode::InternalError, unwritten))
}

async fn call_tool(
    request: &RequestContext<'_>,
    id: &str,
    arguments: &OperationArguments,
    outer: &ToolRequest,
) -> Result<Box<RawValue>, CallError> {
    let given = serde_json::value::to_raw_value(arguments.object("args")?)
        .map_err(|error| invalid(error.to_string()))?;
    let inner = ToolRequest {
        capability: id.to_owned(),
        tool: arguments.text("name")?.to_owned(),
        arguments: Some(given),
        fields: arguments.field_paths()?,
        meta: outer.meta.clone(),
        rest: outer.rest.clone(),
        consent: CallConsent::NotAsked,
        flow: outer.flow.clone(),
        whole: outer.whole,
        unformatted: outer.unformatted,
        form: CallForm::OwnName,
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
        let mut meta = Map::new();
        meta.insert("id".to_owned(), json!(definition.id));
        meta.insert("name".to_owned(), json!(definition.name));
        meta.insert("backend".to_owned(), json!(definition.backend.kind().as_str()));
        meta.insert("operation".to_owned(), json!(self.operation.wrapper_name()));
        if let Some((key, value)) = &self.item {
            meta.insert((*key).to_owned(), json!(value));
        }
        meta.insert("status".to_owned(), json!("ok"));
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        meta.insert("elapsedMs".to_owned(), json!(elapsed));
        Value::Object(meta)
    }

    fn answer(&self, result: &Value, markdown: &str) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(&json!({
            "content": [{ "type": "text", "text": markdown }],
            "structuredContent": { "caplets": self.meta(), "result": result },
        }))
        .ok()
    }

    /// Turns an MCP response into a tool result: its own members, `_meta.caplets`, and `content`
    /// for the model. Contents of a resource become content; other responses are shown as JSON.
    fn embed(&self, answer: &RawValue) -> Option<Box<RawValue>> {
        let annotated = self.annotate(answer)?;
        let mut object: RawMembers = serde_json::from_str(annotated.get()).ok()?;
        let read: Option<Vec<Box<RawValue>>> =
            object.get("contents").and_then(|contents| serde_json::from_str(contents.get()).ok());
        let content = match read {
            Some(read) => {
                let block = |resource| json!({ "type": "resource", "resource": resource });
                read.into_iter().map(block).collect()
            }
            None => json!([{ "type": "text", "text": answer.get() }]),
        };
        object.insert("content".to_owned(), serde_json::value::to_raw_value(&content).ok()?);
        serde_json::value::to_raw_value(&object).ok()
    }

    /// The server's own result with `_meta.caplets` added; everything else remains byte for byte.
    fn annotate(&self, result: &RawValue) -> Option<Box<RawValue>> {
        let mut object: RawMembers = serde_json::from_str(result.get()).ok()?;
        let mut meta: RawMembers = object
            .get("_meta")
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or_default();
        meta.insert("caplets".to_owned(), serde_json::value::to_raw_value(&self.meta()).ok()?);
        object.insert("_meta".to_owned(), serde_json::value::to_raw_value(&meta).ok()?);
        serde_json::value::to_raw_value(&object).ok()
    }
}

/// True when the server needs input from the client first. Such a response is forwarded whole.
fn asks_for_input(result: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct WrapperResultKind {
        #[serde(default, rename = "resultType")]
        result_type: Option<String>,
    }
    let kind: Option<WrapperResultKind> = serde_json::from_str(result.get()).ok();
    kind.and_then(|kind| kind.result_type).as_deref() == Some("input_required")
}
