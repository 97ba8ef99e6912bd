//! `capsol_write`: a new entry, a new body, or changes to one.

use capdeck_capsule::{PatchStep, RiskClass};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ToolAnswer, ToolRun, parse};
use crate::capsules::{CapsuleError, WriteMode, WriteRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteToolArguments {
    capsule: Option<String>,
    uri: String,
    /// A string, or a JSON value whose text becomes the body as it was sent.
    content: Option<Box<RawValue>>,
    mode: Option<WriteMode>,
    patch: Option<Vec<PatchStep>>,
    title: Option<String>,
    tags: Option<Vec<String>>,
    risk_class: Option<RiskClass>,
    #[serde(default)]
    file_anchors: Vec<String>,
    commit: Option<String>,
    if_version: Option<u64>,
    idempotency_key: Option<String>,
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let given: WriteToolArguments = parse(arguments)?;
    let content = given.content.filter(|content| content.get() != "null");
    let write = WriteRequest {
        uri: given.uri,
        mode: given.mode,
        content: content.map(|content| body(&content)),
        patch: given.patch,
        title: given.title,
        tags: given.tags,
        risk_class: given.risk_class,
        file_anchors: given.file_anchors,
        commit: given.commit,
        if_version: given.if_version,
        idempotency_key: given.idempotency_key,
        blob: None,
    };
    let outcome = run.ask(given.capsule.as_deref(), write).await?.outcome;
    let done = match (outcome.repeated, outcome.created) {
        (true, _) => "was written before, as",
        (false, true) => "created",
        (false, false) => "written",
    };
    let reason = outcome.promotion_reason.map(|reason| format!(" ({})", reason.as_str()));
    let (uri, version, class) = (&outcome.uri, outcome.version, outcome.risk_class.as_str());
    let text = format!("{uri} {done} version {version}, {class}{}", reason.unwrap_or_default());
    Ok(ToolAnswer::new(text, &outcome))
}

fn body(content: &RawValue) -> String {
    serde_json::from_str(content.get()).unwrap_or_else(|_| content.get().to_owned())
}
