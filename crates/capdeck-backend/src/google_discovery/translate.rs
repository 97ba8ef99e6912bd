//! A Discovery document as an OpenAPI document, which then becomes tools like any other.
//!
//! Every method is one operation. Several methods may have the same verb and path (`GET v1/{+name}`), so the key of a
//! path ends with `#` and the name of the method. What OpenAPI has no word for is in `x-capdeck` or in [`MethodExtensions`].

use std::collections::{BTreeMap, BTreeSet};

use capdeck_catalog::ImportProblem;
use capdeck_definition::CapabilityId;
use serde_json::{Map, Value, json};
use url::Url;

use super::schema::{Dialect, is_required, number};
use crate::{CallError, http::parse_base, openapi::OperationFilter};

const VERBS: [&str; 7] = ["get", "head", "post", "put", "patch", "delete", "options"];

/// Parameters of the whole API that are credentials, or that the host sets.
const NOT_FOR_CALLERS: [&str; 9] = [
    "$.xgafv",
    "access_token",
    "bearer_token",
    "callback",
    "key",
    "oauth_token",
    "pp",
    "uploadType",
    "upload_protocol",
];

#[derive(Debug)]
pub(super) struct DiscoveryDocument {
    root: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoogleBaseUrls {
    /// Below it are the paths of methods.
    pub(super) service: Url,
    /// Below it are the paths of uploads.
    pub(super) root: Url,
}

#[derive(Debug)]
pub(super) struct MethodExtensions {
    pub(super) upload: Option<MediaUpload>,
    /// Alternatives; any one is enough.
    pub(super) scopes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MediaUpload {
    pub(super) simple: Option<String>,
    /// True when the simple path also takes a body with the media.
    pub(super) is_multipart: bool,
    pub(super) resumable: Option<String>,
    /// Media types, `image/*` among them.
    pub(super) accept: Vec<String>,
    pub(super) max_size: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Translation {
    /// OpenAPI 3.1.
    pub(super) document: Value,
    /// By the name of the method.
    pub(super) extras: BTreeMap<String, MethodExtensions>,
    pub(super) problems: Vec<ImportProblem>,
}

impl DiscoveryDocument {
    /// Reads a document. What is wrong with single methods is found out later.
    pub(super) fn read(text: &[u8]) -> Result<Self, CallError> {
        let unusable = |reason: String| {
            CallError::invalid_config(format!("the description is not a Discovery document: {reason}"),
            )
            .hint("name the document itself, such as `https://gmail.googleapis.com/$discovery/rest?version=v1`")
        };
        let root: Value =
            serde_json::from_slice(text).map_err(|error| unusable(error.to_string()))?;
        let Value::Object(root) = root else {
            return Err(unusable("it is not a JSON object".to_owned()));
        };
        match root.get("kind").map(Value::as_str) {
            None | Some(Some("discovery#restDescription")) => {}
            Some(other) => {
                return Err(unusable(format!("its kind is `{}`", other.unwrap_or("not a text"))));
            }
        }
        if !["methods", "resources"].iter().any(|key| root.get(*key).is_some_and(Value::is_object))
        {
            return Err(unusable("it has neither `resources` nor `methods`".to_owned()));
        }
        Ok(Self { root })
    }

    /// Where requests go: what the definition says, else what the document says.
    pub(super) fn bases(&self, configured: Option<&str>) -> Result<GoogleBaseUrls, CallError> {
        let text =
            |key: &str| self.root.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
        let service_path = text("servicePath").unwrap_or_default();
        let base = match (configured, text("baseUrl"), text("rootUrl")) {
            (Some(base), _, _) | (None, Some(base), _) => base.to_owned(),
            (None, None, Some(root)) => format!("{}/{service_path}", root.trim_end_matches('/')),
            (None, None, None) => {
                return Err(CallError::invalid_config(
                    "neither the definition nor the document says where the API is",
                )
                .hint("set `baseUrl`"));
            }
        };
        let service = parse_base(&base)?;
        let mut root = service.clone();
        // Behind a proxy the API may have a path in front of its own.
        let path = service.path().trim_matches('/');
        let above = path.strip_suffix(service_path.trim_matches('/')).unwrap_or_default();
        root.set_path(above);
        Ok(GoogleBaseUrls { service, root })
    }

    pub(super) fn translate(&self, id: &CapabilityId, filter: &OperationFilter) -> Translation {
        let (mut paths, mut own_schemas) = (Map::new(), Map::new());
        let (mut extras, mut problems) = (BTreeMap::new(), Vec::new());
        let mut names: Vec<String> = Vec::new();
        for (place, method) in self.methods() {
            let own = method.get("id").and_then(Value::as_str).filter(|own| !own.is_empty());
            let name = match own {
                Some(own) if !extras.contains_key(own) => own.to_owned(),
                _ => format!("{id}.{place}"),
            };
            names.push(name.clone());
            if !filter.accepts(std::slice::from_ref(&name)) {
                continue;
            }
            let operation = if extras.contains_key(&name) {
                Err(format!("another method is also called `{name}`"))
            } else {
                self.operation(&name, method, &mut own_schemas)
            };
            match operation {
                Ok((path, operation)) => {
                    paths.insert(format!("/{}#{name}", path.trim_start_matches('/')), operation);
                    extras.insert(name, MethodExtensions::read(method));
                }
                Err(reason) => {
                    // A method whose own name is empty is found among the methods of the document.
                    let place = if place.is_empty() { "methods".to_owned() } else { place };
                    problems.push(ImportProblem { place, reason });
                }
            }
        }
        problems.extend(filter.unused_patterns(&names).map(|(setting, pattern)| ImportProblem {
            place: setting.to_owned(),
            reason: format!("`{pattern}` names no method of the document"),
        }));
        let all = |dialect: Dialect<'_>| -> Map<String, Value> {
            self.schemas().map(|(name, one)| (name.clone(), dialect.translate(one))).collect()
        };
        let document = json!({
            "openapi": "3.1.0",
            "paths": paths,
            "components": {"schemas": all(Dialect::OUTPUT)},
            "x-input": all(Dialect::INPUT),
            "x-methods": own_schemas,
        });
        Translation { document, extras, problems }
    }

    /// Every method and its place (`files.list`), in the order of the document.
    fn methods(&self) -> Vec<(String, &Value)> {
        let mut found = Vec::new();
        collect(&self.root, "", &mut found);
        found
    }

    fn schemas(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.root.get("schemas").and_then(Value::as_object).into_iter().flatten()
    }

    /// The path and the path item of a method, or why it cannot be called.
    fn operation<'d>(
        &'d self,
        name: &str,
        method: &'d Value,
        own_schemas: &mut Map<String, Value>,
    ) -> Result<(&'d str, Value), String> {
        let members = method.as_object().ok_or("it is not a method")?;
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let verb = text("httpMethod").unwrap_or("GET").to_ascii_lowercase();
        if !VERBS.contains(&verb.as_str()) {
            return Err(format!("there is no verb `{}`", verb.to_ascii_uppercase()));
        }
        let path = text("path").or_else(|| text("flatPath")).ok_or("it has no `path`")?;
        let has_upload = members.get("mediaUpload").and_then(MediaUpload::read).is_some();
        let mut operation = Map::new();
        operation.insert("operationId".into(), name.into());
        operation.insert("parameters".into(), self.parameters(members, path)?.into());
        if let Some(request) = members.get("request") {
            // What a body must have may come as media instead.
            let needed = if has_upload { BTreeSet::new() } else { self.needed_by(name, request) };
            let method = (!has_upload).then_some((name, &needed));
            let dialect = Dialect { method, ..Dialect::INPUT };
            let target = request.get("$ref").and_then(Value::as_str);
            let body = target.and_then(|target| self.schema(target)).unwrap_or(request);
            let properties = body.get("properties").and_then(Value::as_object);
            let needs_body = !has_upload
                && properties.is_some_and(|all| all.values().any(|one| is_required(one, name)));
            operation.insert(
                "requestBody".into(),
                json!({
                    "required": needs_body,
                    "content": {"application/json": {"schema": dialect.translate(request)}},
                }),
            );
            if !needed.is_empty() {
                let own: Map<String, Value> = needed
                    .iter()
                    .filter_map(|&one| Some((one.to_owned(), dialect.translate(self.schema(one)?))))
                    .collect();
                own_schemas.insert(name.to_owned(), own.into());
            }
        }
        if let Some(response) = members.get("response") {
            let schema = Dialect::OUTPUT.translate(response);
            operation.insert(
                "responses".into(),
                json!({"200": {"content": {"application/json": {"schema": schema}}}}),
            );
        }
        let action = name.rsplit('.').next();
        operation.insert(
            "x-capdeck".into(),
            json!({
                "description": description(members, &verb, path),
                "isDestructive": matches!(action, Some("delete" | "emptyTrash")),
                "arguments": arguments(members),
            }),
        );
        Ok((path, json!({verb: operation})))
    }

    fn schema(&self, name: &str) -> Option<&Value> {
        self.root.get("schemas")?.get(name)
    }

    fn parameters(&self, method: &Map<String, Value>, path: &str) -> Result<Vec<Value>, String> {
        let own = match method.get("parameters") {
            None => None,
            Some(Value::Object(own)) => Some(own),
            Some(_) => return Err("its `parameters` are not an object".to_owned()),
        };
        let is_own = |name: &str| own.is_some_and(|own| own.contains_key(name));
        let everywhere = self.root.get("parameters").and_then(Value::as_object);
        let shared = everywhere
            .into_iter()
            .flatten()
            .filter(|(name, _)| !NOT_FOR_CALLERS.contains(&name.as_str()) && !is_own(name));
        let placeholders = placeholders(path)?;
        let mut found = Vec::new();
        let mut in_path = Vec::new();
        for (name, parameter) in own.into_iter().flatten().chain(shared) {
            let location = match parameter.get("location").map(Value::as_str) {
                None | Some(Some("query")) => "query",
                Some(Some(location @ ("path" | "header"))) => location,
                Some(other) => {
                    let other = other.unwrap_or("not a text");
                    return Err(format!(
                        "its parameter `{name}` has the unknown location `{other}`"
                    ));
                }
            };
            if location == "path" {
                in_path.push(name.as_str());
            }
            found.push(json!({
                "name": name,
                "in": location,
                "required": parameter.get("required") == Some(&Value::Bool(true)),
                "allowReserved": placeholders.contains(&format!("+{name}").as_str()),
                "schema": Dialect::INPUT.translate(parameter),
            }));
        }
        let names = placeholders.into_iter().map(|one| one.trim_start_matches('+'));
        match names.into_iter().find(|name| !in_path.contains(name)) {
            Some(name) => Err(format!("its path needs `{name}`, which is not a parameter")),
            None => Ok(found),
        }
    }

    /// The types below a request that this method needs in a form of its own: those with members that it requires, and
    /// those that refer to one of them.
    fn needed_by<'d>(&'d self, method: &str, request: &'d Value) -> BTreeSet<&'d str> {
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let (mut reached, mut marked) = (BTreeSet::new(), Vec::new());
        let mut open = vec![("", request)];
        while let Some((inside, schema)) = open.pop() {
            if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
                users.entry(name).or_default().push(inside);
                if reached.insert(name) {
                    open.extend(self.schema(name).map(|target| (name, target)));
                }
                continue;
            }
            let properties = schema.get("properties").and_then(Value::as_object);
            for property in properties.into_iter().flat_map(Map::values) {
                if is_required(property, method) {
                    marked.push(inside);
                }
                if property.get("readOnly") != Some(&Value::Bool(true)) {
                    open.push((inside, property));
                }
            }
            let inner = [schema.get("items"), schema.get("additionalProperties")];
            open.extend(inner.into_iter().flatten().map(|inner| (inside, inner)));
        }
        let mut needed = BTreeSet::new();
        while let Some(name) = marked.pop() {
            if !name.is_empty() && needed.insert(name) {
                marked.extend(users.get(name).into_iter().flatten());
            }
        }
        needed
    }
}

impl MethodExtensions {
    fn read(method: &Value) -> Self {
        let scopes = method.get("scopes").and_then(Value::as_array).into_iter().flatten();
        Self {
            upload: method.get("mediaUpload").and_then(MediaUpload::read),
            scopes: scopes.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

impl MediaUpload {
    fn read(described: &Value) -> Option<Self> {
        let path = |protocol: &str| {
            described.pointer(&format!("/protocols/{protocol}/path"))?.as_str().map(str::to_owned)
        };
        let (simple, resumable) = (path("simple"), path("resumable"));
        if simple.is_none() && resumable.is_none() {
            return None;
        }
        let accept = described.get("accept").and_then(Value::as_array).into_iter().flatten();
        let max_size = described.get("maxSize");
        Some(Self {
            simple,
            is_multipart: described.pointer("/protocols/simple/multipart")
                != Some(&Value::Bool(false)),
            resumable,
            accept: accept.filter_map(Value::as_str).map(str::to_owned).collect(),
            max_size: max_size.and_then(|size| number(size)?.as_u64()).filter(|size| *size > 0),
        })
    }
}

fn collect<'d>(node: &'d Map<String, Value>, place: &str, found: &mut Vec<(String, &'d Value)>) {
    let below = |name: &str| {
        if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
    };
    let members = |key: &str| node.get(key).and_then(Value::as_object).into_iter().flatten();
    for (name, method) in members("methods") {
        found.push((below(name), method));
    }
    for (name, resource) in members("resources") {
        match resource {
            Value::Object(resource) => collect(resource, &below(name), found),
            // Not a resource; reported like a method that cannot be read.
            other => found.push((below(name), other)),
        }
    }
}

/// The names in `users/{userId}` and `v1/{+name}:cancel`, with the `+`.
fn placeholders(template: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("its path has a `{` without `}`")?;
        names.push(name);
        rest = after;
    }
    Ok(names)
}

fn description(method: &Map<String, Value>, verb: &str, path: &str) -> String {
    let text = method.get("description").and_then(Value::as_str).unwrap_or_default().trim();
    let is_deprecated = method.get("deprecated") == Some(&Value::Bool(true));
    match (is_deprecated, text) {
        (false, "") => format!("{} {path}", verb.to_ascii_uppercase()),
        (false, text) => text.to_owned(),
        (true, text) if text.to_ascii_lowercase().starts_with("deprecated") => text.to_owned(),
        (true, text) => format!("Deprecated. {text}").trim_end().to_owned(),
    }
}

/// The arguments beside parameters and body: what goes up, and how what comes down is called.
fn arguments(method: &Map<String, Value>) -> Value {
    let mut arguments = Map::new();
    if let Some(upload) = method.get("mediaUpload").and_then(MediaUpload::read) {
        let accepted = match upload.accept.join(", ").as_str() {
            "" | "*/*" => String::new(),
            accept => format!(" Accepted: {accept}."),
        };
        arguments.insert("media".into(), json!({
            "type": "object",
            "description": format!("The content to upload, from exactly one of `path`, `artifact` and `dataUrl`.{accepted}"),
            "properties": {
                "path": {"type": "string", "description": "A file on this machine."},
                "artifact": {"type": "string", "description": "The URI of an artifact that another call gave."},
                "dataUrl": {"type": "string", "description": "The content itself: `data:text/plain;base64,…`."},
                "mimeType": {"type": "string", "description": "The media type, where it does not follow from the source."},
                "filename": {"type": "string", "description": "The name to send along."},
            },
            "additionalProperties": false,
        }));
    }
    if method.get("supportsMediaDownload") == Some(&Value::Bool(true)) {
        for (name, description) in [
            ("filename", "Download the content, not its description, as an artifact of this name."),
            (
                "outputPath",
                "The same as `filename`: a name without folders, because artifacts have their own place.",
            ),
        ] {
            arguments.insert(name.into(), json!({"type": "string", "description": description}));
        }
    }
    Value::Object(arguments)
}

#[cfg(test)]
mod tests;
