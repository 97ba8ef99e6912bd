//! The parameters of an operation: where each goes, how it is written, and what it accepts.

use serde_json::{Map, Value};

use super::{
    document::{Document, Node, Version},
    media::is_json,
    style::{Format, Style},
};

/// Where a parameter goes, which is also the argument group it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

/// A parameter as a call needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) location: Location,
    pub(super) spelling: Spelling,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Styled(Format),
    /// As JSON text, for a parameter with `content`.
    Json,
}

/// A parameter as it stands in the description.
#[derive(Debug, Clone)]
pub(super) struct Described<'a> {
    pub(super) parameter: Parameter,
    pub(super) is_required: bool,
    pub(super) schema: Option<Node<'a>>,
    pub(super) node: Node<'a>,
}

/// One entry of a `parameters` list.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    Parameter(Described<'a>),
    /// Swagger 2: `in: body`.
    Body(Node<'a>),
    /// Swagger 2: `in: formData`.
    FormField(Node<'a>),
}

impl Location {
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

impl Parameter {
    /// A path parameter that nobody described.
    pub(super) fn in_path(name: &str) -> Self {
        let format = Format { style: Style::Simple, explode: false, allow_reserved: false };
        Self { name: name.to_owned(), location: Location::Path, spelling: Spelling::Styled(format) }
    }
}

/// Reads one entry, references followed. The error says why it means nothing.
pub(super) fn read<'a>(document: &'a Document, entry: Node<'a>) -> Result<Entry<'a>, String> {
    let node = document.follow(entry)?;
    if !node.value.is_object() {
        return Err("a parameter is no object".to_owned());
    }
    let place = node.text("in").ok_or("a parameter does not say where it goes (`in`)")?;
    if document.version == Version::Swagger2 {
        match place {
            "body" => return Ok(Entry::Body(node)),
            "formData" => return Ok(Entry::FormField(node)),
            _ => {}
        }
    }
    let name = node.text("name").ok_or("a parameter has no `name`")?;
    let location = match place {
        "path" => Location::Path,
        "query" => Location::Query,
        "header" => Location::Header,
        "cookie" => Location::Cookie,
        other => return Err(format!("parameter `{name}` goes to an unknown place: `{other}`")),
    };
    let (spelling, schema) = if document.version == Version::Swagger2 {
        (Spelling::Styled(collection_format(node, location)), Some(node))
    } else {
        described_spelling(document, node, location)?
    };
    let parameter = Parameter { name: name.to_owned(), location, spelling };
    // A path with a hole in it is no path, whatever the description says.
    let is_required = location == Location::Path || node.is_true("required");
    Ok(Entry::Parameter(Described { parameter, is_required, schema, node }))
}

/// A parameter of OpenAPI 3 has either a schema and a style, or one media type.
fn described_spelling<'a>(
    document: &'a Document,
    node: Node<'a>,
    location: Location,
) -> Result<(Spelling, Option<Node<'a>>), String> {
    let format = format(node, location)?;
    if let Some((mime, media)) = node.get("content").and_then(|content| content.members().next()) {
        let schema = document.follow(media)?.get("schema");
        let spelling = if is_json(mime) { Spelling::Json } else { Spelling::Styled(format) };
        return Ok((spelling, schema));
    }
    Ok((Spelling::Styled(format), node.get("schema")))
}

/// The style of a parameter or of a form field (`encoding`), with the defaults of its place.
pub(super) fn format(node: Node<'_>, location: Location) -> Result<Format, String> {
    let style = match (node.text("style"), location) {
        (None, Location::Path | Location::Header) => Style::Simple,
        (None, Location::Query | Location::Cookie) => Style::Form,
        (Some("simple"), _) => Style::Simple,
        (Some("label"), Location::Path) => Style::Label,
        (Some("matrix"), Location::Path) => Style::Matrix,
        (Some("form"), _) => Style::Form,
        (Some("spaceDelimited"), Location::Query) => Style::SpaceDelimited,
        (Some("pipeDelimited"), Location::Query) => Style::PipeDelimited,
        (Some("deepObject"), Location::Query) => Style::DeepObject,
        (Some(other), _) => {
            let name = node.text("name").unwrap_or_default();
            return Err(format!(
                "parameter `{name}` has the style `{other}`, which has no meaning in `{}`",
                location.group()
            ));
        }
    };
    let explode = node.value.get("explode").and_then(Value::as_bool);
    Ok(Format {
        style,
        explode: explode.unwrap_or(style == Style::Form),
        allow_reserved: node.is_true("allowReserved")
            && matches!(location, Location::Query | Location::Path),
    })
}

/// Swagger 2 says with one word how lists are written.
pub(super) fn collection_format(node: Node<'_>, location: Location) -> Format {
    let (style, explode) = match node.text("collectionFormat") {
        Some("ssv") => (Style::SpaceDelimited, false),
        Some("tsv") => (Style::TabDelimited, false),
        Some("pipes") => (Style::PipeDelimited, false),
        Some("multi") => (Style::Form, true),
        _ if matches!(location, Location::Path | Location::Header) => (Style::Simple, false),
        _ => (Style::Form, false),
    };
    Format { style, explode, allow_reserved: false }
}

/// The schema of a parameter with what the parameter itself says about it.
pub(super) fn annotate(node: Node<'_>, mut schema: Value) -> Value {
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
