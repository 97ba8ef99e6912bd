//! What a description says about the API as a whole: where it is, and how callers sign in.

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    import::all_operations,
    server::ServerRules,
};

/// An API as its description presents it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiDescription {
    /// Where its requests go, if it says so in a way that can be used.
    pub server: Option<String>,
    pub operations: usize,
    /// How many of them need no sign-in.
    pub open_operations: usize,
    /// In the order of the description.
    pub schemes: Vec<SecurityScheme>,
}

/// One way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityScheme {
    pub name: String,
    pub kind: SecurityKind,
    /// The operations that can be called with this alone, by id or as `METHOD /path`.
    pub operations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityKind {
    Bearer,
    /// A user name and a password.
    Basic,
    HeaderKey {
        header: String,
    },
    OAuth2 {
        authorization_url: Option<String>,
        token_url: Option<String>,
        scopes: Vec<String>,
    },
    OpenIdConnect {
        configuration_url: String,
    },
    /// Something that a definition cannot give.
    Other {
        wanted: String,
    },
}

pub(super) fn describe(document: &OpenApiDocument, rules: &ServerRules) -> ApiDescription {
    let root = document.root();
    let declared = match document.version {
        OpenApiVersion::Swagger2 => root.get("securityDefinitions"),
        OpenApiVersion::OpenApi30 | OpenApiVersion::OpenApi31 => {
            root.get("components").and_then(|components| components.get("securitySchemes"))
        }
    };
    let mut description = ApiDescription {
        server: rules.root(document).ok().map(String::from),
        ..ApiDescription::default()
    };
    for (name, scheme) in declared.into_iter().flat_map(OpenApiNode::members) {
        let Ok(scheme) = document.follow(scheme) else { continue };
        let (name, kind) = (name.to_owned(), kind_of(scheme));
        description.schemes.push(SecurityScheme { name, kind, operations: Vec::new() });
    }
    for spot in all_operations(document) {
        description.operations += 1;
        let asked = spot.node.get("security").or_else(|| root.get("security"));
        let alternatives: Vec<Vec<&str>> = asked
            .into_iter()
            .flat_map(OpenApiNode::items)
            .map(|alternative| alternative.members().map(|(name, _scopes)| name).collect())
            .collect();
        if alternatives.is_empty() || alternatives.iter().any(Vec::is_empty) {
            description.open_operations += 1;
        }
        for scheme in &mut description.schemes {
            if alternatives.iter().any(|needed| needed.as_slice() == [scheme.name.as_str()]) {
                let id = spot.node.text("operationId").map(str::to_owned);
                scheme.operations.push(id.unwrap_or_else(|| spot.place()));
            }
        }
    }
    description
}

fn kind_of(scheme: OpenApiNode<'_>) -> SecurityKind {
    let method = scheme.text("scheme").map(str::to_ascii_lowercase);
    match (scheme.text("type").unwrap_or_default(), method.as_deref()) {
        ("http", Some("bearer")) => SecurityKind::Bearer,
        ("basic", _) | ("http", Some("basic")) => SecurityKind::Basic,
        ("apiKey", _) => key_of(scheme),
        ("oauth2", _) => oauth_of(scheme),
        ("openIdConnect", _) => match scheme.text("openIdConnectUrl") {
            Some(url) => SecurityKind::OpenIdConnect { configuration_url: url.to_owned() },
            None => SecurityKind::Bearer,
        },
        ("mutualTLS", _) => SecurityKind::Other { wanted: "a client certificate".to_owned() },
        (kind, _) => SecurityKind::Other { wanted: format!("a sign-in of the kind `{kind}`") },
    }
}

fn key_of(scheme: OpenApiNode<'_>) -> SecurityKind {
    let (name, place) = (scheme.text("name").unwrap_or_default(), scheme.text("in"));
    match place {
        Some("header") if !name.is_empty() => SecurityKind::HeaderKey { header: name.to_owned() },
        place => {
            let place = place.unwrap_or("an unknown place");
            SecurityKind::Other { wanted: format!("an API key in the {place} parameter `{name}`") }
        }
    }
}

fn oauth_of(scheme: OpenApiNode<'_>) -> SecurityKind {
    // Swagger 2 has the one flow in the scheme itself.
    let flows = scheme.get("flows");
    let flow = flows.and_then(|flows| {
        ["authorizationCode", "accessCode", "implicit"].iter().find_map(|name| flows.get(name))
    });
    let flow = flow.or_else(|| flows.is_none().then_some(scheme));
    let text = |key: &str| flow.and_then(|flow| flow.text(key)).map(str::to_owned);
    let scopes = flow.and_then(|flow| flow.get("scopes"));
    SecurityKind::OAuth2 {
        authorization_url: text("authorizationUrl"),
        token_url: text("tokenUrl"),
        scopes: scopes
            .into_iter()
            .flat_map(OpenApiNode::members)
            .map(|(scope, _meaning)| scope.to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn described(root: Value) -> ApiDescription {
        let rules = ServerRules { base: None, spec_url: None, has_credentials: false };
        describe(&OpenApiDocument::new(root).unwrap(), &rules)
    }

    #[test]
    fn schemes_come_with_the_operations_that_they_open() {
        let found = described(json!({
            "openapi": "3.1.0",
            "servers": [{"url": "https://api.example/v1"}],
            "security": [{"key": []}],
            "paths": {
                "/a": {"get": {"operationId": "readA"}, "post": {"security": [{"token": []}, {"key": []}]}},
                "/b": {"get": {"security": []}, "put": {"security": [{"key": [], "token": []}]}},
            },
            "components": {"securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "token": {"type": "http", "scheme": "Bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "k"},
            }},
        }));
        assert_eq!(found.server.as_deref(), Some("https://api.example/v1"));
        assert_eq!((found.operations, found.open_operations), (4, 1));
        let names: Vec<_> = found.schemes.iter().map(|one| (&*one.name, &one.kind)).collect();
        let wanted = "an API key in the query parameter `k`".to_owned();
        assert_eq!(
            names,
            [
                ("key", &SecurityKind::HeaderKey { header: "X-Key".to_owned() }),
                ("token", &SecurityKind::Bearer),
                ("query", &SecurityKind::Other { wanted }),
            ]
        );
        assert_eq!(found.schemes[0].operations, ["readA", "POST /a"]);
        assert_eq!(found.schemes[1].operations, ["POST /a"]);
    }

    #[test]
    fn sign_ins_in_both_formats() {
        let flow = json!({
            "authorizationUrl": "https://api.example/authorize",
            "tokenUrl": "https://api.example/token",
            "scopes": {"read": "Read"},
        });
        let mut swagger_scheme = flow.clone();
        swagger_scheme["type"] = json!("oauth2");
        swagger_scheme["flow"] = json!("accessCode");
        let expected = SecurityKind::OAuth2 {
            authorization_url: Some("https://api.example/authorize".to_owned()),
            token_url: Some("https://api.example/token".to_owned()),
            scopes: vec!["read".to_owned()],
        };
        let swagger = described(json!({
            "swagger": "2.0", "host": "api.example", "paths": {},
            "securityDefinitions": {"in": swagger_scheme, "basic": {"type": "basic"}},
        }));
        assert_eq!(swagger.schemes[0].kind, expected);
        assert_eq!(swagger.schemes[1].kind, SecurityKind::Basic);
        let openapi = described(json!({
            "openapi": "3.0.3", "paths": {},
            "components": {"securitySchemes": {
                "in": {"type": "oauth2", "flows": {"authorizationCode": flow}},
                "machine": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.example/t"}}},
            }},
        }));
        assert_eq!(openapi.schemes[0].kind, expected);
        assert_eq!(openapi.server, None);
        let none =
            SecurityKind::OAuth2 { authorization_url: None, token_url: None, scopes: Vec::new() };
        assert_eq!(openapi.schemes[1].kind, none);
    }
}
