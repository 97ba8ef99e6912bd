//! The MCP endpoints of this host as OAuth resources (RFC 8707).

use capdeck_auth::inbound::{OAuthScope, Scopes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OauthResource {
    Host,
    /// The deck, with the granted capsules.
    Deck,
    /// By its id or name.
    Capsule(String),
    View(String),
    /// One capability, unchanged.
    Server(String),
}

impl OauthResource {
    /// The resource of a request path; `None` where client tokens are not accepted.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let found = match (parts.next()?, parts.next(), parts.next()) {
            ("", None, None) => Self::Host,
            ("mcp", None | Some("server-card"), None) => Self::Deck,
            ("mcp", Some(capsule), None) => Self::Capsule(capsule.to_owned()),
            ("views", Some(name), Some("mcp")) => Self::View(name.to_owned()),
            ("servers", Some(id), Some("mcp")) => Self::Server(id.to_owned()),
            _ => return None,
        };
        match parts.next() {
            None => {}
            Some("server-card") if path.ends_with("/mcp/server-card") => {}
            Some(_) => return None,
        }
        let has_name = match &found {
            Self::Host | Self::Deck => true,
            Self::Capsule(name) | Self::View(name) | Self::Server(name) => !name.is_empty(),
        };
        has_name.then_some(found)
    }

    /// The resource with this address, if it is of this host.
    pub(crate) fn named(address: &str, issuer: &str) -> Option<Self> {
        let path = address.strip_prefix(issuer)?;
        let path = if path.is_empty() { "/" } else { path };
        Self::at(path).filter(|found| found.path() == path)
    }

    pub(crate) fn path(&self) -> String {
        match self {
            Self::Host => "/".to_owned(),
            Self::Deck => "/mcp".to_owned(),
            Self::Capsule(name) => format!("/mcp/{name}"),
            Self::View(name) => format!("/views/{name}/mcp"),
            Self::Server(id) => format!("/servers/{id}/mcp"),
        }
    }

    pub(crate) fn address(&self, issuer: &str) -> String {
        format!("{issuer}{}", self.path())
    }

    /// The address of its metadata document (RFC 9728).
    pub(crate) fn metadata_address(&self, issuer: &str) -> String {
        let path = self.path();
        format!("{issuer}/.well-known/oauth-protected-resource{}", path.trim_end_matches('/'))
    }

    /// True when a token with this audience is valid here. A token without an audience is valid for the whole host.
    pub(crate) fn is_open_to(&self, audience: Option<&str>, issuer: &str) -> bool {
        match audience.map(|audience| Self::named(audience, issuer)) {
            None | Some(Some(Self::Host)) => true,
            Some(Some(named)) => named == *self,
            Some(None) => false,
        }
    }

    /// The scopes for the first request; a client requests the others when needed.
    pub(crate) fn first_scopes(&self) -> Scopes {
        let deck = [OAuthScope::DeckRead, OAuthScope::DeckCall];
        match self {
            Self::Host | Self::Deck => deck.into_iter().chain([OAuthScope::CapsuleRead]).collect(),
            Self::Capsule(_) => Scopes::from_iter([OAuthScope::CapsuleRead]),
            Self::View(_) | Self::Server(_) => Scopes::from_iter(deck),
        }
    }

    /// The scopes that apply to the resource.
    pub(crate) fn scopes(&self) -> Scopes {
        let deck = [OAuthScope::DeckRead, OAuthScope::DeckCall];
        let capsule =
            [OAuthScope::CapsuleRead, OAuthScope::CapsuleAppend, OAuthScope::CapsuleWrite];
        match self {
            Self::Host | Self::Deck => deck.into_iter().chain(capsule).collect(),
            Self::Capsule(_) => Scopes::from_iter(capsule),
            Self::View(_) | Self::Server(_) => Scopes::from_iter(deck),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://deck.example";

    #[test]
    fn paths_name_resources() {
        for (path, resource) in [
            ("/", Some(OauthResource::Host)),
            ("/mcp", Some(OauthResource::Deck)),
            ("/mcp/server-card", Some(OauthResource::Deck)),
            ("/mcp/team", Some(OauthResource::Capsule("team".to_owned()))),
            ("/views/dev/mcp", Some(OauthResource::View("dev".to_owned()))),
            ("/servers/a/mcp", Some(OauthResource::Server("a".to_owned()))),
            ("/servers/a/mcp/server-card", Some(OauthResource::Server("a".to_owned()))),
            ("/servers/a", None),
            ("/servers//mcp", None),
            ("/mcp/", None),
            ("/mcp/a/b", None),
            ("/v1/grants", None),
            ("mcp", None),
        ] {
            assert_eq!(OauthResource::at(path), resource, "{path}");
        }
    }

    #[test]
    fn security_05_an_audience_opens_its_endpoint_and_nothing_else() {
        let team = OauthResource::Capsule("team".to_owned());
        assert!(team.is_open_to(Some("https://deck.example/mcp/team"), ISSUER));
        assert!(team.is_open_to(Some("https://deck.example"), ISSUER));
        assert!(team.is_open_to(Some("https://deck.example/"), ISSUER));
        assert!(team.is_open_to(None, ISSUER));
        for other in [
            "https://deck.example/mcp",
            "https://deck.example/mcp/other",
            "https://deck.example/mcp/team/",
            "https://deck.example.evil/mcp/team",
            "http://deck.example/mcp/team",
            "https://other.example/mcp/team",
            "",
        ] {
            assert!(!team.is_open_to(Some(other), ISSUER), "{other}");
        }
    }

    #[test]
    fn documents_are_found_by_the_path() {
        let at = |resource: OauthResource| resource.metadata_address(ISSUER);
        let place = "https://deck.example/.well-known/oauth-protected-resource";
        assert_eq!(at(OauthResource::Host), place);
        assert_eq!(at(OauthResource::Deck), format!("{place}/mcp"));
        assert_eq!(at(OauthResource::View("dev".to_owned())), format!("{place}/views/dev/mcp"));
    }
}
