//! Where requests go: the definition's base URL, else the servers that the description names; and what a description
//! asks for in `security`, beside what the definition's `auth` block gives.
//!
//! Credentials come from the definition alone. Where they cannot satisfy the description this is reported once per scheme;
//! the operations stay callable, because descriptions ask for more than servers do.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use capdeck_definition::BackendAuth;
use percent_encoding::utf8_percent_encode;
use serde_json::Value;
use url::Url;

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    operation::OperationLocation,
};
use crate::{api_connection::ImportProblems, arguments::scalar_text, http::parse_bare_address};

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
        let url = parse_bare_address(&address).map_err(|reason| unusable(&reason))?;
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
    let schemes: Vec<&str> = root.texts("schemes").collect();
    let scheme = if schemes.is_empty() || schemes.contains(&"https") {
        // Nothing said means the scheme of the description itself.
        schemes.is_empty().then(|| spec_url.map(Url::scheme)).flatten().unwrap_or("https")
    } else {
        schemes.first().copied().unwrap_or("https")
    };
    let base_path = utf8_percent_encode(&base_path, percent_encoding::CONTROLS);
    Ok(format!("{scheme}://{host}{base_path}"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AvailableAuth {
    Nothing,
    Bearer,
    /// These headers, in lower case.
    Headers(Vec<String>),
}

impl AvailableAuth {
    pub(super) fn new(auth: &BackendAuth) -> Self {
        match auth {
            BackendAuth::None {} => Self::Nothing,
            BackendAuth::Bearer { .. } | BackendAuth::OAuth2(_) | BackendAuth::Oidc(_) => {
                Self::Bearer
            }
            BackendAuth::Headers { headers } => {
                Self::Headers(headers.keys().map(|name| name.to_ascii_lowercase()).collect())
            }
        }
    }

    /// Headers that callers may not set, in lower case.
    pub(super) fn header_names(&self) -> Vec<String> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Bearer => vec!["authorization".to_owned()],
            Self::Headers(names) => names.clone(),
        }
    }
}

/// Tells which schemes are asked for and not given, and for how many operations.
pub(super) fn check_security(
    document: &OpenApiDocument,
    spots: &[OperationLocation<'_>],
    offer: &AvailableAuth,
    problems: &mut ImportProblems,
) {
    let root = document.root();
    let schemes = match document.version {
        OpenApiVersion::Swagger2 => root.get("securityDefinitions"),
        OpenApiVersion::OpenApi30 | OpenApiVersion::OpenApi31 => {
            root.get("components").and_then(|components| components.get("securitySchemes"))
        }
    };
    let mut unmet: BTreeMap<&str, (String, usize)> = BTreeMap::new();
    for spot in spots {
        let Some(asked) = spot.node.get("security").or_else(|| root.get("security")) else {
            continue;
        };
        let mut first_unmet = None;
        let is_met = asked.value.as_array().is_none_or(Vec::is_empty)
            || asked.items().any(|alternative| {
                let missing = alternative.members().find_map(|(name, _scopes)| {
                    let scheme = schemes.and_then(|schemes| schemes.get(name));
                    let scheme = scheme.and_then(|scheme| document.follow(scheme).ok());
                    missing(scheme, offer).map(|wanted| (name, wanted))
                });
                let is_met = missing.is_none();
                first_unmet = first_unmet.take().or(missing);
                is_met
            });
        if let (false, Some((name, wanted))) = (is_met, first_unmet) {
            unmet.entry(name).or_insert((wanted, 0)).1 += 1;
        }
    }
    for (name, (wanted, count)) in unmet {
        let operations = if count == 1 {
            "1 operation asks".to_owned()
        } else {
            format!("{count} operations ask")
        };
        problems.add(
            format!("security `{name}`"),
            format!("{operations} for {wanted}, which the definition's `auth` does not give"),
        );
    }
}

fn missing(scheme: Option<OpenApiNode<'_>>, offer: &AvailableAuth) -> Option<String> {
    let Some(scheme) = scheme else {
        return Some("a sign-in that the description does not explain".to_owned());
    };
    let bearer = |wanted: &str| (*offer != AvailableAuth::Bearer).then(|| wanted.to_owned());
    match (scheme.text("type"), scheme.text("scheme").map(str::to_ascii_lowercase).as_deref()) {
        (Some("http"), Some("bearer")) => bearer("a bearer token"),
        (Some("oauth2"), _) => bearer("an OAuth 2 token"),
        (Some("openIdConnect"), _) => bearer("an OpenID Connect token"),
        (Some("basic"), _) | (Some("http"), Some("basic")) => {
            Some("a user name and password (HTTP basic)".to_owned())
        }
        (Some("apiKey"), _) => {
            let name = scheme.text("name").unwrap_or_default();
            let place = scheme.text("in").unwrap_or_default();
            let lower = name.to_ascii_lowercase();
            let is_given = place == "header"
                && match offer {
                    AvailableAuth::Headers(names) => names.contains(&lower),
                    AvailableAuth::Bearer => lower == "authorization",
                    AvailableAuth::Nothing => false,
                };
            (!is_given).then(|| format!("an API key in {place} `{name}`"))
        }
        (Some("mutualTLS"), _) => Some("a client certificate".to_owned()),
        (kind, _) => Some(format!("a sign-in of the unknown kind `{}`", kind.unwrap_or_default())),
    }
}
