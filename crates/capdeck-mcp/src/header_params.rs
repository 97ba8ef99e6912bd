//! Tool parameters that are also sent as HTTP headers: `x-mcp-header` in a tool's schema, `Mcp-Param-…` on the wire.
//! Values are plain if valid in a header, else wrapped as `=?base64?…?=`.
//!
//! One implementation for both halves: the client sends the result of [`HeaderParams::headers`], the server compares
//! with it.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value, value::RawValue};

const PREFIX: &str = "Mcp-Param-";

const KEYWORD: &str = "x-mcp-header";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderParams(Vec<HeaderParam>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct HeaderParam {
    header: String,
    path: Vec<String>,
    kind: HeaderParamType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderParamType {
    Text,
    Integer,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// `Mcp-Param-` and the name in the schema.
    pub name: String,
    /// The encoded argument; `None` when the call omits it.
    pub value: Option<String>,
}

/// A tool with invalid annotations. Clients do not offer it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderParamsError {
    #[error(
        "`x-mcp-header` of `{parameter}` has to be a name in letters, digits and punctuation that headers allow"
    )]
    Name { parameter: String },
    #[error(
        "`x-mcp-header` is for strings, integers and booleans, and `{parameter}` is none of these"
    )]
    Kind { parameter: String },
    #[error("two parameters have the `x-mcp-header` `{name}`")]
    Repeated { name: String },
    #[error("`x-mcp-header` is under `{keyword}`, where it cannot be followed to one argument")]
    Unreachable { keyword: String },
}

impl HeaderParams {
    pub fn from_schema(schema: &RawValue) -> Result<Self, HeaderParamsError> {
        let mut found = Self::default();
        // Tools rarely have any, so most schemas are not parsed.
        if !schema.get().contains(KEYWORD) && !schema.get().contains("\\u") {
            return Ok(found);
        }
        if let Ok(Value::Object(schema)) = serde_json::from_str(schema.get()) {
            found.visit(&schema, &mut Vec::new())?;
        }
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the headers of a call with these arguments, one per annotated parameter.
    pub fn headers(&self, arguments: Option<&RawValue>) -> Vec<ParamHeader> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let arguments: Value = arguments
            .and_then(|arguments| serde_json::from_str(arguments.get()).ok())
            .unwrap_or_default();
        let header = |param: &HeaderParam| ParamHeader {
            name: param.header.clone(),
            value: param.value_in(&arguments).map(|text| encode(&text).into_owned()),
        };
        self.0.iter().map(header).collect()
    }

    /// Follows the schema from the arguments through `properties` alone.
    fn visit(
        &mut self,
        schema: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Result<(), HeaderParamsError> {
        if let Some(name) = schema.get(KEYWORD) {
            self.add(name, schema.get("type"), path)?;
        }
        for (keyword, inner) in schema {
            match (keyword.as_str(), inner) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        let Value::Object(property) = property else { continue };
                        path.push(name.clone());
                        self.visit(property, path)?;
                        path.pop();
                    }
                }
                _ if is_data(keyword) => {}
                _ if mentions(inner, holds_a_map(keyword)) => {
                    return Err(HeaderParamsError::Unreachable { keyword: keyword.clone() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &Value,
        kind: Option<&Value>,
        path: &[String],
    ) -> Result<(), HeaderParamsError> {
        let parameter = || path.join(".");
        let name = name.as_str().filter(|name| is_token(name));
        let name = name.ok_or_else(|| HeaderParamsError::Name { parameter: parameter() })?;
        let kind = match kind.and_then(Value::as_str) {
            Some("string") => HeaderParamType::Text,
            Some("integer") => HeaderParamType::Integer,
            Some("boolean") => HeaderParamType::Boolean,
            _ => return Err(HeaderParamsError::Kind { parameter: parameter() }),
        };
        let header = format!("{PREFIX}{name}");
        if self.0.iter().any(|other| other.header.eq_ignore_ascii_case(&header)) {
            return Err(HeaderParamsError::Repeated { name: name.to_owned() });
        }
        self.0.push(HeaderParam { header, path: path.to_vec(), kind });
        Ok(())
    }
}

impl HeaderParam {
    /// Returns the argument as text. A value of another type has no header; the tool rejects it.
    fn value_in(&self, arguments: &Value) -> Option<String> {
        let mut value = arguments;
        for name in &self.path {
            value = value.get(name)?;
        }
        match (self.kind, value) {
            (HeaderParamType::Text, Value::String(text)) => Some(text.clone()),
            (HeaderParamType::Boolean, Value::Bool(truth)) => Some(truth.to_string()),
            (HeaderParamType::Integer, Value::Number(number)) => integer_text(number),
            _ => None,
        }
    }
}

/// Keywords whose values are example data, not schemas.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, KEYWORD | "default" | "const" | "enum" | "examples" | "required" | "type")
}

/// Keywords whose values are maps of schemas.
fn holds_a_map(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
    )
}

fn mentions(value: &Value, is_map: bool) -> bool {
    match value {
        Value::Array(schemas) => schemas.iter().any(|schema| mentions(schema, false)),
        Value::Object(schemas) if is_map => schemas.values().any(|schema| mentions(schema, false)),
        Value::Object(schema) => {
            schema.contains_key(KEYWORD)
                || schema.iter().any(|(keyword, inner)| {
                    !is_data(keyword) && mentions(inner, holds_a_map(keyword))
                })
        }
        _ => false,
    }
}

fn is_token(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let wrapped = text.starts_with(OPENING) && text.ends_with(CLOSING);
    if printable && !padded && !wrapped {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{OPENING}{}{CLOSING}", STANDARD.encode(text)))
}

/// Decodes a header value. `None` when it is wrapped and not Base64 of UTF-8 text.
pub(crate) fn decode(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    let inner = value.strip_prefix(OPENING).and_then(|value| value.strip_suffix(CLOSING));
    match inner {
        None => Some(Cow::Borrowed(value)),
        Some(inner) => {
            let bytes = STANDARD.decode(inner).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// Returns whether two header values are equal. Numbers may have different notations.
pub(crate) fn same(given: &str, expected: &str) -> bool {
    let (Some(given), Some(expected)) = (decode(given), decode(expected)) else { return false };
    if given == expected {
        return true;
    }
    match (serde_json::from_str::<Number>(&given), expected.parse::<i128>()) {
        (Ok(given), Ok(_)) => integer_text(&given).is_some_and(|given| given == expected),
        _ => false,
    }
}

fn integer_text(number: &Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    // A larger float does not identify one integer.
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
    Some(format!("{float:.0}"))
}

#[cfg(test)]
mod tests;
