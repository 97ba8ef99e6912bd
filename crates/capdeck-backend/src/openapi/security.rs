//! What a description asks for in `security`, beside what the definition's `auth` block gives.
//!
//! Credentials come from the definition alone. Where they cannot satisfy the description this is told once per scheme;
//! the operations stay callable, because descriptions ask for more than servers do.

use std::collections::BTreeMap;

use capdeck_definition::BackendAuth;

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    operation::OperationLocation,
    problems::OpenApiProblems,
};

/// What the definition's `auth` block can give.
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
pub(super) fn check(
    document: &OpenApiDocument,
    spots: &[OperationLocation<'_>],
    offer: &AvailableAuth,
    problems: &mut OpenApiProblems,
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

/// What a scheme wants that is not there.
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
