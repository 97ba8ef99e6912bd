//! JSON with comments and trailing commas.

mod parse;
mod render;

use serde_json::Value;

use self::render::Indent;
use super::{
    Step, SyntaxError,
    commas::{self, Rules, Shape},
    layout::{indentation, newline, place_of, starts_line},
    operation::Operation,
    splice::{self, Change},
    tree::{Content, Node},
};

/// What a text says; null when it says nothing.
pub(super) fn read(text: &str) -> Result<Value, SyntaxError> {
    let root = parse::parse(text).map_err(|error| {
        let (line, column) = place_of(text, error.at);
        SyntaxError { line, column, message: error.message }
    })?;
    Ok(root.map_or(Value::Null, |root| root.to_value()))
}

/// The changes that make an edit; none where it cannot be made.
pub(super) fn edit(text: &str, operation: &Operation) -> Option<Vec<Change>> {
    let root = parse::parse(text).ok()?;
    let rules = Rules { line_comment: "//", may_break: true, unit: unit(text, root.as_ref()) };
    match operation {
        Operation::Root { value } => Some(vec![whole(text, root.as_ref(), value, rules)]),
        Operation::Replace { path, value } => {
            let node = root.as_ref()?.find(path)?;
            let indent = indentation(text, node.span.start).to_owned();
            let shape = if text.trim().contains('\n') {
                Shape::Lines(indent)
            } else {
                Shape::Inline { spaced: text.contains(": ") }
            };
            let text = write(value, &shape, rules, newline(text));
            Some(vec![Change { range: node.span.clone(), text }])
        }
        Operation::Insert { map, key, value } => {
            commas::append(text, root.as_ref()?.find(map)?, rules, |shape| {
                let colon =
                    if matches!(shape, Shape::Inline { spaced: false }) { ":" } else { ": " };
                let value = write(value, shape, rules, newline(text));
                format!("{}{colon}{value}", render::string(key))
            })
        }
        Operation::Append { list, item } => {
            commas::append(text, root.as_ref()?.find(list)?, rules, |shape| {
                write(item, shape, rules, newline(text))
            })
        }
        Operation::Remove { path } => remove(text, root.as_ref()?, path),
    }
}

fn write(value: &Value, shape: &Shape, rules: Rules, newline: &str) -> String {
    match shape {
        Shape::Lines(indent) => {
            render::lines(value, Indent { newline, current: indent, unit: rules.unit })
        }
        Shape::Inline { spaced } => render::inline(value, *spaced),
    }
}

/// A value for a document that has none, after its comments.
fn whole(text: &str, root: Option<&Node>, value: &Value, rules: Rules) -> Change {
    let newline = newline(text);
    let rendered = render::lines(value, Indent { newline, current: "", unit: rules.unit });
    if let Some(root) = root {
        return Change { range: root.span.clone(), text: rendered };
    }
    let kept = text.trim_end();
    let before = if kept.is_empty() { "" } else { newline };
    Change { range: kept.len()..text.len(), text: format!("{before}{rendered}{newline}") }
}

/// Every writing of the key goes, or an earlier one would come to count.
fn remove(text: &str, root: &Node, path: &[Step]) -> Option<Vec<Change>> {
    let (last, parents) = path.split_last()?;
    let container = root.find(parents)?;
    let twins = match last {
        Step::Key(key) => container.entries().iter().filter(|entry| entry.key == *key).count(),
        Step::Index(_) => 1,
    };
    let changes = commas::remove(text, container, container.position(last)?)?;
    if twins == 1 {
        return Some(changes);
    }
    let once = splice::apply(text, changes)?;
    let rest = remove(&once, &parse::parse(&once).ok()??, path)?;
    let text_after = splice::apply(&once, rest)?;
    Some(vec![Change { range: 0..text.len(), text: text_after }])
}

/// One level of indentation: what the first line inside the document begins with.
fn unit(text: &str, root: Option<&Node>) -> &'static str {
    let Some(root) = root else { return "  " };
    let Some(first) = root.entries().first().filter(|first| starts_line(text, first.start)) else {
        return "  ";
    };
    let depth = indentation(text, first.start);
    match (depth.starts_with('\t'), depth.len()) {
        (true, _) => "\t",
        (false, 0) => nested_unit(text, &root.content),
        (false, 1) => " ",
        (false, 3) => "   ",
        (false, 4) => "    ",
        (false, 8) => "        ",
        (false, _) => "  ",
    }
}

/// A document whose first level is not indented may still indent the second.
fn nested_unit(text: &str, content: &Content) -> &'static str {
    let (Content::Map(entries) | Content::List(entries)) = content else { return "  " };
    let nested = entries.iter().find_map(|entry| entry.value.entries().first());
    match nested.map(|entry| indentation(text, entry.start)) {
        Some(blanks) if blanks.starts_with('\t') => "\t",
        Some(blanks) if blanks.len() == 4 => "    ",
        _ => "  ",
    }
}
