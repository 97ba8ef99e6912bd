//! A shape as a TypeScript type.

use super::{MAX_VARIANTS, ObjectShape, ObservedShape, ScalarKind};

/// The type, spelled out to this many levels.
pub(super) fn render(shape: &ObservedShape, levels: usize) -> String {
    variants(shape, levels).join(" | ")
}

fn variants(shape: &ObservedShape, levels: usize) -> Vec<String> {
    let mut variants: Vec<String> = Vec::new();
    if let Some(object) = &shape.object {
        variants.push(if levels == 0 { "object".to_owned() } else { fields(object, levels) });
    }
    if let Some(items) = &shape.items {
        let below = match levels {
            0 => vec!["unknown".to_owned()],
            _ => self::variants(items, levels - 1),
        };
        variants.push(match below.as_slice() {
            [one] => format!("{one}[]"),
            several => format!("({})[]", several.join(" | ")),
        });
    }
    variants.extend(shape.scalars.iter().map(|scalar| {
        let name = match scalar {
            ScalarKind::String => "string",
            ScalarKind::Number => "number",
            ScalarKind::Boolean => "boolean",
            ScalarKind::Null => "null",
        };
        name.to_owned()
    }));
    if shape.unknown || variants.is_empty() || variants.len() > MAX_VARIANTS {
        return vec!["unknown".to_owned()];
    }
    variants
}

fn fields(object: &ObjectShape, levels: usize) -> String {
    if let Some(values) = &object.values {
        return format!("{{ [key: string]: {} }}", render(values, levels - 1));
    }
    let known = object.fields.iter();
    let mut members: Vec<String> = known
        .map(|(name, shape)| format!("{}?: {}", key(name), render(shape, levels - 1)))
        .collect();
    if object.more {
        members.push("…".to_owned());
    }
    match members.as_slice() {
        [] => "{}".to_owned(),
        _ => format!("{{ {} }}", members.join("; ")),
    }
}

fn key(name: &str) -> String {
    let is_identifier = !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$');
    if is_identifier { name.to_owned() } else { format!("{name:?}") }
}
