//! Values as agents' files have them, in the form that definitions have.

use serde_json::Value;

/// Numbers and truth values as texts: programs are given nothing else, and people leave the quotes out.
pub(super) fn numbers_to_texts(value: &mut Value) {
    let text = |one: &mut Value| {
        if one.is_number() || one.is_boolean() {
            *one = Value::String(one.to_string());
        }
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(text),
        Value::Object(entries) => entries.values_mut().for_each(text),
        _ => {}
    }
}

/// `$NAME` as `${NAME}`, everywhere below a value.
pub(super) fn embrace_variables(value: &mut Value) {
    match value {
        Value::String(text) => *text = embraced(text),
        Value::Array(items) => items.iter_mut().for_each(embrace_variables),
        Value::Object(entries) => entries.values_mut().for_each(embrace_variables),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn embraced(text: &str) -> String {
    let mut parts = text.split('$');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = part.split_at(part.find(|c| !is_part(c)).unwrap_or(part.len()));
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            written.push_str(&format!("${{{name}}}{rest}"));
        } else {
            written.push_str(&format!("${part}"));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::embraced;

    #[test]
    fn bare_names_get_braces_and_nothing_else_changes() {
        for (text, written) in [
            ("$KEY", "${KEY}"),
            ("Bearer $A_1-$B", "Bearer ${A_1}-${B}"),
            ("${KEY}", "${KEY}"),
            ("US$5 $", "US$5 $"),
            ("plain", "plain"),
        ] {
            assert_eq!(embraced(text), written);
        }
    }
}
