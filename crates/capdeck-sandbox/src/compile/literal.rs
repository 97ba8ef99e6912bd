//! Evaluates literal expressions to JSON, so that they can be checked before a run.

use oxc::ast::ast::{
    Argument, ArrayExpressionElement, Expression, ObjectPropertyKind, PropertyKey, PropertyKind,
    UnaryOperator,
};
use serde_json::{Map, Value};

pub(super) fn argument(argument: &Argument<'_>) -> Option<Value> {
    argument.as_expression().and_then(value)
}

pub(super) fn value(expression: &Expression<'_>) -> Option<Value> {
    match plain(expression) {
        Expression::StringLiteral(text) => Some(Value::from(text.value.as_str())),
        Expression::NumericLiteral(number) => number_value(number.value),
        Expression::BooleanLiteral(truth) => Some(Value::Bool(truth.value)),
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => {
            match plain(&unary.argument) {
                Expression::NumericLiteral(number) => number_value(-number.value),
                _ => None,
            }
        }
        Expression::TemplateLiteral(template) => {
            Some(Value::from(template.single_quasi()?.as_str()))
        }
        Expression::ArrayExpression(array) => {
            let items = array.elements.iter().map(|element| match element {
                ArrayExpressionElement::SpreadElement(_) | ArrayExpressionElement::Elision(_) => {
                    None
                }
                item => value(item.as_expression()?),
            });
            items.collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        Expression::ObjectExpression(object) => {
            let members = object.properties.iter().map(|property| {
                let ObjectPropertyKind::ObjectProperty(property) = property else { return None };
                if property.kind != PropertyKind::Init || property.method {
                    return None;
                }
                let name = match &property.key {
                    PropertyKey::StaticIdentifier(name) => name.name.to_string(),
                    PropertyKey::StringLiteral(text) => text.value.to_string(),
                    _ => return None,
                };
                Some((name, value(&property.value)?))
            });
            members.collect::<Option<Map<String, Value>>>().map(Value::Object)
        }
        _ => None,
    }
}

pub(super) fn plain<'e, 'a>(expression: &'e Expression<'a>) -> &'e Expression<'a> {
    match expression {
        Expression::ParenthesizedExpression(inner) => plain(&inner.expression),
        Expression::TSAsExpression(inner) => plain(&inner.expression),
        Expression::TSSatisfiesExpression(inner) => plain(&inner.expression),
        Expression::TSNonNullExpression(inner) => plain(&inner.expression),
        other => other,
    }
}

/// Whole numbers stay integers: `1` must match a schema with type `integer`.
fn number_value(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        return Some(Value::from(number as i64));
    }
    serde_json::Number::from_f64(number).map(Value::Number)
}
