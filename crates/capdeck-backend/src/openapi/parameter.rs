//! The parameters of an operation: where each goes, how it is written, and what it accepts.

use serde_json::{Map, Value};

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    file_input::is_json,
    style::{ParameterFormat, ParameterStyle},
};
use crate::CallError;

/// Where a parameter goes, which is also the argument group it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenApiParameter {
    pub(super) name: String,
    pub(super) location: ParameterLocation,
    pub(super) format: ParameterFormat,
}

#[derive(Debug, Clone)]
pub(super) struct ParameterDescription<'a> {
    pub(super) parameter: OpenApiParameter,
    pub(super) is_required: bool,
    pub(super) schema: Option<OpenApiNode<'a>>,
    pub(super) node: OpenApiNode<'a>,
}

#[derive(Debug)]
pub(super) enum ParameterEntry<'a> {
    Parameter(ParameterDescription<'a>),
    /// Swagger 2: `in: body`.
    Body(OpenApiNode<'a>),
    /// Swagger 2: `in: formData`.
    FormField(OpenApiNode<'a>),
}

impl ParameterLocation {
    pub(super) const ALL: [Self; 4] = [Self::Path, Self::Query, Self::Header, Self::Cookie];

    pub(super) fn group(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

impl OpenApiParameter {
    pub(super) fn in_path(name: &str) -> Self {
        let format = ParameterFormat::new(ParameterStyle::Simple, false);
        Self { name: name.to_owned(), location: ParameterLocation::Path, format }
    }
}

/// Reads one entry, references followed. The error says why it means nothing.
pub(super) fn read<'a>(
    document: &'a OpenApiDocument,
    entry: OpenApiNode<'a>,
) -> Result<ParameterEntry<'a>, String> {
    let node = document.follow(entry)?;
    if !node.value.is_object() {
        return Err("a parameter is no object".to_owned());
    }
    let place = node.text("in").ok_or("a parameter does not say where it goes (`in`)")?;
    if document.version == OpenApiVersion::Swagger2 {
        match place {
            "body" => return Ok(ParameterEntry::Body(node)),
            "formData" => return Ok(ParameterEntry::FormField(node)),
            _ => {}
        }
    }
    let name = node.text("name").ok_or("a parameter has no `name`")?;
    let location = ParameterLocation::ALL
        .into_iter()
        .find(|location| location.group() == place)
        .ok_or_else(|| format!("parameter `{name}` goes to an unknown place: `{place}`"))?;
    let (format, schema) = if document.version == OpenApiVersion::Swagger2 {
        (collection_format(node, location), Some(node))
    } else {
        described_format(document, node, location)?
    };
    let parameter = OpenApiParameter { name: name.to_owned(), location, format };
    // A path parameter is required even when the description says otherwise.
    let is_required = location == ParameterLocation::Path || node.is_true("required");
    Ok(ParameterEntry::Parameter(ParameterDescription { parameter, is_required, schema, node }))
}

/// A parameter of OpenAPI 3 has either a schema and a style, or one media type.
fn described_format<'a>(
    document: &'a OpenApiDocument,
    node: OpenApiNode<'a>,
    location: ParameterLocation,
) -> Result<(ParameterFormat, Option<OpenApiNode<'a>>), String> {
    let format = format(node, location)?;
    if let Some((mime, media)) = node.get("content").and_then(|content| content.members().next()) {
        let schema = document.follow(media)?.get("schema");
        return Ok((if is_json(mime) { ParameterFormat::JSON } else { format }, schema));
    }
    Ok((format, node.get("schema")))
}

/// The style of a parameter or of a form field (`encoding`), with the defaults of its place.
pub(super) fn format(
    node: OpenApiNode<'_>,
    location: ParameterLocation,
) -> Result<ParameterFormat, String> {
    let style = match (node.text("style"), location) {
        (None, ParameterLocation::Path | ParameterLocation::Header) => ParameterStyle::Simple,
        (None, ParameterLocation::Query | ParameterLocation::Cookie) => ParameterStyle::Form,
        (Some("simple"), _) => ParameterStyle::Simple,
        (Some("label"), ParameterLocation::Path) => ParameterStyle::Label,
        (Some("matrix"), ParameterLocation::Path) => ParameterStyle::Matrix,
        (Some("form"), _) => ParameterStyle::Form,
        (Some("spaceDelimited"), ParameterLocation::Query) => ParameterStyle::SpaceDelimited,
        (Some("pipeDelimited"), ParameterLocation::Query) => ParameterStyle::PipeDelimited,
        (Some("deepObject"), ParameterLocation::Query) => ParameterStyle::DeepObject,
        (Some(other), _) => {
            let name = node.text("name").unwrap_or_default();
            return Err(format!(
                "parameter `{name}` has the style `{other}`, which has no meaning in `{}`",
                location.group()
            ));
        }
    };
    let explode = node.value.get("explode").and_then(Value::as_bool);
    Ok(ParameterFormat {
        style,
        explode: explode.unwrap_or(style == ParameterStyle::Form),
        allow_reserved: node.is_true("allowReserved")
            && matches!(location, ParameterLocation::Query | ParameterLocation::Path),
    })
}

/// Swagger 2 says with one word how lists are written.
pub(super) fn collection_format(
    node: OpenApiNode<'_>,
    location: ParameterLocation,
) -> ParameterFormat {
    let (style, explode) = match node.text("collectionFormat") {
        Some("ssv") => (ParameterStyle::SpaceDelimited, false),
        Some("tsv") => (ParameterStyle::TabDelimited, false),
        Some("pipes") => (ParameterStyle::PipeDelimited, false),
        Some("multi") => (ParameterStyle::Form, true),
        _ if matches!(location, ParameterLocation::Path | ParameterLocation::Header) => {
            (ParameterStyle::Simple, false)
        }
        _ => (ParameterStyle::Form, false),
    };
    ParameterFormat::new(style, explode)
}

/// The schema of a parameter with what the parameter itself says about it.
pub(super) fn annotate(node: OpenApiNode<'_>, mut schema: Value) -> Value {
    if schema == Value::Bool(true) {
        schema = Value::Object(Map::new());
    }
    let Value::Object(members) = &mut schema else { return schema };
    if let Some(description) = node.text("description") {
        members.insert("description".to_owned(), description.into());
    }
    if node.is_true("deprecated") {
        members.insert("deprecated".to_owned(), true.into());
    }
    schema
}

/// A path, and the query that some descriptions write behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    pieces: Vec<PathTemplatePart>,
    query: Option<Vec<PathTemplatePart>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathTemplatePart {
    Text(String),
    Hole(String),
}

impl PathTemplate {
    /// Reads a key of `paths`. What follows a `#` only tells operations apart and is not sent.
    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').map_or((path, None), |(a, b)| (a, Some(b)));
        if !path.starts_with('/') {
            return Err("the path does not start with `/`".to_owned());
        }
        Ok(Self { pieces: pieces(path), query: query.map(pieces) })
    }

    pub(super) fn holes(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for piece in self.pieces.iter().chain(self.query.iter().flatten()) {
            if let PathTemplatePart::Hole(name) = piece
                && !names.contains(&name.as_str())
            {
                names.push(name.as_str());
            }
        }
        names
    }

    pub(super) fn fill(
        &self,
        parameters: &[OpenApiParameter],
        values: &Map<String, Value>,
    ) -> Result<(String, Option<String>), CallError> {
        let fill_all = |pieces: &[PathTemplatePart]| {
            pieces
                .iter()
                .map(|piece| match piece {
                    PathTemplatePart::Text(text) => Ok(text.clone()),
                    PathTemplatePart::Hole(name) => fill_hole(name, parameters, values),
                })
                .collect::<Result<String, CallError>>()
        };
        let query = self.query.as_deref().map(fill_all).transpose()?;
        Ok((fill_all(&self.pieces)?, query))
    }
}

fn fill_hole(
    name: &str,
    parameters: &[OpenApiParameter],
    values: &Map<String, Value>,
) -> Result<String, CallError> {
    let value = values.get(name).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    });
    let value = value.ok_or_else(|| {
        CallError::invalid_request(format!(
            "`path.{name}` is part of the path and must not be empty"
        ))
        .hint(format!("call the tool with a value for `path.{name}`"))
    })?;
    // A whole segment is seen where the URL is made; inside of a value its neighbours are encoded.
    let leaves = |text: &str| {
        text.contains(['/', '\\']) && text.split(['/', '\\']).any(|it| matches!(it, "." | ".."))
    };
    if value.as_str().is_some_and(leaves) {
        return Err(CallError::invalid_request(format!(
            "`path.{name}` has a `.` or `..` segment, which could lead elsewhere"
        ))
        .hint("use the name of the resource as the API gives it"));
    }
    let parameter = parameters
        .iter()
        .find(|parameter| parameter.location == ParameterLocation::Path && parameter.name == name);
    let format = parameter.map_or(ParameterFormat::JSON, |parameter| parameter.format);
    Ok(format.path_text(name, value))
}

fn pieces(text: &str) -> Vec<PathTemplatePart> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        if !before.is_empty() {
            pieces.push(PathTemplatePart::Text(before.to_owned()));
        }
        // Some authors borrow the marks of URI templates; the name is the same without them.
        let name = name.trim().trim_start_matches('+').trim_end_matches('*');
        pieces.push(PathTemplatePart::Hole(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(PathTemplatePart::Text(rest.to_owned()));
    }
    pieces
}

#[cfg(test)]
mod path_tests {
    use serde_json::json;

    use super::*;

    fn fill(path: &str, values: Value) -> Result<(String, Option<String>), String> {
        let template = PathTemplate::parse(path)?;
        let parameters: Vec<OpenApiParameter> =
            template.holes().into_iter().map(OpenApiParameter::in_path).collect();
        template.fill(&parameters, values.as_object().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn holes_are_filled_and_values_stay_inside() {
        for (path, values, expected) in [
            ("/users", json!({}), "/users"),
            ("/users/{id}", json!({"id": 5}), "/users/5"),
            ("/{a}/x.{b}", json!({"a": "m/n", "b": "?#"}), "/m%2Fn/x.%3F%23"),
            ("/items({key})", json!({"key": "k"}), "/items(k)"),
            ("/files/{+path}", json!({"path": "a b"}), "/files/a%20b"),
            ("/tags/{tags*}", json!({"tags": ["x", "y"]}), "/tags/x,y"),
            ("/open/{brace", json!({}), "/open/{brace"),
            ("/#action=x", json!({}), "/"),
        ] {
            assert_eq!(fill(path, values).unwrap(), (expected.to_owned(), None), "{path}");
        }
        let filled = fill("/do?action={what}&v=1", json!({"what": "a&b"})).unwrap();
        assert_eq!(filled, ("/do".to_owned(), Some("action=a%26b&v=1".to_owned())));
    }

    #[test]
    fn a_reserved_name_keeps_its_slashes() {
        let template = PathTemplate::parse("/v1/{+name}:cancel").unwrap();
        let mut name = OpenApiParameter::in_path("name");
        name.format.allow_reserved = true;
        for (value, expected) in
            [("projects/p 1/x", "/v1/projects/p%201/x:cancel"), ("a?b#c", "/v1/a%3Fb%23c:cancel")]
        {
            let values = Map::from_iter([("name".to_owned(), value.into())]);
            let filled = template.fill(std::slice::from_ref(&name), &values).unwrap();
            assert_eq!(filled, (expected.to_owned(), None));
        }
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for value in ["a/../../b", "a\\..\\b", "a/./b"] {
            let message = fill("/x/{n}", json!({"n": value})).unwrap_err();
            assert!(message.contains("`.` or `..` segment"), "{value}: {message}");
        }
    }

    #[test]
    fn an_empty_value_is_refused() {
        for values in [json!({}), json!({"id": null}), json!({"id": ""}), json!({"id": []})] {
            let message = fill("/users/{id}", values).unwrap_err();
            assert_eq!(message, "`path.id` is part of the path and must not be empty");
        }
        assert_eq!(fill("users", json!({})).unwrap_err(), "the path does not start with `/`");
    }
}
