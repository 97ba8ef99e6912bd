//! One method of a document, as far as calling it needs it.

use reqwest::Method as Verb;
use serde_json::{Map, Value};

use super::{
    document::{Entry, verb},
    path::placeholders,
    schema::number,
};

/// Parameters of the whole API that are credentials, or that are ours to set.
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

/// How a method is called.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) verb: Verb,
    /// With placeholders, below the API's base.
    pub(super) path: String,
    pub(super) query: Vec<String>,
    pub(super) header: Vec<String>,
    pub(super) takes_body: bool,
    pub(super) upload: Option<Upload>,
    pub(super) is_downloadable: bool,
    /// Alternatives; any one is enough.
    pub(super) scopes: Vec<String>,
    /// True when the API would otherwise indent its answers.
    pub(super) indents: bool,
}

/// How a method takes media.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) simple: Option<String>,
    /// True when the simple path also takes a body with the media.
    pub(super) is_multipart: bool,
    pub(super) resumable: Option<String>,
    /// Media types, `image/*` among them.
    pub(super) accept: Vec<String>,
    pub(super) max_size: Option<u64>,
}

/// Where an argument goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
    Header,
}

/// A method's parameters with the document's own, by name and place.
pub(super) type Parameters<'d> = Vec<(&'d str, Location, &'d Value)>;

impl Method {
    /// Reads a method and its parameters, or says why it cannot be called.
    pub(super) fn read<'d>(
        name: String,
        entry: &Entry<'d>,
        everywhere: Option<&'d Map<String, Value>>,
    ) -> Result<(Self, Parameters<'d>), String> {
        let members = entry.method.as_object().ok_or("it is not a method")?;
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let verb_name = text("httpMethod").unwrap_or("GET");
        let verb = verb(verb_name).ok_or_else(|| format!("there is no verb `{verb_name}`"))?;
        let path = text("path").or_else(|| text("flatPath")).ok_or("it has no `path`")?.to_owned();
        let parameters = parameters(members, everywhere)?;
        for placeholder in placeholders(&path)? {
            let known = |(name, location, _): &(&str, Location, &Value)| {
                *name == placeholder && *location == Location::Path
            };
            if !parameters.iter().any(known) {
                return Err(format!("its path needs `{placeholder}`, which is not a parameter"));
            }
        }
        let names = |wanted: Location| {
            let here = parameters.iter().filter(move |(_, location, _)| *location == wanted);
            here.map(|(name, _, _)| (*name).to_owned()).collect()
        };
        let strings = |key: &str| -> Vec<String> {
            let list = members.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let query: Vec<String> = names(Location::Query);
        let method = Self {
            name,
            verb,
            path,
            indents: query.iter().any(|name| name == "prettyPrint"),
            query,
            header: names(Location::Header),
            takes_body: members.contains_key("request"),
            upload: members.get("mediaUpload").and_then(Upload::read),
            is_downloadable: members.get("supportsMediaDownload") == Some(&Value::Bool(true)),
            scopes: strings("scopes"),
        };
        Ok((method, parameters))
    }

    /// True when calling it takes something away.
    pub(super) fn is_destructive(&self) -> bool {
        let action = self.name.rsplit('.').next();
        self.verb == Verb::DELETE || matches!(action, Some("delete" | "emptyTrash"))
    }
}

fn parameters<'d>(
    members: &'d Map<String, Value>,
    everywhere: Option<&'d Map<String, Value>>,
) -> Result<Parameters<'d>, String> {
    let own = match members.get("parameters") {
        None => None,
        Some(Value::Object(own)) => Some(own),
        Some(_) => return Err("its `parameters` are not an object".to_owned()),
    };
    let is_own = |name: &str| own.is_some_and(|own| own.contains_key(name));
    let shared = everywhere
        .into_iter()
        .flatten()
        .filter(|(name, _)| !NOT_FOR_CALLERS.contains(&name.as_str()) && !is_own(name));
    let mut found = Parameters::new();
    for (name, parameter) in own.into_iter().flatten().chain(shared) {
        let location = match parameter.get("location").map(Value::as_str) {
            None | Some(Some("query")) => Location::Query,
            Some(Some("path")) => Location::Path,
            Some(Some("header")) => Location::Header,
            Some(other) => {
                let other = other.unwrap_or("not a text");
                return Err(format!("its parameter `{name}` has the unknown location `{other}`"));
            }
        };
        found.push((name.as_str(), location, parameter));
    }
    Ok(found)
}

impl Upload {
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
