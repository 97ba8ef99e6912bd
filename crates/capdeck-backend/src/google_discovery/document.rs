//! A Discovery document as it was read, and the methods in it.

use reqwest::Method as Verb;
use serde_json::{Map, Value};
use url::Url;

use crate::{CallError, ErrorCode, http::parse_base};

/// A document that has methods.
#[derive(Debug)]
pub(super) struct Document {
    root: Map<String, Value>,
}

/// A method and where it stands: `files.list`.
#[derive(Debug)]
pub(super) struct Entry<'d> {
    pub(super) place: String,
    pub(super) method: &'d Value,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bases {
    /// Below it are the paths of methods.
    pub(super) service: Url,
    /// Below it are the paths of uploads.
    pub(super) root: Url,
}

impl Document {
    /// Reads a document. What is wrong with single methods is found out later.
    pub(super) fn read(text: &[u8]) -> Result<Self, CallError> {
        let unusable = |reason: String| {
            CallError::new(
                ErrorCode::ConfigInvalid,
                format!("the description is not a Discovery document: {reason}"),
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

    /// Every method, in the order of the document.
    pub(super) fn methods(&self) -> Vec<Entry<'_>> {
        let mut found = Vec::new();
        collect(&self.root, "", &mut found);
        found
    }

    /// The types, by name.
    pub(super) fn schemas(&self) -> Option<&Map<String, Value>> {
        self.root.get("schemas")?.as_object()
    }

    /// The parameters that every method has.
    pub(super) fn parameters(&self) -> Option<&Map<String, Value>> {
        self.root.get("parameters")?.as_object()
    }

    /// Where requests go: what the definition says, else what the document says.
    pub(super) fn bases(&self, configured: Option<&str>) -> Result<Bases, CallError> {
        let text =
            |key: &str| self.root.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
        let service_path = text("servicePath").unwrap_or_default();
        let base = match (configured, text("baseUrl"), text("rootUrl")) {
            (Some(base), _, _) | (None, Some(base), _) => base.to_owned(),
            (None, None, Some(root)) => format!("{}/{service_path}", root.trim_end_matches('/')),
            (None, None, None) => {
                return Err(CallError::new(
                    ErrorCode::ConfigInvalid,
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
        Ok(Bases { service, root })
    }
}

fn collect<'d>(node: &'d Map<String, Value>, place: &str, found: &mut Vec<Entry<'d>>) {
    let below = |name: &str| {
        if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
    };
    let members = |key: &str| node.get(key).and_then(Value::as_object).into_iter().flatten();
    for (name, method) in members("methods") {
        found.push(Entry { place: below(name), method });
    }
    for (name, resource) in members("resources") {
        match resource {
            Value::Object(resource) => collect(resource, &below(name), found),
            // Not a resource; told like a method that cannot be read.
            other => found.push(Entry { place: below(name), method: other }),
        }
    }
}

/// The HTTP verb a document names.
pub(super) fn verb(name: &str) -> Option<Verb> {
    [Verb::GET, Verb::HEAD, Verb::POST, Verb::PUT, Verb::PATCH, Verb::DELETE, Verb::OPTIONS]
        .into_iter()
        .find(|verb| verb.as_str().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(root: &Value) -> Result<Document, CallError> {
        Document::read(root.to_string().as_bytes())
    }

    #[test]
    fn what_is_no_document_says_why() {
        for (root, reason) in [
            (json!([]), "it is not a JSON object"),
            (json!({"kind": "discovery#directoryList"}), "its kind is `discovery#directoryList`"),
            (json!({"kind": 7, "methods": {}}), "its kind is `not a text`"),
            (json!({"kind": "discovery#restDescription"}), "neither `resources` nor `methods`"),
            (json!({"resources": []}), "neither `resources` nor `methods`"),
        ] {
            let error = document(&root).unwrap_err();
            assert_eq!(error.code, ErrorCode::ConfigInvalid);
            assert!(error.message.contains(reason), "{error}");
        }
        assert!(Document::read(b"<html>").unwrap_err().message.contains("expected value"));
    }

    #[test]
    fn methods_are_found_at_every_depth() {
        let read = document(&json!({
            "methods": {"ping": {}},
            "resources": {
                "users": {"methods": {"get": {}}, "resources": {"messages": {"methods": {"list": {}}}}},
                "broken": 7,
            },
        }))
        .unwrap();
        let places: Vec<String> = read.methods().into_iter().map(|entry| entry.place).collect();
        assert_eq!(places, ["ping", "users.get", "users.messages.list", "broken"]);
    }

    #[test]
    fn where_requests_go() {
        for (members, configured, service, root) in [
            (
                json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
                None,
                "https://a.example/x/v1/",
                "https://a.example/",
            ),
            (
                json!({"rootUrl": "https://a.example/", "servicePath": "x/v1/"}),
                None,
                "https://a.example/x/v1/",
                "https://a.example/",
            ),
            (
                json!({"rootUrl": "https://a.example"}),
                None,
                "https://a.example/",
                "https://a.example/",
            ),
            (
                json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
                Some("http://127.0.0.1:9/proxy/x/v1"),
                "http://127.0.0.1:9/proxy/x/v1",
                "http://127.0.0.1:9/proxy/",
            ),
            (
                json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
                Some("http://127.0.0.1:9/other"),
                "http://127.0.0.1:9/other",
                "http://127.0.0.1:9/",
            ),
            (
                json!({"rootUrl": "https://a.example/", "servicePath": ""}),
                Some("https://b.example/deep/"),
                "https://b.example/deep/",
                "https://b.example/deep",
            ),
        ] {
            let mut root_members = members.clone();
            root_members["methods"] = json!({});
            let bases = document(&root_members).unwrap().bases(configured).unwrap();
            assert_eq!((bases.service.as_str(), bases.root.as_str()), (service, root), "{members}");
        }
        let nowhere = document(&json!({"methods": {}})).unwrap().bases(None).unwrap_err();
        assert_eq!(nowhere.hint.as_deref(), Some("set `baseUrl`"));
        let plain = document(&json!({"methods": {}, "baseUrl": "http://a.example/"})).unwrap();
        assert!(plain.bases(None).unwrap_err().message.contains("plain http"));
    }
}
