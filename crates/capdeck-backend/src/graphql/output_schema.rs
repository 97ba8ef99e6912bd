//! The output schema of an operation, from its selection.
//!
//! It only promises what the language does: names and nesting, lists, nullability and the five built-in scalars.
//! Enums may grow and custom scalars may be anything.

use std::collections::HashMap;

use apollo_compiler::{
    ExecutableDocument, Name,
    ast::Type,
    collections::IndexMap,
    executable::{Field, Operation, Selection, SelectionSet},
    schema::ExtendedType,
};
use serde_json::{Map, Value, json};

use super::{
    input_schema::{list, or_null, output_scalar},
    schema::ApiSchema,
};
use crate::api_connection::object_schema;

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
    let schema = json!({
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
    });
    if let Value::Object(members) = schema { members } else { Map::new() }
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

struct MemberCollector<'m, 'a> {
    members: &'m mut ResponseMembers<'a>,
    seen: &'m mut HashMap<&'a Name, bool>,
}

impl<'a> OutputSchemaWriter<'a> {
    fn object(&mut self, parts: &[SelectionPart<'a>], depth: usize) -> Map<String, Value> {
        let mut members = ResponseMembers::default();
        // A member always exists if an unconditional part has it, or if all parts have it.
        let mut counts: HashMap<&Name, usize> = HashMap::new();
        for part in parts {
            let mut own = ResponseMembers::default();
            let gathered = MemberCollector { members: &mut own, seen: &mut HashMap::new() };
            self.collect(part.set, &part.set.ty, true, depth, gathered);
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
        gathered: MemberCollector<'_, 'a>,
    ) {
        let MemberCollector { members, seen } = gathered;
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
                    let gathered = MemberCollector { members, seen };
                    self.collect(set, parent, is_always_there && fits, depth + 1, gathered);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = spread.fragment_def(self.document) {
                        let fits = self.always_fits(parent, Some(fragment.type_condition()));
                        let is_always_there = is_always_there && fits;
                        let known = seen.insert(&fragment.name, is_always_there);
                        // A second visit adds nothing, unless the first was conditional.
                        if known.is_none_or(|known| is_always_there && !known) {
                            let set = &fragment.selection_set;
                            let gathered = MemberCollector { members, seen };
                            self.collect(set, parent, is_always_there, depth + 1, gathered);
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
