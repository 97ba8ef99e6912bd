//! Parameter values as text, in every style that OpenAPI knows.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode_byte, utf8_percent_encode};
use serde_json::Value;

use crate::arguments::scalar_text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterStyle {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    /// Swagger 2 only: `collectionFormat: tsv`.
    TabDelimited,
    DeepObject,
    /// As JSON text, for a parameter with `content`.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParameterFormat {
    pub(super) style: ParameterStyle,
    pub(super) explode: bool,
    pub(super) allow_reserved: bool,
}

/// Everything but what RFC 3986 calls unreserved.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Characters that `allowReserved` leaves alone. `&`, `#` and `+` would change what the query says.
const RESERVED: &[u8] = b":/?[]@!$'()*,;=";

impl ParameterFormat {
    pub(super) const JSON: Self = Self::new(ParameterStyle::Json, false);

    pub(super) const fn new(style: ParameterStyle, explode: bool) -> Self {
        Self { style, explode, allow_reserved: false }
    }

    /// The pairs of a query, a form or a cookie header, both sides encoded.
    pub(super) fn pairs(self, name: &str, value: &Value) -> Vec<(String, String)> {
        let key = encode(name);
        let is_deep = self.style == ParameterStyle::DeepObject;
        match value {
            Value::Null => Vec::new(),
            value if self.style == ParameterStyle::Json => vec![(key, encode(&value.to_string()))],
            Value::Array(_) | Value::Object(_) if is_deep => {
                let mut pairs = Vec::new();
                deep(name, value, self, &mut pairs);
                pairs
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.encode(&text(item)));
                if self.explode {
                    return items.map(|item| (key.clone(), item)).collect();
                }
                if items.len() == 0 {
                    return Vec::new();
                }
                vec![(key, join(items, self.delimiter()))]
            }
            Value::Object(members) => {
                let given = members.iter().filter(|(_, value)| !value.is_null());
                let encoded =
                    given.map(|(member, value)| (encode(member), self.encode(&text(value))));
                if self.explode {
                    return encoded.collect();
                }
                if members.is_empty() {
                    return Vec::new();
                }
                vec![(key, join(encoded.flat_map(<[String; 2]>::from), self.delimiter()))]
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                vec![(key, self.encode(&text(value)))]
            }
        }
    }

    pub(super) fn path_text(self, name: &str, value: &Value) -> String {
        let key = encode(name);
        let (prefix, separator) = match self.style {
            ParameterStyle::Label => (".", if self.explode { "." } else { "," }),
            ParameterStyle::Matrix => (";", if self.explode { ";" } else { "," }),
            _ => ("", ","),
        };
        let matrix_key = |value: String| match (self.style, value.is_empty()) {
            (ParameterStyle::Matrix, true) => key.clone(),
            (ParameterStyle::Matrix, false) => format!("{key}={value}"),
            _ => value,
        };
        let whole = match value {
            value if self.style == ParameterStyle::Json => encode(&value.to_string()),
            Value::Array(items) => {
                let items = items.iter().map(|item| encode(&text(item)));
                if self.explode {
                    join(items.map(matrix_key), separator)
                } else {
                    matrix_key(join(items, separator))
                }
            }
            Value::Object(members) => {
                let members =
                    members.iter().map(|(name, value)| (encode(name), encode(&text(value))));
                if self.explode {
                    join(members.map(|(name, value)| format!("{name}={value}")), separator)
                } else {
                    matrix_key(join(members.flat_map(|(name, value)| [name, value]), separator))
                }
            }
            // `{+name}` of other formats: a name of several segments.
            scalar if self.allow_reserved => join(text(scalar).split('/').map(encode), "/"),
            scalar => matrix_key(encode(&text(scalar))),
        };
        format!("{prefix}{whole}")
    }

    /// The value of a header, which is not encoded.
    pub(super) fn header_text(self, value: &Value) -> String {
        match value {
            value if self.style == ParameterStyle::Json => value.to_string(),
            Value::Array(items) => join(items.iter().map(text), ","),
            Value::Object(members) if self.explode => {
                join(members.iter().map(|(name, value)| format!("{name}={}", text(value))), ",")
            }
            Value::Object(members) => {
                join(members.iter().flat_map(|(name, value)| [name.clone(), text(value)]), ",")
            }
            scalar => text(scalar),
        }
    }

    fn delimiter(self) -> &'static str {
        match self.style {
            ParameterStyle::SpaceDelimited => "%20",
            ParameterStyle::PipeDelimited => "%7C",
            ParameterStyle::TabDelimited => "%09",
            _ => ",",
        }
    }

    fn encode(self, text: &str) -> String {
        if self.allow_reserved { encode_leaving_reserved(text) } else { encode(text) }
    }
}

/// `name[member]=value`, to any depth. A list of plain values repeats `name[]`, others are counted.
fn deep(name: &str, value: &Value, format: ParameterFormat, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (member, value) in members {
                deep(&format!("{name}[{member}]"), value, format, pairs);
            }
        }
        Value::Array(items) => {
            let is_plain = items.iter().all(|item| scalar_text(item).is_some());
            for (index, item) in items.iter().enumerate() {
                let name = if is_plain { format!("{name}[]") } else { format!("{name}[{index}]") };
                deep(&name, item, format, pairs);
            }
        }
        scalar => pairs.push((encode(name), format.encode(&text(scalar)))),
    }
}

/// A part of a value as text. What is no plain value has no spelling in OpenAPI and is written as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => scalar_text(other).unwrap_or_else(|| other.to_string()),
    }
}

pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// As above, but reserved characters and what is encoded already stay as they are.
fn encode_leaving_reserved(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_hexadecimal = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_hexdigit);
    let mut encoded = String::with_capacity(text.len());
    for (index, byte) in bytes.iter().copied().enumerate() {
        let is_encoded = byte == b'%' && is_hexadecimal(index + 1) && is_hexadecimal(index + 2);
        if byte.is_ascii_alphanumeric()
            || b"-_.~".contains(&byte)
            || RESERVED.contains(&byte)
            || is_encoded
        {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(percent_encode_byte(byte));
        }
    }
    encoded
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn query(format: ParameterFormat, value: &Value) -> String {
        let pairs = format.pairs("color", value);
        join(pairs.into_iter().map(|(name, value)| format!("{name}={value}")), "&")
    }

    /// The table of examples in the OpenAPI specification, and what it leaves open.
    #[test]
    fn every_style_in_a_query() {
        let array = json!(["blue", "black", "a,b c"]);
        let object = json!({"R": 100, "G": "x&y"});
        for (style, explode, value, expected) in [
            (ParameterStyle::Form, true, &json!("blue"), "color=blue"),
            (ParameterStyle::Form, true, &json!(""), "color="),
            (ParameterStyle::Form, true, &json!(null), ""),
            (ParameterStyle::Form, true, &json!(2.0), "color=2"),
            (ParameterStyle::Form, true, &array, "color=blue&color=black&color=a%2Cb%20c"),
            (ParameterStyle::Form, false, &array, "color=blue,black,a%2Cb%20c"),
            (ParameterStyle::Form, true, &object, "R=100&G=x%26y"),
            (ParameterStyle::Form, false, &object, "color=R,100,G,x%26y"),
            (ParameterStyle::Form, true, &json!([]), ""),
            (ParameterStyle::Form, false, &json!({}), ""),
            (ParameterStyle::Form, true, &json!([{"a": 1}]), "color=%7B%22a%22%3A1%7D"),
            (ParameterStyle::SpaceDelimited, false, &json!(["a", "b"]), "color=a%20b"),
            (ParameterStyle::SpaceDelimited, true, &json!(["a", "b"]), "color=a&color=b"),
            (ParameterStyle::SpaceDelimited, false, &object, "color=R%20100%20G%20x%26y"),
            (ParameterStyle::PipeDelimited, false, &json!(["a", "b"]), "color=a%7Cb"),
            (ParameterStyle::PipeDelimited, false, &object, "color=R%7C100%7CG%7Cx%26y"),
            (ParameterStyle::TabDelimited, false, &json!(["a", "b"]), "color=a%09b"),
            (ParameterStyle::DeepObject, true, &object, "color%5BR%5D=100&color%5BG%5D=x%26y"),
            (ParameterStyle::DeepObject, true, &json!(["a", "b"]), "color%5B%5D=a&color%5B%5D=b"),
            (
                ParameterStyle::DeepObject,
                true,
                &json!({"a": {"b": [1]}, "c": [{"d": 2}], "n": null}),
                "color%5Ba%5D%5Bb%5D%5B%5D=1&color%5Bc%5D%5B0%5D%5Bd%5D=2",
            ),
        ] {
            assert_eq!(
                query(ParameterFormat::new(style, explode), value),
                expected,
                "{style:?} {explode} {value}"
            );
        }
    }

    #[test]
    fn every_style_in_a_path() {
        let array = json!(["blue", "a/b"]);
        let object = json!({"R": 100, "G": 200});
        for (style, explode, value, expected) in [
            (ParameterStyle::Simple, false, &json!("a/b"), "a%2Fb"),
            (ParameterStyle::Simple, false, &array, "blue,a%2Fb"),
            (ParameterStyle::Simple, true, &array, "blue,a%2Fb"),
            (ParameterStyle::Simple, false, &object, "R,100,G,200"),
            (ParameterStyle::Simple, true, &object, "R=100,G=200"),
            (ParameterStyle::Label, false, &json!("blue"), ".blue"),
            (ParameterStyle::Label, false, &array, ".blue,a%2Fb"),
            (ParameterStyle::Label, true, &array, ".blue.a%2Fb"),
            (ParameterStyle::Label, false, &object, ".R,100,G,200"),
            (ParameterStyle::Label, true, &object, ".R=100.G=200"),
            (ParameterStyle::Matrix, false, &json!("blue"), ";color=blue"),
            (ParameterStyle::Matrix, false, &json!(""), ";color"),
            (ParameterStyle::Matrix, false, &array, ";color=blue,a%2Fb"),
            (ParameterStyle::Matrix, true, &array, ";color=blue;color=a%2Fb"),
            (ParameterStyle::Matrix, false, &object, ";color=R,100,G,200"),
            (ParameterStyle::Matrix, true, &object, ";R=100;G=200"),
        ] {
            let text = ParameterFormat::new(style, explode).path_text("color", value);
            assert_eq!(text, expected, "{style:?} {explode} {value}");
        }
    }

    #[test]
    fn headers_are_plain_and_reserved_characters_can_stay() {
        let simple = |explode, value: &Value| {
            ParameterFormat::new(ParameterStyle::Simple, explode).header_text(value)
        };
        assert_eq!(simple(false, &json!(["a b", 2])), "a b,2");
        assert_eq!(simple(false, &json!({"R": 1, "G": true})), "R,1,G,true");
        assert_eq!(simple(true, &json!({"R": 1, "G": true})), "R=1,G=true");
        let reserved =
            ParameterFormat { style: ParameterStyle::Form, explode: true, allow_reserved: true };
        assert_eq!(
            query(reserved, &json!("/a/b?c=d&e#f+g %2f%zz")),
            "color=/a/b?c=d%26e%23f%2Bg%20%2f%25zz"
        );
    }
}
