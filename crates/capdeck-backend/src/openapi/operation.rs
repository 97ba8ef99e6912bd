//! One operation of a description: the tool that agents see, and the plan that a call follows.

use std::{fmt::Display, sync::Arc};

use capdeck_auth::is_transport_header;
use capdeck_catalog::{RawMembers, Tool};
use reqwest::{
    Method,
    header::{HeaderName, HeaderValue},
};
use serde_json::{Map, Value, json, value::RawValue};
use url::Url;

use super::{
    body::{self, BodyPlan, OperationBodies},
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    import::describe,
    parameter::{
        self, OpenApiParameter, ParameterDescription, ParameterEntry, ParameterLocation,
        PathTemplate,
    },
    schemas::{ConvertedSchema, SchemaConverter, SchemaDirection},
    tool_schema,
};
use crate::{CallError, api_connection::ImportProblems};

#[derive(Debug, Clone)]
pub(crate) struct OpenApiOperation {
    pub(super) method: Method,
    pub(crate) server: Arc<Url>,
    pub(crate) path: PathTemplate,
    pub(super) parameters: Vec<OpenApiParameter>,
    /// Sent unless the caller gives another value.
    pub(super) default_headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) bodies: Vec<BodyPlan>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OperationLocation<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) path_item: OpenApiNode<'a>,
    pub(super) node: OpenApiNode<'a>,
}

/// What all operations of a description share while it is read.
pub(super) struct OpenApiImporter<'a> {
    pub(super) document: &'a OpenApiDocument,
    pub(super) schemas: SchemaConverter<'a>,
    pub(super) problems: ImportProblems,
    /// Names of headers that carry the definition's credentials, in lower case.
    pub(super) auth_headers: Vec<String>,
    /// The operation that is being read, for problems.
    pub(super) place: String,
}

impl<'a> OpenApiImporter<'a> {
    pub(super) fn convert(
        &mut self,
        schema: OpenApiNode<'a>,
        direction: SchemaDirection,
    ) -> ConvertedSchema {
        self.schemas.convert(schema, direction, &self.place, &mut self.problems)
    }

    pub(super) fn add_problem(&mut self, reason: impl Display) {
        self.problems.add(&self.place, reason);
    }

    pub(super) fn is_swagger(&self) -> bool {
        self.document.version == OpenApiVersion::Swagger2
    }
}

impl OpenApiOperation {
    pub(crate) fn has_query(&self, name: &str) -> bool {
        let is_it =
            |one: &OpenApiParameter| one.location == ParameterLocation::Query && one.name == name;
        self.parameters.iter().any(is_it)
    }

    /// Refuses values for parameters that the operation does not have.
    pub(crate) fn check_names(&self, arguments: &Map<String, Value>) -> Result<(), CallError> {
        for location in ParameterLocation::ALL {
            let group = location.group();
            let here = self.parameters.iter().filter(|one| one.location == location);
            let known: Vec<&str> = here.map(|one| one.name.as_str()).collect();
            let given = arguments.get(group).and_then(Value::as_object).into_iter().flatten();
            let mut names = given.filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
            if let Some(name) = names.find(|name| !known.contains(&name.as_str())) {
                let message = format!("there is no `{group}.{name}`");
                return Err(CallError::invalid_request(message)
                    .hint(format!("known here: {}", known.join(", "))));
            }
        }
        Ok(())
    }
}

impl OperationLocation<'_> {
    /// `GET /users/{id}`, which no other operation is.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.method.to_ascii_uppercase(), self.path)
    }
}

/// Reads an operation. The error says why it cannot be called.
pub(super) fn read<'a>(
    import: &mut OpenApiImporter<'a>,
    spot: OperationLocation<'a>,
    name: &str,
    server: Arc<Url>,
) -> Result<(Tool, OpenApiOperation), String> {
    import.place = spot.place();
    let path = PathTemplate::parse(spot.path)?;
    let method = Method::from_bytes(spot.method.to_ascii_uppercase().as_bytes())
        .map_err(|error| error.to_string())?;
    let OperationParameters { mut parameters, body, form_fields } = collect(import, spot);
    fit_to_path(&mut parameters, &path, import.document.root());
    let default_headers = take_default_headers(import, &mut parameters);
    let bodies = match spot.node.get("requestBody") {
        _ if import.is_swagger() => body::read_swagger_body(import, spot.node, body, &form_fields)?,
        Some(body) => body::read(import, body)?,
        None => OperationBodies::default(),
    };
    let extension = spot.node.get("x-capdeck");
    let own = extension.and_then(|extension| extension.get("arguments"));
    let input_schema = tool_schema::input_schema(import, &parameters, &bodies, own);
    let output_schema = tool_schema::output_schema(import, spot.node);
    let tool = build_tool(name, spot, &method, input_schema, output_schema)
        .ok_or("it cannot be described")?;
    let operation = OpenApiOperation {
        method,
        server,
        path,
        parameters: parameters.into_iter().map(|one| one.parameter).collect(),
        default_headers,
        bodies: bodies.plans,
    };
    Ok((tool, operation))
}

#[derive(Default)]
struct OperationParameters<'a> {
    parameters: Vec<ParameterDescription<'a>>,
    body: Option<OpenApiNode<'a>>,
    form_fields: Vec<OpenApiNode<'a>>,
}

/// An operation's own parameters replace those of its path by name and place. A broken one is left out.
fn collect<'a>(
    import: &mut OpenApiImporter<'a>,
    spot: OperationLocation<'a>,
) -> OperationParameters<'a> {
    let mut collected = OperationParameters::default();
    let lists = [spot.path_item.get("parameters"), spot.node.get("parameters")];
    for entry in lists.into_iter().flatten().flat_map(OpenApiNode::items) {
        match parameter::read(import.document, entry) {
            Ok(ParameterEntry::Parameter(described)) => {
                let is_same = |known: &ParameterDescription<'_>| {
                    known.parameter.name == described.parameter.name
                        && known.parameter.location == described.parameter.location
                };
                match collected.parameters.iter_mut().find(|known| is_same(known)) {
                    Some(known) => *known = described,
                    None => collected.parameters.push(described),
                }
            }
            Ok(ParameterEntry::Body(node)) => collected.body = Some(node),
            Ok(ParameterEntry::FormField(node)) => {
                collected.form_fields.retain(|known| known.text("name") != node.text("name"));
                collected.form_fields.push(node);
            }
            Err(reason) => import.add_problem(format!("{reason}; it is left out")),
        }
    }
    collected
}

/// Path parameters that the path has no hole for go; holes without a description take any value.
fn fit_to_path<'a>(
    parameters: &mut Vec<ParameterDescription<'a>>,
    path: &PathTemplate,
    root: OpenApiNode<'a>,
) {
    let holes = path.holes();
    let is_path =
        |one: &ParameterDescription<'_>| one.parameter.location == ParameterLocation::Path;
    parameters.retain(|one| !is_path(one) || holes.contains(&one.parameter.name.as_str()));
    for hole in holes {
        if !parameters.iter().any(|one| is_path(one) && one.parameter.name == hole) {
            parameters.push(ParameterDescription {
                parameter: OpenApiParameter::in_path(hole),
                is_required: true,
                schema: None,
                node: root.with(&Value::Null),
            });
        }
    }
}

/// Header parameters with a default are sent by themselves. Those that are the transport's or the sign-in's own
/// cannot be given by a caller at all.
fn take_default_headers(
    import: &mut OpenApiImporter<'_>,
    parameters: &mut Vec<ParameterDescription<'_>>,
) -> Vec<(HeaderName, HeaderValue)> {
    let document = import.document;
    let mut defaults = Vec::new();
    parameters.retain(|described| {
        if described.parameter.location != ParameterLocation::Header {
            return true;
        }
        let name = described.parameter.name.to_ascii_lowercase();
        let is_ours = import.auth_headers.contains(&name);
        let is_forbidden = is_ours || is_transport_header(&name);
        let schema = described.schema.and_then(|schema| document.follow(schema).ok());
        let default = schema.and_then(|schema| schema.value.get("default"));
        let text = default.and_then(crate::arguments::scalar_text);
        if let Some(text) = text.filter(|_| !is_forbidden || name == "accept")
            && let (Ok(name), Ok(value)) =
                (HeaderName::try_from(&name), HeaderValue::try_from(text))
        {
            defaults.push((name, value));
        }
        !is_forbidden
    });
    defaults
}

fn build_tool(
    name: &str,
    spot: OperationLocation<'_>,
    method: &Method,
    input_schema: String,
    output_schema: Option<String>,
) -> Option<Tool> {
    let (title, mut description) = describe(spot);
    let mut annotations = annotations(method);
    // What a translated description says about a tool in words that OpenAPI does not have.
    if let Some(extension) = spot.node.get("x-capdeck") {
        description = extension.text("description").map_or(description, str::to_owned);
        if extension.is_true("isDestructive") {
            annotations["destructiveHint"] = true.into();
        }
    }
    let mut raw = RawMembers::new();
    let mut insert = |key: &str, value: Value| {
        let value = serde_json::value::to_raw_value(&value).ok();
        raw.extend(value.map(|value| (key.to_owned(), value)));
    };
    insert("name", name.into());
    if let Some(title) = title {
        insert("title", title.into());
    }
    insert("description", description.into());
    insert("annotations", annotations);
    raw.insert("inputSchema".to_owned(), RawValue::from_string(input_schema).ok()?);
    if let Some(schema) = output_schema {
        raw.insert("outputSchema".to_owned(), RawValue::from_string(schema).ok()?);
    }
    Tool::new(raw)
}

fn annotations(method: &Method) -> Value {
    let is_read_only = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_idempotent = is_read_only || matches!(*method, Method::PUT | Method::DELETE);
    json!({
        "readOnlyHint": is_read_only,
        "destructiveHint": *method == Method::DELETE,
        "idempotentHint": is_idempotent,
    })
}
