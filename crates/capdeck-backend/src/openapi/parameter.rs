//! The parameters of an operation: where each goes, how it is written, and what it accepts.

use serde_json::{Map, Value};

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    media::is_json,
    style::{ParameterFormat, ParameterStyle},
};

/// Where a parameter goes, which is also the argument group it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

/// A parameter as a call needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenApiParameter {
    pub(super) name: String,
    pub(super) location: ParameterLocation,
    pub(super) spelling: ParameterEncoding,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterEncoding {
    Styled(ParameterFormat),
    /// As JSON text, for a parameter with `content`.
    Json,
}

/// A parameter as it stands in the description.
#[derive(Debug, Clone)]
pub(super) struct ParameterDescription<'a> {
    pub(super) parameter: OpenApiParameter,
    pub(super) is_required: bool,
    pub(super) schema: Option<OpenApiNode<'a>>,
    pub(super) node: OpenApiNode<'a>,
}

/// One entry of a `parameters` list.
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

    /// The name of the argument group.
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
    /// A path parameter that nobody described.
    pub(super) fn in_path(name: &str) -> Self {
        let format = ParameterFormat {
            style: ParameterStyle::Simple,
            explode: false,
            allow_reserved: false,
        };
        Self {
            name: name.to_owned(),
            location: ParameterLocation::Path,
            spelling: ParameterEncoding::Styled(format),
        }
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
    let location = match place {
        "path" => ParameterLocation::Path,
        "query" => ParameterLocation::Query,
        "header" => ParameterLocation::Header,
        "cookie" => ParameterLocation::Cookie,
        other => return Err(format!("parameter `{name}` goes to an unknown place: `{other}`")),
    };
    let (spelling, schema) = if document.version == OpenApiVersion::Swagger2 {
        (ParameterEncoding::Styled(collection_format(node, location)), Some(node))
    } else {
        described_spelling(document, node, location)?
    };
    let parameter = OpenApiParameter { name: name.to_owned(), location, spelling };
    // A path with a hole in it is no path, whatever the description says.
    let is_required = location == ParameterLocation::Path || node.is_true("required");
    Ok(ParameterEntry::Parameter(ParameterDescription { parameter, is_required, schema, node }))
}

/// A parameter of OpenAPI 3 has either a schema and a style, or one media type.
fn described_spelling<'a>(
    document: &'a OpenApiDocument,
    node: OpenApiNode<'a>,
    location: ParameterLocation,
) -> Result<(ParameterEncoding, Option<OpenApiNode<'a>>), String> {
    let format = format(node, location)?;
    if let Some((mime, media)) = node.get("content").and_then(|content| content.members().next()) {
        let schema = document.follow(media)?.get("schema");
        let spelling =
            if is_json(mime) { ParameterEncoding::Json } else { ParameterEncoding::Styled(format) };
        return Ok((spelling, schema));
    }
    Ok((ParameterEncoding::Styled(format), node.get("schema")))
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
    ParameterFormat { style, explode, allow_reserved: false }
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
