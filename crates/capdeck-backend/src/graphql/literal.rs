//! GraphQL literals.

use apollo_compiler::{
    Name, Node,
    ast::{Definition, Selection, Value},
    parser::Parser,
};
use serde_json::{Map, Value as Json};

const MAX_DEPTH: usize = 32;

/// Parses a constant, such as the default of an argument. `None` for anything else.
pub(super) fn parse_literal(text: &str) -> Option<Node<Value>> {
    let mut parser = Parser::new().recursion_limit(MAX_DEPTH);
    let document = parser.parse_ast(format!("{{ f(a: {text}\n) }}"), "default").ok()?;
    // The text must not close the bracket and add its own content.
    let [Definition::OperationDefinition(operation)] = document.definitions.as_slice() else {
        return None;
    };
    let [Selection::Field(field)] = operation.selection_set.as_slice() else { return None };
    match field.arguments.as_slice() {
        [argument] if field.selection_set.is_empty() && field.directives.is_empty() => {
            is_constant(&argument.value).then(|| argument.value.clone())
        }
        _ => None,
    }
}

fn is_constant(value: &Value) -> bool {
    match value {
        Value::Variable(_) => false,
        Value::List(items) => items.iter().all(|item| is_constant(item)),
        Value::Object(members) => members.iter().all(|(_, member)| is_constant(member)),
        _ => true,
    }
}

pub(super) fn literal_json(value: &Value) -> Json {
    match value {
        Value::Null | Value::Variable(_) => Json::Null,
        Value::Enum(name) => name.as_str().into(),
        Value::String(text) => text.as_str().into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::Int(number) => number_json(number.as_str()),
        Value::Float(number) => number_json(number.as_str()),
        Value::List(items) => items.iter().map(|item| literal_json(item)).collect(),
        Value::Object(members) => {
            let member =
                |(name, value): &(Name, Node<Value>)| (name.to_string(), literal_json(value));
            members.iter().map(member).collect::<Map<_, _>>().into()
        }
    }
}

/// Numbers beyond JSON's range become strings.
fn number_json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_beyond| text.into())
}
