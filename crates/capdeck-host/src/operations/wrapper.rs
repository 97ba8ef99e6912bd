//! The wrapper tool of a capability: one tool with an `operation` argument. Operations, fields and
//! response shapes are those of existing Caplets clients.

use std::time::Instant;

use capdeck_backend::{ArtifactUri, CallError};
use capdeck_catalog::{Capability, RawMembers};
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json, value::RawValue};

use super::{OperationResult, arguments::OperationArguments, run};
use crate::{
    CallConsent, CallForm, RequestContext, ToolRequest, artifacts, audit::elapsed_ms, calls,
    meta_tools::answer_with, raw, view::add_origin,
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
        add_origin(&mut object, self.meta());
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
