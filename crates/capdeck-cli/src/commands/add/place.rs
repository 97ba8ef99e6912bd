//! Descriptions and schemas that are a file or a URL, and how a new file refers to them.

use std::path::Path;

use serde_json::{Value, json};

use crate::errors::Failure;

/// A URL as it is, or a file as the new capability file will find it.
pub(super) enum Place {
    Url(String),
    File(String),
}

impl Place {
    /// Reads `text` as a URL or as a path from `here`; a file near the new one is named relative to it.
    pub(super) fn parse(text: &str, here: &Path, folder: &Path) -> Result<Self, Failure> {
        if text.contains("://") {
            return Ok(Self::Url(text.to_owned()));
        }
        let path = here.join(text);
        let real = path.canonicalize().map_err(|error| {
            Failure::usage(format!("cannot read `{text}`: {error}"))
                .hint("name a file that is there, or a URL")
        })?;
        let base = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let named = match real.strip_prefix(&base) {
            Ok(below) => format!("./{}", below.display()),
            Err(_) => real.display().to_string(),
        };
        Ok(Self::File(named))
    }
}

/// The `auth` block of an API: a token from the environment, or none.
pub(super) fn auth(token_env: Option<&str>) -> Value {
    match token_env {
        Some(name) => json!({ "type": "bearer", "token": format!("$env:{name}") }),
        None => json!({ "type": "none" }),
    }
}

/// Checks the name of an environment variable.
pub(super) fn variable(text: &str) -> Result<String, String> {
    let legal = |(index, letter): (usize, char)| {
        letter == '_' || letter.is_ascii_alphabetic() || (index > 0 && letter.is_ascii_digit())
    };
    if !text.is_empty() && text.chars().enumerate().all(legal) {
        Ok(text.to_owned())
    } else {
        Err("name the variable, such as GITHUB_TOKEN; its value is read when the host connects"
            .to_owned())
    }
}
