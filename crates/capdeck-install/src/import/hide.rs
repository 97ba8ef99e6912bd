//! Takes secrets out of the fields of a server.

use serde_json::Value;

use super::TakenSecret;
use crate::secrets::{has_login, looks_secret};

/// The secrets of one server, as they are found.
pub(super) struct Hidden {
    prefix: String,
    secrets: Vec<TakenSecret>,
}

impl Hidden {
    pub(super) fn new(id: &str) -> Self {
        Self { prefix: entry_name(id), secrets: Vec::new() }
    }

    pub(super) fn into_secrets(self) -> Vec<TakenSecret> {
        self.secrets
    }

    /// Named values: variables and headers.
    pub(super) fn environment(&mut self, values: Option<&mut Value>) {
        let Some(Value::Object(entries)) = values else { return };
        for (name, value) in entries {
            let Value::String(text) = value else { continue };
            let (scheme, secret) = match text.strip_prefix("Bearer ") {
                Some(token) => ("Bearer ", token),
                None => ("", text.as_str()),
            };
            if looks_secret(name, secret) {
                *text = format!("{scheme}{}", self.keep(name, secret));
            }
        }
    }

    /// Words of a command line: `--token=VALUE`, `--token VALUE`, or a value that gives itself away.
    pub(super) fn arguments(&mut self, words: Option<&mut Value>) {
        let Some(Value::Array(words)) = words else { return };
        let mut flag = String::new();
        for word in words {
            let Value::String(text) = word else { continue };
            let before = std::mem::take(&mut flag);
            if let Some((name, value)) = text.split_once('=').filter(|_| text.starts_with('-')) {
                if looks_secret(name.trim_start_matches('-'), value) {
                    *text = format!("{name}={}", self.keep(name, value));
                }
            } else if text.starts_with('-') {
                flag = text.trim_start_matches('-').to_owned();
            } else if looks_secret(&before, text) {
                *text = self.keep(if before.is_empty() { "ARGUMENT" } else { &before }, text);
            }
        }
    }

    /// The values of an address's query. A login in it cannot be named from elsewhere.
    pub(super) fn address(&mut self, address: Option<&mut Value>) -> Result<(), String> {
        let Some(Value::String(address)) = address else { return Ok(()) };
        if has_login(address) {
            return Err("its address holds a password; give that in a header".to_owned());
        }
        let Some((place, query)) = address.split_once('?') else { return Ok(()) };
        let query: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) if looks_secret(name, value) => {
                    format!("{name}={}", self.keep(name, value))
                }
                _ => pair.to_owned(),
            })
            .collect();
        *address = format!("{place}?{}", query.join("&"));
        Ok(())
    }

    fn keep(&mut self, name: &str, value: &str) -> String {
        let wanted = format!("{}_{}", self.prefix, entry_name(name));
        let taken = |name: &String| self.secrets.iter().any(|secret| secret.name == *name);
        let numbered = (2..).map(|count| format!("{wanted}_{count}"));
        let name = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(|name| !taken(name))
            .unwrap_or(wanted);
        let reference = format!("${{vault:{name}}}");
        self.secrets.push(TakenSecret { name, value: value.to_owned() });
        reference
    }
}

/// A name as the vault allows it.
fn entry_name(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = text.trim_start_matches('-').chars().map(letter).collect();
    name.chars().take(60).collect()
}
