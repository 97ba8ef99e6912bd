//! Where requests go: the definition's base URL, else the servers that the description names.

use percent_encoding::utf8_percent_encode;
use serde_json::Value;
use url::Url;

use super::document::{OpenApiDocument, OpenApiNode, OpenApiVersion};
use crate::{arguments::scalar_text, http::parse_base};

/// What decides about servers besides the description.
#[derive(Debug, Clone)]
pub(super) struct ServerRules {
    /// `baseUrl` of the definition, which replaces everything the description says.
    pub(super) base: Option<Url>,
    /// Where the description came from, when that was the web.
    pub(super) spec_url: Option<Url>,
    /// True when requests carry credentials.
    pub(super) has_credentials: bool,
}

impl ServerRules {
    /// The server for everything that names none of its own.
    pub(super) fn root(&self, document: &OpenApiDocument) -> Result<Url, String> {
        if let Some(base) = &self.base {
            return Ok(base.clone());
        }
        let root = document.root();
        if document.version == OpenApiVersion::Swagger2 {
            return self.accept(&swagger_address(root, self.spec_url.as_ref())?);
        }
        match first_server(document, root)? {
            Some(address) => self.accept(&address),
            // The format's own default, which only means something on the web.
            None if self.spec_url.is_some() => self.accept("/"),
            None => Err("it names no server".to_owned()),
        }
    }

    /// The server of a path or an operation, if it names one.
    pub(super) fn of_part(
        &self,
        document: &OpenApiDocument,
        part: OpenApiNode<'_>,
    ) -> Result<Option<Url>, String> {
        if self.base.is_some() || document.version == OpenApiVersion::Swagger2 {
            return Ok(None);
        }
        first_server(document, part)?.map(|address| self.accept(&address)).transpose()
    }

    /// Holds an address to the rules for base URLs. One from the web may not send credentials elsewhere.
    fn accept(&self, address: &str) -> Result<Url, String> {
        let shown = address.split(['?', '#']).next().unwrap_or_default();
        let unusable = |reason: &str| format!("the server `{shown}` cannot be used: {reason}");
        let address = match &self.spec_url {
            Some(spec_url) => {
                spec_url.join(address).map_err(|error| unusable(&error.to_string()))?.to_string()
            }
            None if address.starts_with('/') || !address.contains("://") => {
                return Err(unusable("it is relative, and the description is a file"));
            }
            None => address.to_owned(),
        };
        let url = parse_base(&address).map_err(|error| {
            unusable(error.message.trim_start_matches("`baseUrl` cannot be used: "))
        })?;
        let is_elsewhere =
            self.spec_url.as_ref().is_some_and(|spec_url| spec_url.origin() != url.origin());
        if is_elsewhere && self.has_credentials {
            return Err(unusable(
                "the description came from another origin, which must not decide where credentials go",
            ));
        }
        Ok(url)
    }
}

/// The first server in a `servers` list, its variables filled in. An empty list names none.
fn first_server(
    document: &OpenApiDocument,
    part: OpenApiNode<'_>,
) -> Result<Option<String>, String> {
    let Some(servers) = part.get("servers") else { return Ok(None) };
    let Some(server) = servers.items().next() else { return Ok(None) };
    let server = document.follow(server)?;
    let template = server.text("url").ok_or("a server has no `url`")?;
    fill_variables(template, server.get("variables")).map(Some)
}

/// `https://{region}.api.example`, with each variable's default.
fn fill_variables(template: &str, variables: Option<OpenApiNode<'_>>) -> Result<String, String> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        let variable = variables.and_then(|all| all.get(name));
        let choices = variable.and_then(|one| one.get("enum"));
        let default = variable
            .and_then(|one| one.value.get("default"))
            .or_else(|| choices.and_then(|choices| choices.value.get(0)));
        let value = default
            .and_then(scalar_text)
            .ok_or_else(|| format!("the server `{template}` has no default for `{name}`"))?;
        // YAML reads an unquoted `8443` as a number.
        let is_choice = |choice: &Value| scalar_text(choice).is_some_and(|text| text == value);
        if let Some(choices) = choices.and_then(|choices| choices.value.as_array())
            && !choices.is_empty()
            && !choices.iter().any(is_choice)
        {
            return Err(format!(
                "the server `{template}` has a default for `{name}` that is none of its choices: `{value}`"
            ));
        }
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Swagger 2 has the parts of one address.
fn swagger_address(root: OpenApiNode<'_>, spec_url: Option<&Url>) -> Result<String, String> {
    let base_path = root.text("basePath").unwrap_or("/");
    let base_path =
        if base_path.starts_with('/') { base_path.to_owned() } else { format!("/{base_path}") };
    let Some(host) = root.text("host") else {
        return match spec_url {
            Some(_) => Ok(base_path),
            None => Err("it names no `host`".to_owned()),
        };
    };
    let schemes: Vec<&str> = root
        .get("schemes")
        .into_iter()
        .flat_map(OpenApiNode::items)
        .filter_map(|scheme| scheme.value.as_str())
        .collect();
    let scheme = if schemes.is_empty() || schemes.contains(&"https") {
        // Nothing said means the scheme of the description itself.
        schemes.is_empty().then(|| spec_url.map(Url::scheme)).flatten().unwrap_or("https")
    } else {
        schemes.first().copied().unwrap_or("https")
    };
    let base_path = utf8_percent_encode(&base_path, percent_encoding::CONTROLS);
    Ok(format!("{scheme}://{host}{base_path}"))
}

#[cfg(test)]
mod tests;
