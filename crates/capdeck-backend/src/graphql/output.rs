//! What a call of an operation answers: its schema, from the selection, and errors in responses with HTTP status 200.
//!
//! The schema only promises what the language does: names and nesting, lists, nullability and the five built-in scalars.
//! Enums may grow and custom scalars may be anything.

use std::{collections::HashMap, fmt, fs::File, io::BufReader};

use apollo_compiler::{
    ExecutableDocument, Name,
    ast::Type,
    collections::IndexMap,
    executable::{Field, Operation, Selection, SelectionSet},
    schema::ExtendedType,
};
use capdeck_catalog::RawMembers;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    input_schema::{list, or_null, output_scalar},
    schema::ApiSchema,
};
use crate::{
    ArtifactStore, CallError, CallResult,
    api_connection::{members, object_schema},
};

/// Repeated fragments could describe more fields than they have characters.
const MAX_PROPERTIES: usize = 2_000;

/// Valid documents have no fragment cycles; this bound does not rely on it.
const MAX_DEPTH: usize = 64;

pub(super) fn output_schema(
    schema: &ApiSchema,
    operation: &Operation,
    document: &ExecutableDocument,
) -> Map<String, Value> {
    let mut writer = OutputSchemaWriter { schema, document, room: MAX_PROPERTIES };
    let whole = SelectionPart { set: &operation.selection_set, is_always_there: true };
    let data = writer.object(&[whole], 0);
    wrapped(data.into())
}

pub(super) fn open_output_schema() -> Map<String, Value> {
    wrapped(json!({"type": "object", "additionalProperties": true}))
}

/// Wraps the schema of `data`. A long response is truncated, and then its body is text. No member is required:
/// clients validate an error result against the same schema.
fn wrapped(mut data: Value) -> Map<String, Value> {
    if let Some(ty) = data.get_mut("type") {
        *ty = json!(["object", "null"]);
    }
    members(json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "headers": {"type": "object"},
            "body": {
                "type": ["object", "string"],
                "properties": {
                    "data": data,
                    "errors": {"type": "array", "items": {"type": "object", "additionalProperties": true}},
                    "extensions": {},
                },
            },
        },
    }))
}

struct OutputSchemaWriter<'a> {
    schema: &'a ApiSchema,
    document: &'a ExecutableDocument,
    room: usize,
}

#[derive(Clone, Copy)]
struct SelectionPart<'a> {
    set: &'a SelectionSet,
    /// False when the object may exist without it.
    is_always_there: bool,
}

type ResponseMembers<'a> = IndexMap<&'a Name, ResponseMember<'a>>;

#[derive(Default)]
struct ResponseMember<'a> {
    fields: Vec<&'a Field>,
    is_always_there: bool,
    parts: Vec<SelectionPart<'a>>,
}

impl<'a> OutputSchemaWriter<'a> {
    fn object(&mut self, parts: &[SelectionPart<'a>], depth: usize) -> Map<String, Value> {
        let mut members = ResponseMembers::default();
        // A member always exists if an unconditional part has it, or if all parts have it.
        let mut counts: HashMap<&Name, usize> = HashMap::new();
        for part in parts {
            let mut own = ResponseMembers::default();
            let seen = &mut HashMap::new();
            self.collect(part.set, &part.set.ty, true, depth, &mut own, seen);
            for (name, found) in own {
                let member = members.entry(name).or_default();
                member.is_always_there |= found.is_always_there && part.is_always_there;
                *counts.entry(name).or_default() += usize::from(found.is_always_there);
                member.fields.extend(found.fields);
                member.parts.extend(found.parts.iter().map(|inner| SelectionPart {
                    set: inner.set,
                    is_always_there: inner.is_always_there && part.is_always_there,
                }));
            }
        }
        let mut properties = Map::new();
        let mut required: Vec<String> = Vec::new();
        let mut is_whole = true;
        for (name, member) in members {
            if self.room == 0 || depth > MAX_DEPTH {
                is_whole = false;
                break;
            }
            self.room -= 1;
            if member.is_always_there || counts.get(name) == Some(&parts.len()) {
                required.push(name.to_string());
            }
            properties.insert(name.to_string(), self.member(&member, depth).into());
        }
        let mut schema = object_schema(properties, &required, false);
        if !is_whole {
            schema.insert("additionalProperties".into(), true.into());
        }
        schema
    }

    fn member(&mut self, member: &ResponseMember<'a>, depth: usize) -> Map<String, Value> {
        let Some(first) = member.fields.first() else { return Map::new() };
        let ty = first.ty();
        let named = match self.schema.get(ty.inner_named_type()) {
            Some(ExtendedType::Scalar(one)) => output_scalar(&one.name),
            Some(ExtendedType::Enum(_)) => output_scalar("String"),
            Some(_) => self.object(&member.parts, depth + 1),
            None => Map::new(),
        };
        // Fields under one name have the same shape, except for equivalent abstract types.
        in_shape(ty, named)
    }

    fn collect(
        &self,
        set: &'a SelectionSet,
        parent: &Name,
        is_always_there: bool,
        depth: usize,
        members: &mut ResponseMembers<'a>,
        seen: &mut HashMap<&'a Name, bool>,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        for selection in &set.selections {
            let is_conditional =
                selection.directives().has("skip") || selection.directives().has("include");
            let is_always_there = is_always_there && !is_conditional;
            match selection {
                Selection::Field(field) => {
                    let member = members.entry(field.response_key()).or_default();
                    member.fields.push(field);
                    member.is_always_there |= is_always_there;
                    member.parts.push(SelectionPart { set: &field.selection_set, is_always_there });
                }
                Selection::InlineFragment(fragment) => {
                    let fits = self.always_fits(parent, fragment.type_condition.as_ref());
                    let set = &fragment.selection_set;
                    let is_there = is_always_there && fits;
                    self.collect(set, parent, is_there, depth + 1, members, seen);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = spread.fragment_def(self.document) {
                        let fits = self.always_fits(parent, Some(fragment.type_condition()));
                        let is_always_there = is_always_there && fits;
                        let known = seen.insert(&fragment.name, is_always_there);
                        // A second visit adds nothing, unless the first was conditional.
                        if known.is_none_or(|known| is_always_there && !known) {
                            let set = &fragment.selection_set;
                            self.collect(set, parent, is_always_there, depth + 1, members, seen);
                        }
                    }
                }
            }
        }
    }

    fn always_fits(&self, parent: &Name, condition: Option<&Name>) -> bool {
        condition.is_none_or(|condition| {
            condition == parent || self.schema.valid().is_subtype(condition, parent)
        })
    }
}

fn in_shape(ty: &Type, named: Map<String, Value>) -> Map<String, Value> {
    match ty {
        Type::NonNullNamed(_) => named,
        Type::Named(_) => or_null(named),
        Type::NonNullList(item) => list(in_shape(item, named)),
        Type::List(item) => or_null(list(in_shape(item, named))),
    }
}

/// The maximum number of server errors in a message. The body has all of them.
const MAX_REPORTED_ERRORS: usize = 5;

#[derive(Debug, Deserialize)]
struct GraphQlCallResult {
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    uri: Option<String>,
}

#[derive(Debug, Default)]
struct GraphQlOutcome {
    has_data: bool,
    errors: Vec<Value>,
}

/// Marks a result as an error when the server reports one. The response stays complete.
pub(super) async fn mark_errors(result: Box<RawValue>, artifacts: &ArtifactStore) -> CallResult {
    let bug = |error: serde_json::Error| {
        CallError::internal("the response cannot be encoded").detail(error)
    };
    let mut members: RawMembers = serde_json::from_str(result.get()).map_err(bug)?;
    if members.get("isError").is_some_and(|flag| flag.get() == "true") {
        return Ok(result);
    }
    let Some(structured) = members.get("structuredContent") else { return Ok(result) };
    let parsed: GraphQlCallResult = serde_json::from_str(structured.get()).map_err(bug)?;
    let outcome = match parsed.uri {
        Some(uri) => outcome_of_file(artifacts, &uri).await,
        None => parsed.body.and_then(|body| serde_json::from_value(body).ok()),
    };
    let heading = match outcome {
        Some(outcome) if !outcome.errors.is_empty() => outcome.error_text(),
        Some(outcome) if outcome.has_data => return Ok(result),
        Some(_) | None => {
            "the answer is not that of a GraphQL server: it has no `data`; check `endpointUrl`"
                .to_owned()
        }
    };
    let mut content: Vec<Value> = match members.get("content") {
        Some(content) => serde_json::from_str(content.get()).map_err(bug)?,
        None => Vec::new(),
    };
    content.insert(0, json!({"type": "text", "text": heading}));
    let raw = |value: &Value| serde_json::value::to_raw_value(value).map_err(bug);
    members.insert("content".to_owned(), raw(&content.into())?);
    members.insert("isError".to_owned(), raw(&true.into())?);
    serde_json::value::to_raw_value(&members).map_err(bug)
}

async fn outcome_of_file(artifacts: &ArtifactStore, uri: &str) -> Option<GraphQlOutcome> {
    let path = artifacts.path(uri).ok()?;
    let read = move || serde_json::from_reader(BufReader::new(File::open(path).ok()?)).ok();
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

impl GraphQlOutcome {
    fn error_text(&self) -> String {
        let mut lines: Vec<String> =
            self.errors.iter().take(MAX_REPORTED_ERRORS).map(error_line).collect();
        if self.errors.len() > MAX_REPORTED_ERRORS {
            lines.push(format!("- and {} more", self.errors.len() - MAX_REPORTED_ERRORS));
        }
        let note = if self.has_data { " (there is data as well)" } else { "" };
        format!("the GraphQL server reports errors{note}:\n{}", lines.join("\n"))
    }
}

impl<'de> Deserialize<'de> for GraphQlOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(GraphQlOutcomeVisitor)
    }
}

/// Accepts only objects, and skips `data`, which may be large.
struct GraphQlOutcomeVisitor;

impl<'de> Visitor<'de> for GraphQlOutcomeVisitor {
    type Value = GraphQlOutcome;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the answer of a GraphQL server")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<GraphQlOutcome, A::Error> {
        let mut outcome = GraphQlOutcome::default();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "data" => outcome.has_data = members.next_value::<Option<IgnoredAny>>()?.is_some(),
                // Some servers send one error without a list.
                "errors" => match members.next_value()? {
                    Value::Array(errors) => outcome.errors = errors,
                    Value::Null | Value::Bool(false) => {}
                    other => outcome.errors = vec![other],
                },
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        Ok(outcome)
    }
}

fn error_line(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    let steps = error.get("path").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let path: Vec<String> = steps
        .iter()
        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
        .collect();
    if path.is_empty() {
        format!("- {message}")
    } else {
        format!("- {message} (at `{}`)", path.join("."))
    }
}
