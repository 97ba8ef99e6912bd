//! Selects fields of a result by dotted paths, which pass through arrays: `items.id` is the id of
//! every item. With an output schema the paths are checked before the call; otherwise missing ones
//! are reported.

mod field_picker;
mod schema;

use std::io::BufReader;

use capdeck_backend::{ArtifactStore, ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers, Tool};
use capdeck_definition::Backend;
use serde_json::{
    Value,
    de::{IoRead, StrRead},
    json,
    value::RawValue,
};

use self::{
    field_picker::{FieldSelection, pick, segments},
    schema::missing,
};
use crate::{durable::blocking, partial_json::PartialJson, raw};

/// Max bytes of a selection from an artifact. A message stays below the 16 MiB frame.
const MAX_SELECTION_BYTES: usize = 8 * 1024 * 1024;

/// Where a backend that is not an MCP server puts a large body, and the member it replaces.
const ARTIFACT_POINTERS: [(&str, &str); 2] = [("body", "/uri"), ("json", "/artifact/uri")];

/// Whether fields of this tool's result can be selected: always; `checked` when its output schema
/// names them.
pub(crate) fn support(capability: &Capability, tool: &Tool) -> Value {
    if let Backend::Caplets(_) = capability.definition.backend {
        return json!({ "supported": false, "reason": "inner_call" });
    }
    json!({ "supported": true, "checked": tool.output_schema().is_some() })
}

pub(crate) fn check(
    fields: &[String],
    capability: &Capability,
    tool: &Tool,
) -> Result<(), CallError> {
    if fields.is_empty() {
        return Ok(());
    }
    if let Backend::Caplets(_) = capability.definition.backend {
        return Err(CallError::invalid_request("`fields` belongs to the inner call of a set")
            .hint("put `fields` beside the inner `name` and `args`"));
    }
    let choice = FieldSelection::parse(fields)?;
    let Some(schema) = tool.output_schema().and_then(raw::value) else { return Ok(()) };
    let wrong: Vec<_> =
        fields.iter().filter_map(|path| Some((path, missing(path, &schema)?))).collect();
    let Some((_, known)) = wrong.first() else {
        tracing::debug!(
            tool = tool.name(),
            fields = choice.members.len(),
            "checked the chosen fields"
        );
        return Ok(());
    };
    let known: Vec<&String> = known.iter().take(40).collect();
    let wrong: Vec<&String> = wrong.iter().map(|(path, _)| *path).collect();
    let message = format!("the result of `{}` has no such fields: {wrong:?}", tool.name());
    Err(CallError::invalid_request(message)
        .hint(format!(
            "paths are dotted property names, arrays are passed through; there are: {known:?}"
        ))
        .data(json!({ "unknownFields": wrong, "knownFields": known })))
}

/// The result with only the selected fields; error results remain whole.
pub(crate) async fn apply(
    fields: &[String],
    store: &ArtifactStore,
    result: Box<RawValue>,
) -> raw::Answer {
    let (choice, store) = (FieldSelection::parse(fields)?, store.clone());
    let fields = fields.to_vec();
    // An artifact of 100 MiB takes a while to read.
    blocking(move || apply_now(&fields, &choice, &store, result)).await?
}

fn apply_now(
    fields: &[String],
    choice: &FieldSelection,
    store: &ArtifactStore,
    result: Box<RawValue>,
) -> raw::Answer {
    let mut object: RawMembers = serde_json::from_str(result.get()).map_err(CallError::internal)?;
    if object.get("isError").is_some_and(|flag| flag.get() == "true") {
        return Ok(result);
    }
    let picked = match object.get("structuredContent") {
        Some(structured) => Some(pick_structured(choice, store, structured)?),
        None => json_text(&object).and_then(|text| pick(choice, StrRead::new(&text)).ok()),
    };
    let Some(picked) = picked else {
        let note = "[the chosen fields were not applied: the result is not JSON]";
        let mut content: Vec<Value> = raw::get(&object, "content").unwrap_or_default();
        content.push(json!({ "type": "text", "text": note }));
        raw::set(&mut object, "content", &content);
        return raw::text(&object);
    };
    let kept = raw::text(&picked)?;
    let mut content = vec![json!({ "type": "text", "text": kept.get() })];
    let absent: Vec<&String> =
        fields.iter().filter(|path| !picked.reaches(&segments(path))).collect();
    if !absent.is_empty() {
        let text = format!("[not in this result: {}]", absent_text(&absent, &object));
        content.push(json!({ "type": "text", "text": text }));
    }
    raw::set(&mut object, "content", &content);
    if picked.is_object() {
        object.insert("structuredContent".to_owned(), kept);
    }
    raw::text(&object)
}

fn pick_structured(
    choice: &FieldSelection,
    store: &ArtifactStore,
    structured: &RawValue,
) -> Result<PartialJson, CallError> {
    let mut picked = pick(choice, StrRead::new(structured.get())).map_err(CallError::internal)?;
    for (member, place) in ARTIFACT_POINTERS {
        let Some(below) = choice.members.get(member) else { continue };
        let Some(uri) = kept_elsewhere(structured, member, place) else { continue };
        let reader = store.reader(&uri).map_err(|error| {
            CallError::new(ErrorCode::ResourceNotFound, error.to_string())
                .hint("call the tool again")
        })?;
        let from = reader.artifact().uri.clone();
        match pick(below, IoRead::new(BufReader::new(reader))) {
            Ok(found) if found.bytes() <= MAX_SELECTION_BYTES => picked.set(member, found),
            Ok(found) => {
                return Err(CallError::new(
                    ErrorCode::ContentTooLarge,
                    format!("the chosen fields have {} bytes", found.bytes()),
                )
                .hint(format!("choose fewer fields, or read all of it in parts: {from}")));
            }
            // A large body that is not JSON has no fields; the link to it remains.
            Err(error) => tracing::debug!(%error, "an artifact is not JSON"),
        }
    }
    Ok(picked)
}

fn kept_elsewhere(structured: &RawValue, member: &str, place: &str) -> Option<ArtifactUri> {
    let value = raw::value(structured)?;
    let is_cut = value.get("truncated") == Some(&json!(true)) || value.get(member).is_none();
    let uri = value.pointer(place)?.as_str()?;
    is_cut.then(|| ArtifactUri::parse(uri).ok()).flatten().map(|(uri, _)| uri)
}

fn json_text(object: &RawMembers) -> Option<String> {
    let content: Vec<Value> = raw::get(object, "content")?;
    let [only] = content.as_slice() else { return None };
    let text = only.get("text")?.as_str()?;
    text.trim_start().starts_with(['{', '[']).then(|| text.to_owned())
}

fn absent_text(absent: &[&String], object: &RawMembers) -> String {
    let names: Vec<String> = absent.iter().map(|path| format!("`{path}`")).collect();
    let whole: Option<RawMembers> = raw::get(object, "structuredContent");
    let there: Vec<String> = whole.iter().flat_map(RawMembers::keys).take(40).cloned().collect();
    match there.as_slice() {
        [] => names.join(", "),
        there => format!("{}; it has: {}", names.join(", "), there.join(", ")),
    }
}
