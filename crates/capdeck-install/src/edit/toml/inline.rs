//! The values of TOML as trees and as JSON values.

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, Table, Value as TomlValue};

use super::statements::{Kind, Statement};
use crate::edit::{
    commas::comma_between,
    splice::part,
    tree::{Content, Entry, Node, Style},
};

/// A whole table.
pub(super) fn table_value(table: &Table) -> Value {
    let entry = |(key, item): (&str, &Item)| (key.to_owned(), item_value(item));
    Value::Object(Map::from_iter(table.iter().map(entry)))
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_value).collect(),
    }
}

fn plain(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => Value::from(text.value().as_str()),
        TomlValue::Integer(number) => Value::from(*number.value()),
        TomlValue::Float(number) => match Number::from_f64(*number.value()) {
            Some(finite) => Value::Number(finite),
            None => Value::from(number.value().to_string()),
        },
        TomlValue::Boolean(value) => Value::from(*value.value()),
        TomlValue::Datetime(moment) => Value::from(moment.value().to_string()),
        TomlValue::Array(items) => items.iter().map(plain).collect(),
        TomlValue::InlineTable(entries) => Value::Object(Map::from_iter(
            entries.iter().map(|(key, value)| (key.to_owned(), plain(value))),
        )),
    }
}

/// The value of a pair with the places of its parts. Dotted keys in an inline table are not taken apart.
pub(super) fn value_node(text: &str, pair: &Statement) -> Option<Node> {
    let Kind::Pair { value: range } = &pair.kind else { return None };
    // Read alone, under a name of its own, its places are known relative to the pair.
    const NAME: &str = "v=";
    let alone = format!("{NAME}{}", part(text, range.clone()));
    let document = Document::parse(alone).ok()?;
    let shift = |at: usize| at - NAME.len() + range.start;
    node(text, document.get("v")?.as_value()?, &shift)
}

fn node(text: &str, value: &TomlValue, shift: &impl Fn(usize) -> usize) -> Option<Node> {
    let span = value.span()?;
    let span = shift(span.start)..shift(span.end);
    let mut children: Vec<Entry> = Vec::new();
    match value {
        TomlValue::Array(items) => {
            for item in items {
                let value = node(text, item, shift)?;
                let start = value.span.start;
                children.push(Entry { key: String::new(), start, head: start, value, comma: None });
            }
        }
        TomlValue::InlineTable(entries) => {
            for (name, item) in entries {
                let (key, _) = entries.get_key_value(name)?;
                let start = shift(key.span()?.start);
                let value = node(text, item, shift)?;
                let head = value.span.start;
                children.push(Entry { key: name.to_owned(), start, head, value, comma: None });
            }
        }
        _ => {
            return Some(Node {
                span,
                content: Content::Scalar(plain(value)),
                style: Style::Enclosed,
            });
        }
    }
    let starts: Vec<usize> = children.iter().skip(1).map(|child| child.start).collect();
    let ends = starts.into_iter().chain([span.end - 1]);
    for (child, end) in children.iter_mut().zip(ends) {
        child.comma = comma_between(text, child.value.span.end, end);
    }
    let content = match value {
        TomlValue::Array(_) => Content::List(children),
        _ => Content::Map(children),
    };
    Some(Node { span, content, style: Style::Enclosed })
}
