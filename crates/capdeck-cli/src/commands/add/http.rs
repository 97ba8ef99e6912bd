//! `add http`: HTTP requests, one tool each.

use serde_json::{Map, Value, json};

use super::{
    BackendBlock, CommonArgs,
    place::{auth, variable},
};
use crate::errors::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  capdeck add http books --base-url https://openlibrary.org --action 'get_book:GET:/isbn/{isbn}.json'")]
pub(super) struct HttpArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// Where requests go.
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// One request: its tool's name, its method and its path, with {placeholders}; may be repeated.
    #[arg(long = "action", value_name = "NAME:METHOD:/PATH", required = true, value_parser = parse_action)]
    actions: Vec<Action>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
}

/// One request as typed.
#[derive(Debug, Clone)]
struct Action {
    name: String,
    method: String,
    path: String,
}

impl HttpArgs {
    pub(super) fn block(&self) -> Result<BackendBlock, Failure> {
        let Self { common: _, base_url, actions, token_env } = self;
        let mut rendered = Map::new();
        for action in actions {
            if rendered.insert(action.name.clone(), action.to_json()).is_some() {
                return Err(Failure::usage(format!("the action `{}` is given twice", action.name)));
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

impl Action {
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

fn parse_action(text: &str) -> Result<Action, String> {
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
    Ok(Action { name: name.to_owned(), method, path: path.to_owned() })
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
