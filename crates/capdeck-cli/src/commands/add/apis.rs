//! `add graphql`, `google-discovery` and `http`: APIs.

use serde_json::{Map, Value, json};

use super::{AddCommonArgs, NewFileTarget, auth, variable};
use crate::{errors::CommandFailure, new_file::BackendBlock};

#[derive(Debug, clap::Args)]
pub(super) struct AddGraphqlArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The endpoint's address.
    #[arg(long, value_name = "URL")]
    endpoint_url: String,
    /// The schema: a file or a URL. Without it the endpoint is asked.
    #[arg(long, value_name = "FILE|URL", conflicts_with = "introspection")]
    schema: Option<String>,
    /// Ask the endpoint for its schema; what happens without --schema anyway.
    #[arg(long)]
    introspection: bool,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
}

impl AddGraphqlArgs {
    pub(super) fn block(&self, target: &NewFileTarget) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, endpoint_url, schema, introspection: _, token_env } = self;
        let (key, source) = match schema {
            None => ("introspection".to_owned(), json!(true)),
            Some(schema) => target.document("schema", schema).map(|(key, at)| (key, json!(at)))?,
        };
        let auth = auth(token_env.as_deref());
        let fields = json!({ "endpointUrl": endpoint_url, key: source, "auth": auth });
        let summary = format!("Queries and mutations of the GraphQL endpoint {endpoint_url}.");
        Ok(BackendBlock { key: "graphqlEndpoint", fields, summary })
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct AddGoogleDiscoveryArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The Discovery document: a file or a URL.
    #[arg(long, value_name = "FILE|URL")]
    discovery: String,
    /// Where requests go; the document's own address by default.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
    /// Offer only this operation, such as `files.list`; may be repeated.
    #[arg(long = "include", value_name = "OPERATION")]
    include: Vec<String>,
}

impl AddGoogleDiscoveryArgs {
    pub(super) fn block(&self, target: &NewFileTarget) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, discovery, base_url, token_env, include } = self;
        let (key, place) = target.document("discovery", discovery)?;
        let summary = format!("Operations of the Google API described by {place}.");
        let fields = json!({
            key: place,
            "baseUrl": base_url,
            "auth": auth(token_env.as_deref()),
            "includeOperations": (!include.is_empty()).then_some(include),
        });
        Ok(BackendBlock { key: "googleDiscoveryApi", fields, summary })
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  capdeck add http books --base-url https://openlibrary.org --action 'get_book:GET:/isbn/{isbn}.json'")]
pub(super) struct AddHttpArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// Where requests go.
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// One request: its tool's name, its method and its path, with {placeholders}; may be repeated.
    #[arg(long = "action", value_name = "NAME:METHOD:/PATH", required = true, value_parser = parse_action)]
    actions: Vec<RequestArg>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
}

/// One request as typed.
#[derive(Debug, Clone)]
struct RequestArg {
    name: String,
    method: String,
    path: String,
}

impl AddHttpArgs {
    pub(super) fn block(&self) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, base_url, actions, token_env } = self;
        let mut rendered = Map::new();
        for action in actions {
            if rendered.insert(action.name.clone(), action.to_json()).is_some() {
                return Err(CommandFailure::usage(format!(
                    "the action `{}` is given twice",
                    action.name
                )));
            }
        }
        let fields = json!({
            "baseUrl": base_url,
            "auth": auth(token_env.as_deref()),
            "actions": rendered,
        });
        let summary = format!("Requests to {base_url}.");
        Ok(BackendBlock { key: "httpApi", fields, summary })
    }
}

impl RequestArg {
    /// A placeholder becomes a required argument; a method with a body takes it as `body`.
    fn to_json(&self) -> Value {
        let Self { name: _, method, path } = self;
        let has_body = matches!(method.as_str(), "POST" | "PUT" | "PATCH");
        let mut properties = Map::new();
        for placeholder in placeholders(path) {
            properties.insert(placeholder.to_owned(), json!({ "type": "string", "minLength": 1 }));
        }
        if has_body {
            properties.insert("body".to_owned(), json!({ "type": "object" }));
        }
        let required: Vec<String> = properties.keys().cloned().collect();
        let mut action = json!({
            "description": format!("{method} {path}"),
            "method": method,
            "path": path,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
        });
        if has_body {
            action["jsonBody"] = json!("$input.body");
        }
        action
    }
}

/// The names between braces.
fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

fn parse_action(text: &str) -> Result<RequestArg, String> {
    let wrong = || "write it as NAME:METHOD:/PATH, such as get_user:GET:/users/{id}".to_owned();
    let (name, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (method, path) = rest.split_once(':').ok_or_else(wrong)?;
    let method = method.to_ascii_uppercase();
    if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
        return Err(format!("`{method}` is not GET, POST, PUT, PATCH or DELETE"));
    }
    if name.is_empty() || !path.starts_with('/') {
        return Err(wrong());
    }
    Ok(RequestArg { name: name.to_owned(), method, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_bodies_become_arguments() {
        let action = parse_action("edit:put:/users/{id}/posts/{post}").unwrap().to_json();
        assert_eq!(action["method"], "PUT");
        assert_eq!(action["inputSchema"]["required"], json!(["id", "post", "body"]));
        assert_eq!(action["jsonBody"], "$input.body");
        assert_eq!(parse_action("list:GET:/a").unwrap().to_json().get("jsonBody"), None);
    }

    #[test]
    fn a_wrong_form_is_explained() {
        for text in ["x", "x:GET", "x:GET:y", ":GET:/y", "x:FETCH:/y"] {
            parse_action(text).unwrap_err();
        }
    }
}
