//! `capsol_write`: a new entry, a new body, or changes to one.

use capdeck_capsule::{PatchStep, RiskClass};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Answer, ToolCaller,
    answer::{member, only},
    parse,
};
use crate::capsules::{CapsuleFailure, CapsuleOperation, EntryWrite, WriteMode};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
    by: &ToolCaller<'_>,
    arguments: Option<&RawValue>,
) -> Result<Answer, CapsuleFailure> {
    let Arguments {
        capsule,
        uri,
        content,
        mode,
        patch,
        title,
        tags,
        risk_class,
        file_anchors,
        commit,
        if_version,
        idempotency_key,
    } = parse(arguments)?;
    let content = content.filter(|content| content.get() != "null").map(|content| body(&content));
    let write = EntryWrite {
        uri,
        mode,
        content,
        patch,
        title,
        tags,
        risk_class,
        file_anchors,
        commit,
        if_version,
        idempotency_key,
        blob: None,
    };
    let written = by.ask(capsule.as_deref(), CapsuleOperation::Write(write)).await?;
    let facts = only(
        &written,
        &["uri", "version", "created", "risk_class", "promotion_reason", "repeated"],
    );
    let done = if facts["repeated"] == true {
        "was written before, as"
    } else if facts["created"] == true {
        "created"
    } else {
        "written"
    };
    let reason = match member(&facts, "promotion_reason") {
        reason if reason.is_empty() => reason,
        reason => format!(" ({reason})"),
    };
    let text = format!(
        "{} {done} version {}, {}{reason}",
        member(&facts, "uri"),
        facts["version"],
        member(&facts, "risk_class"),
    );
    Ok(Answer { text, facts })
}

fn body(content: &RawValue) -> String {
    serde_json::from_str(content.get()).unwrap_or_else(|_| content.get().to_owned())
}
