//! A schema and a document, walked side by side.

use serde_json::{Map, Value};

use super::{MAX_VIOLATIONS, SchemaViolation, ViolationSubject, is_singular_cli, wording};
use crate::{
    diagnostic::{Diagnostic, TextPosition},
    document::{NodeValue, PathStep, ValueNode},
    pattern,
    schema::FileSchema,
    suggest::nearest_key,
};

/// Collects violations until there are more than anyone reads.
pub(super) fn walk(schema: &FileSchema, root: &ValueNode) -> Vec<SchemaViolation> {
    let mut walk = ViolationWalk {
        root: &schema.schema,
        name: schema.name,
        steps: Vec::new(),
        found: Vec::new(),
    };
    walk.visit(&schema.schema, root);
    walk.found
}

struct ViolationWalk<'a> {
    root: &'a Value,
    name: &'static str,
    steps: Vec<PathStep>,
    found: Vec<SchemaViolation>,
}

impl<'a> ViolationWalk<'a> {
    fn visit(&mut self, schema: &'a Value, node: &ValueNode) {
        // `true` allows everything and has no keywords.
        let Some(schema) = schema.as_object() else { return };
        if self.found.len() >= MAX_VIOLATIONS {
            return;
        }
        if let Some(target) = self.target(schema) {
            self.visit(target, node);
        }
        if let Some(branches) = branches(schema) {
            self.visit_branches(branches, node);
        }
        if let Some(kinds) = wrong_type(schema, node) {
            self.value(wording::wrong_type(&kinds, node, &self.steps), node.place);
            return;
        }
        if let Some(expected) = schema.get("const").filter(|expected| node.to_json() != **expected)
        {
            let what = format!("must be `{}`", wording::plain(expected));
            self.broken(node.place, "unknown-value", &what, "use that value or remove the key");
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            self.one_of(&values.iter().collect::<Vec<_>>(), node);
        }
        match &node.content {
            NodeValue::Text(text) => self.visit_text(schema, text, node.place),
            NodeValue::Number(number) => {
                self.visit_number(schema, number.as_f64().unwrap_or_default(), node.place);
            }
            NodeValue::List(items) => self.visit_list(schema, items, node.place),
            NodeValue::Map(_) => self.visit_map(schema, node),
            NodeValue::Null | NodeValue::Bool(_) => {}
        }
    }

    /// Follows the alternative the author meant, or says why none fits.
    fn visit_branches(&mut self, branches: &'a [Value], node: &ValueNode) {
        let constants: Vec<&Value> = branches.iter().flat_map(constants_of).collect();
        if !constants.is_empty() {
            return self.one_of(&constants, node);
        }
        let kind_of = |branch: &'a Value| branch.pointer("/properties/type/const");
        let kinds: Vec<&Value> = branches.iter().filter_map(kind_of).collect();
        if kinds.is_empty()
            && let Some(types) = self.distinct_types(branches)
        {
            return self.visit_typed(branches, &types, node);
        }
        if kinds.is_empty() {
            let index = usize::from(!is_singular_cli(node));
            if let Some(branch) = branches.get(index) {
                self.visit(branch, node);
            }
            return;
        }
        if !node.is_map() {
            return self.value(wording::wrong_type(&["object"], node, &self.steps), node.place);
        }
        let Some(kind) = node.get("type") else {
            return self.value(wording::missing_key("type", &self.steps, &kinds), node.place);
        };
        let written = kind.to_json();
        match branches.iter().find(|branch| kind_of(branch) == Some(&written)) {
            Some(branch) => self.visit(branch, node),
            None => self.below(PathStep::Key("type".to_owned()), |walk| walk.one_of(&kinds, kind)),
        }
    }

    /// The type each alternative has, when that alone tells them apart.
    fn distinct_types(&self, branches: &'a [Value]) -> Option<Vec<&'a str>> {
        let type_of = |branch: &'a Value| {
            let branch = branch.as_object()?;
            let target = self.target(branch).and_then(Value::as_object).unwrap_or(branch);
            target.get("type")?.as_str()
        };
        let types: Vec<&str> = branches.iter().map(type_of).collect::<Option<_>>()?;
        let mut sorted = types.clone();
        sorted.sort_unstable();
        sorted.dedup();
        (sorted.len() == types.len()).then_some(types)
    }

    /// Follows the alternative of the node's own type.
    fn visit_typed(&mut self, branches: &'a [Value], types: &[&str], node: &ValueNode) {
        match types.iter().position(|kind| fits(node, kind)).and_then(|at| branches.get(at)) {
            Some(branch) => self.visit(branch, node),
            None => self.value(wording::wrong_type(types, node, &self.steps), node.place),
        }
    }

    fn one_of(&mut self, values: &[&Value], node: &ValueNode) {
        if !values.contains(&&node.to_json()) {
            self.value(wording::not_one_of(node, &self.steps, values), node.place);
        }
    }

    fn visit_text(&mut self, schema: &Map<String, Value>, text: &str, place: TextPosition) {
        let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
        let length = text.chars().count() as u64;
        if let Some(least) = limit("minLength").filter(|least| length < *least) {
            // One message is enough for a text that is not there.
            let fix = format!("write at least {least} characters");
            return match least {
                1 => self.broken(
                    place,
                    "empty-value",
                    "is empty",
                    "give it a value or remove the key",
                ),
                _ => self.broken(place, "too-short", "is too short", &fix),
            };
        }
        if let Some(most) = limit("maxLength").filter(|most| length > *most) {
            let what = format!("has {length} characters, more than {most}");
            let fix = format!("shorten it to at most {most} characters");
            self.broken(place, "too-long", &what, &fix);
        }
        let pattern = schema.get("pattern").and_then(Value::as_str).and_then(pattern::find);
        if let Some(pattern) = pattern.filter(|pattern| !(pattern.matches)(text)) {
            self.broken(place, "bad-format", pattern.problem, pattern.fix);
        }
    }

    fn visit_number(&mut self, schema: &Map<String, Value>, number: f64, place: TextPosition) {
        let limit = |key: &str| schema.get(key).filter(|limit| limit.is_number());
        let beyond = |limit: &Value| limit.as_f64().unwrap_or(number);
        if let Some(least) = limit("minimum").filter(|least| number < beyond(least)) {
            let fix = format!("use {least} or more");
            self.broken(place, "out-of-range", &format!("must be at least {least}"), &fix);
        }
        if let Some(most) = limit("maximum").filter(|most| number > beyond(most)) {
            let fix = format!("use {most} or less");
            self.broken(place, "out-of-range", &format!("must be at most {most}"), &fix);
        }
    }

    fn visit_list(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[ValueNode],
        place: TextPosition,
    ) {
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let values: Vec<Value> =
            if unique { items.iter().map(ValueNode::to_json).collect() } else { Vec::new() };
        let repeats = values
            .iter()
            .enumerate()
            .any(|(index, value)| values.iter().take(index).any(|earlier| earlier == value));
        if repeats {
            self.broken(place, "duplicate-item", "lists a value twice", "keep one of them");
        }
        if let Some(inner) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                self.below(PathStep::Index(index), |walk| walk.visit(inner, item));
            }
        }
    }

    fn visit_map(&mut self, schema: &'a Map<String, Value>, node: &ValueNode) {
        let entries = node.entries();
        let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
        if (entries.len() as u64) < least {
            self.broken(node.place, "empty-value", "is empty", "add at least one entry");
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let Some(key) = key.as_str().filter(|key| node.get(key).is_none()) else { continue };
            let diagnostic = wording::missing_key(key, &self.steps, &[]).at(node.place);
            let about = ViolationSubject::Missing { key: key.to_owned() };
            self.found.push(SchemaViolation { steps: self.steps.clone(), diagnostic, about });
        }
        let names = schema.get("propertyNames");
        let others = schema.get("additionalProperties");
        for (key, entry) in entries {
            if names.is_some_and(|names| !allows_name(names, key)) {
                let diagnostic = wording::bad_name(key, &self.steps);
                self.key(key, diagnostic.at(entry.place), ViolationSubject::Value);
            }
            let property = properties.and_then(|properties| properties.get(key));
            match property.or(others) {
                Some(Value::Bool(false)) if property.is_none() => {
                    self.unknown_key(key, properties, entry.place);
                }
                Some(inner) => {
                    self.below(PathStep::Key(key.clone()), |walk| walk.visit(inner, &entry.value));
                }
                None => {}
            }
        }
    }

    fn unknown_key(
        &mut self,
        key: &str,
        properties: Option<&Map<String, Value>>,
        place: TextPosition,
    ) {
        let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        let known: Vec<&str> = known.filter(|key| !key.starts_with('$')).collect();
        let meant = nearest_key(key, known.iter().copied());
        let diagnostic = wording::unknown_key(key, meant, &known, &self.steps, self.name).at(place);
        self.key(
            key,
            diagnostic,
            ViolationSubject::Unknown {
                meant: meant.map(str::to_owned),
                stands_for_missing: false,
            },
        );
    }

    /// Records a problem of a key rather than of its value.
    fn key(&mut self, key: &str, diagnostic: Diagnostic, about: ViolationSubject) {
        let mut steps = self.steps.clone();
        steps.push(PathStep::Key(key.to_owned()));
        self.found.push(SchemaViolation { steps, diagnostic, about });
    }

    /// Records what is wrong with the value at hand, in words that follow its name.
    fn broken(&mut self, place: TextPosition, code: &str, what: &str, fix: &str) {
        let message = format!("{} {what}", wording::subject(&self.steps));
        self.value(Diagnostic::error(code, message, fix), place);
    }

    fn value(&mut self, diagnostic: Diagnostic, place: TextPosition) {
        let diagnostic = diagnostic.at(place);
        self.found.push(SchemaViolation {
            steps: self.steps.clone(),
            diagnostic,
            about: ViolationSubject::Value,
        });
    }

    fn below(&mut self, step: PathStep, visit: impl FnOnce(&mut Self)) {
        if self.found.len() < MAX_VIOLATIONS {
            self.steps.push(step);
            visit(self);
            self.steps.pop();
        }
    }

    fn target(&self, schema: &Map<String, Value>) -> Option<&'a Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

fn branches(schema: &Map<String, Value>) -> Option<&[Value]> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array().map(Vec::as_slice)
}

/// The plain values an alternative allows, when it is no more than that.
fn constants_of(branch: &Value) -> Vec<&Value> {
    match (branch.get("const"), branch.get("enum")) {
        (Some(constant), _) => vec![constant],
        (None, Some(Value::Array(values))) => values.iter().collect(),
        (None, _) => Vec::new(),
    }
}

/// The types a value should have had.
fn wrong_type<'a>(schema: &'a Map<String, Value>, node: &ValueNode) -> Option<Vec<&'a str>> {
    let kinds: Vec<&str> = match schema.get("type")? {
        Value::String(kind) => vec![kind],
        kinds => kinds.as_array()?.iter().filter_map(Value::as_str).collect(),
    };
    (!kinds.iter().any(|kind| fits(node, kind))).then_some(kinds)
}

/// Whether a value has a type of JSON Schema.
fn fits(node: &ValueNode, kind: &str) -> bool {
    match &node.content {
        NodeValue::Null => kind == "null",
        NodeValue::Bool(_) => kind == "boolean",
        NodeValue::Text(_) => kind == "string",
        NodeValue::List(_) => kind == "array",
        NodeValue::Map(_) => kind == "object",
        NodeValue::Number(number) => {
            let whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            kind == "number" || (kind == "integer" && whole)
        }
    }
}

/// Judges a key by `propertyNames`, of which these schemas use three forms.
fn allows_name(names: &Value, key: &str) -> bool {
    let matches = |expression: &Value| {
        expression.as_str().and_then(pattern::find).is_none_or(|pattern| (pattern.matches)(key))
    };
    names.get("pattern").is_none_or(matches)
        && names.get("minLength").is_none_or(|_| !key.is_empty())
        && names.pointer("/not/const").is_none_or(|reserved| reserved != key)
        && names
            .get("allOf")
            .and_then(Value::as_array)
            .is_none_or(|all| all.iter().all(|names| allows_name(names, key)))
}
