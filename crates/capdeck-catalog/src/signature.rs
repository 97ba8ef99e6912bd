//! A tool's call in one line of TypeScript-like text: `read_file(path: string, limit?: number)`.
//!
//! The name in front is the caller's: the name, command or expression by which its surface reaches the tool.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::{
    Tool,
    input_shape::{InputShape, object, resolve},
};

/// Arguments named in a signature; optional ones beyond this become `…`.
const MAX_ARGUMENTS: usize = 12;
/// Alternatives named in a union; more become `…`.
const MAX_ALTERNATIVES: usize = 6;
/// References that are followed one inside the other. A schema that contains itself ends here.
const MAX_REFERENCES: usize = 3;
/// Words that mean a type, so that a value of that name has to be quoted.
const RESERVED_WORDS: [&str; 10] = [
    "string", "number", "integer", "boolean", "object", "array", "unknown", "null", "true", "false",
];
/// Schemas inside one another that are looked at.
const MAX_NESTING: usize = 32;
/// Schemas that are looked at for one signature. Without it, alternatives that refer to alternatives multiply.
const MAX_SCHEMAS: usize = 2_000;

/// How much a signature says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SignatureStyle {
    Full,
    /// As few words as still say how to call a tool: no type means `string`, the commonest one.
    Brief(BriefDetail),
}

/// How much a brief signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BriefDetail {
    /// How many optional arguments are named; more become `…`.
    pub(crate) optional: usize,
    /// How many alternatives are named; more become `…`.
    pub(crate) alternatives: usize,
    pub(crate) fields: FieldDetail,
}

/// Which fields of an object are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldDetail {
    /// All fields of an argument, and the types of optional arguments.
    All,
    /// What must be given of arguments that must be given.
    Required,
    Nothing,
}

impl BriefDetail {
    /// Everything that a brief signature ever says.
    pub(crate) const WHOLE: Self =
        Self { optional: usize::MAX, alternatives: MAX_ALTERNATIVES, fields: FieldDetail::All };
}

/// The call of a tool under the name that the caller uses, required arguments first.
pub fn signature(name: &str, tool: &Tool) -> String {
    format!("{name}({})", argument_list(tool))
}

/// The arguments of a tool, required ones first: `path: string, limit?: number`.
pub fn argument_list(tool: &Tool) -> String {
    render(&InputShape::from_tool(tool))
}

pub(crate) fn render(shape: &InputShape) -> String {
    SignatureStyle::Full.render(shape)
}

impl SignatureStyle {
    pub(crate) fn render(self, shape: &InputShape) -> String {
        let required = shape.required();
        let optional = shape.accepted().into_iter().filter(|argument| !shape.is_required(argument));
        let room = match self {
            Self::Full => MAX_ARGUMENTS.max(required.len()),
            Self::Brief(detail) => required.len().saturating_add(detail.optional),
        };
        let named: Vec<&str> = required.into_iter().chain(optional).collect();
        let budget = Cell::new(MAX_SCHEMAS);
        let walk = SchemaWalk {
            root: &shape.root,
            budget: &budget,
            objects: 0,
            nesting: 0,
            references: 0,
        };
        let is_only = named.len() == 1;
        let argument = |name: &&str| {
            // A tool's only argument has to be given in practice.
            let is_needed = is_only || shape.is_required(name);
            if !is_needed && !self.has_optional_types() {
                return format!("{}?", key(name));
            }
            let schema = shape.argument(name);
            let kind = schema.map_or_else(|| self.unknown(), |schema| self.kind(walk, schema));
            self.member(name, shape.is_required(name), &kind)
        };
        // A mark for one argument would be as long as its name.
        let is_last = matches!(self, Self::Brief(_)) && named.len() == room.saturating_add(1);
        let room = if is_last { named.len() } else { room };
        let mut arguments: Vec<String> = named.iter().take(room).map(argument).collect();
        if named.len() > room {
            arguments.push("…".to_owned());
        }
        arguments.join(", ")
    }

    fn has_optional_types(self) -> bool {
        match self {
            Self::Full => true,
            Self::Brief(detail) => detail.fields == FieldDetail::All,
        }
    }

    fn member(self, name: &str, is_required: bool, kind: &str) -> String {
        let mark = if is_required { "" } else { "?" };
        match self {
            Self::Brief(_) if kind == "string" => format!("{}{mark}", key(name)),
            // Without fields, an optional object says no more than that it is optional.
            Self::Brief(detail)
                if kind == "object" && !is_required && detail.fields != FieldDetail::All =>
            {
                format!("{}?", key(name))
            }
            Self::Full | Self::Brief(_) => format!("{}{mark}: {kind}", key(name)),
        }
    }

    /// What is said of a schema that does not say what it accepts.
    fn unknown(self) -> String {
        match self {
            Self::Full => "unknown".to_owned(),
            Self::Brief(_) => "string".to_owned(),
        }
    }

    /// The TypeScript-like name of what a schema accepts.
    fn kind(self, walk: SchemaWalk<'_>, schema: &Value) -> String {
        let Some((schema, walk)) = walk.enter(schema) else { return self.unknown() };
        if let Some(constant) = schema.get("const") {
            return self.literal(constant);
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return self.union(options.iter().map(|option| self.literal(option)));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(options) = schema.get(keyword).and_then(Value::as_array) {
                return self.union(options.iter().map(|option| self.kind(walk, option)));
            }
        }
        let named = |name: &str| self.type_from_name(walk, schema, name);
        match schema.get("type") {
            Some(Value::String(name)) => named(name),
            Some(Value::Array(names)) => {
                self.union(names.iter().filter_map(Value::as_str).map(named))
            }
            _ if schema.get("properties").is_some() => named("object"),
            _ => self.unknown(),
        }
    }

    /// A value that is meant as it is. Quotes cost tokens, twice inside JSON, so a brief signature leaves out what no one
    /// needs.
    fn literal(self, value: &Value) -> String {
        let Some(text) = value.as_str().filter(|_| matches!(self, Self::Brief(_))) else {
            return value.to_string();
        };
        let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter));
        match is_word && !RESERVED_WORDS.contains(&text) {
            true => text.to_owned(),
            false => format!("'{}'", text.replace('\'', "\\'")),
        }
    }

    fn type_from_name(self, walk: SchemaWalk<'_>, schema: &Value, name: &str) -> String {
        match name {
            "integer" | "number" => "number".to_owned(),
            "array" => match schema.get("items").map(|items| self.kind(walk, items)) {
                Some(item) if item.contains(self.or()) => format!("({item})[]"),
                Some(item) => format!("{item}[]"),
                None => "unknown[]".to_owned(),
            },
            "object" => self.object(walk, schema).unwrap_or_else(|| "object".to_owned()),
            other => other.to_owned(),
        }
    }

    /// The fields of an object, where they are spelled out: an argument that is an object says nothing by its name alone.
    fn object(self, walk: SchemaWalk<'_>, schema: &Value) -> Option<String> {
        let spelled_out = match self {
            Self::Full => 2,
            Self::Brief(detail) => match detail.fields {
                FieldDetail::All => 1,
                FieldDetail::Required => 2,
                FieldDetail::Nothing => 0,
            },
        };
        let properties =
            object(schema, "properties").filter(|properties| !properties.is_empty())?;
        if walk.objects >= spelled_out {
            return None;
        }
        let inside = SchemaWalk { objects: walk.objects + 1, ..walk };
        let write = |member: &str, is_required: bool, schema: &Value| {
            self.member(member, is_required, &self.kind(inside, schema))
        };
        let only_required =
            matches!(self, Self::Brief(BriefDetail { fields: FieldDetail::Required, .. }));
        let members = members(schema, properties, only_required, write);
        match self {
            Self::Full => Some(format!("{{ {} }}", members.join("; "))),
            // A mark alone says nothing.
            Self::Brief(_) if members.iter().all(|member| member == "…") => None,
            Self::Brief(_) => Some(format!("{{{}}}", members.join(", "))),
        }
    }

    fn or(self) -> &'static str {
        match self {
            Self::Full => " | ",
            Self::Brief(_) => "|",
        }
    }

    /// Alternatives, each once. A brief signature says nothing of `null`: such an argument may be left out.
    fn union(self, options: impl Iterator<Item = String>) -> String {
        let (is_brief, most) = match self {
            Self::Full => (false, MAX_ALTERNATIVES),
            Self::Brief(detail) => (true, detail.alternatives),
        };
        let shown = alternatives(options.filter(|option| !is_brief || option != "null"), most);
        match (self, shown.is_empty()) {
            (Self::Full, true) => "never".to_owned(),
            (Self::Brief(_), true) => self.unknown(),
            (_, false) => shown.join(self.or()),
        }
    }
}

/// A place in a tool's schema: schemas come from outside, may refer to themselves, and may multiply.
#[derive(Debug, Clone, Copy)]
struct SchemaWalk<'a> {
    root: &'a Value,
    /// How many schemas the signature may still look at.
    budget: &'a Cell<usize>,
    /// Objects around this place.
    objects: usize,
    nesting: usize,
    references: usize,
}

impl<'a> SchemaWalk<'a> {
    /// The schema with its references followed, and the place of what is inside it. `None` when it lies too deep, or enough
    /// was looked at.
    fn enter(self, schema: &'a Value) -> Option<(&'a Value, Self)> {
        let left = self.budget.get().checked_sub(1)?;
        self.budget.set(left);
        let references = self.references + usize::from(schema.get("$ref").is_some());
        let inside = Self { nesting: self.nesting + 1, references, ..self };
        let is_near = inside.nesting <= MAX_NESTING && references <= MAX_REFERENCES;
        is_near.then(|| (resolve(self.root, schema), inside))
    }
}

/// Each alternative once, and not too many of them.
fn alternatives(options: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for option in options {
        if shown.contains(&option) {
            continue;
        }
        if shown.len() == most {
            shown.push("…".to_owned());
            break;
        }
        shown.push(option);
    }
    shown
}

/// The members of an object that a caller can set, each written by its name, whether it must be given, and its schema.
fn members(
    schema: &Value,
    properties: &Map<String, Value>,
    only_required: bool,
    write: impl Fn(&str, bool, &Value) -> String,
) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let is_settable = |schema: &Value| schema.get("readOnly") != Some(&Value::Bool(true));
    let settable = properties.iter().filter(|(_, schema)| is_settable(schema));
    let named = settable.clone().filter(|(name, _)| !only_required || is_required(name));
    let written = named.map(|(name, schema)| write(name, is_required(name), schema));
    let mut shown: Vec<String> = written.take(MAX_ARGUMENTS).collect();
    if settable.count() > shown.len() {
        shown.push("…".to_owned());
    }
    shown
}

/// A property name in TypeScript: bare when it is an identifier, else quoted.
fn key(name: &str) -> String {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    if starts && name.chars().all(legal) { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        assert_eq!(format!("tool({})", render(&InputShape { root: schema })), expected);
    }

    #[test]
    fn arguments_read_like_a_function() {
        check(json!({}), "tool()");
        check(
            json!({"properties": {"limit": {"type": "integer"}, "path": {"type": "string"}}, "required": ["path"]}),
            "tool(path: string, limit?: number)",
        );
        check(
            json!({"properties": {"state": {"enum": ["open", "closed"]}, "ids": {"type": "array", "items": {"type": "integer"}}}}),
            "tool(state?: \"open\" | \"closed\", ids?: number[])",
        );
        check(
            json!({"properties": {"who": {"$ref": "#/$defs/Who"}}, "required": ["who"],
                   "$defs": {"Who": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}}}),
            "tool(who: { name: string | null })",
        );
        check(
            json!({"properties": {"file": {"type": "object", "properties": {
                "name": {"type": "string"}, "id": {"readOnly": true}}}}}),
            "tool(file?: { name?: string })",
        );
        check(
            json!({"properties": {"per-page": {"type": "integer"}}}),
            "tool(\"per-page\"?: number)",
        );
        check(json!({"required": ["lost"]}), "tool(lost: unknown)");
    }

    #[test]
    fn recursive_and_wide_schemas_stay_short() {
        check(
            json!({"properties": {"tree": {"$ref": "#/$defs/Node"}},
                   "$defs": {"Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}}}),
            "tool(tree?: { child?: { child?: object } })",
        );
        let properties: serde_json::Map<String, Value> =
            (0..40).map(|number| (format!("a{number}"), json!({"type": "string"}))).collect();
        let text = render(&InputShape { root: json!({ "properties": properties }) });
        assert!(text.ends_with("a11?: string, …"), "{text}");
    }

    #[test]
    fn a_reference_to_itself_ends() {
        check(json!({"properties": {"x": {"$ref": "#/properties/x"}}}), "tool(x?: unknown)");
        let value = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Value"}}]});
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/Value"}}, "$defs": {"Value": value}}),
            "tool(x?: string | (string | (string | (string | unknown[])[])[])[])",
        );
        let only_itself = json!({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]});
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": only_itself}}),
            "tool(x?: unknown)",
        );
    }

    /// Each of twenty levels has twenty ways to the next.
    #[test]
    fn alternatives_that_multiply_end() {
        let levels: serde_json::Map<String, Value> = (0..20)
            .map(|level| {
                let next = json!({"type": "array", "items": {"anyOf": vec![json!({"$ref": format!("#/$defs/L{}", level + 1)}); 20]}});
                (format!("L{level}"), next)
            })
            .collect();
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": levels});
        let text = render(&InputShape { root: schema });
        assert!(text.len() < 200, "{text}");
    }
}
