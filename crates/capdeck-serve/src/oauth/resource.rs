//! What a token can be for: the MCP endpoints of this host, each with its own address.

use capdeck_auth::inbound::{OAuthScope, Scopes};

/// One endpoint, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Everything of this host.
    Host,
    /// The deck, with the capsules that were granted.
    Deck,
    /// One capsule, by its id or name.
    Capsule(String),
    /// One view of the deck.
    View(String),
    /// One capability as it is.
    Server(String),
}

impl Resource {
    /// The resource that a request to this path is for; `None` where no token of a client is of use.
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

    /// The resource that an address names, if it is one of this host.
    pub(crate) fn named(address: &str, issuer: &str) -> Option<Self> {
        let path = address.strip_prefix(issuer)?;
        let path = if path.is_empty() { "/" } else { path };
        Self::at(path).filter(|found| found.path() == path)
    }

    /// The path of the endpoint.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Host => "/".to_owned(),
            Self::Deck => "/mcp".to_owned(),
            Self::Capsule(name) => format!("/mcp/{name}"),
            Self::View(name) => format!("/views/{name}/mcp"),
            Self::Server(id) => format!("/servers/{id}/mcp"),
        }
    }

    /// Its address, as tokens and documents name it.
    pub(crate) fn address(&self, issuer: &str) -> String {
        format!("{issuer}{}", self.path())
    }

    /// Where the document about it is.
    pub(crate) fn metadata_address(&self, issuer: &str) -> String {
        let path = self.path();
        format!("{issuer}/.well-known/oauth-protected-resource{}", path.trim_end_matches('/'))
    }

    /// Whether a token for the given audience opens it. A token that names none is for everything of this host.
    pub(crate) fn is_open_to(&self, audience: Option<&str>, issuer: &str) -> bool {
        match audience.map(|audience| Self::named(audience, issuer)) {
            None | Some(Some(Self::Host)) => true,
            Some(Some(named)) => named == *self,
            Some(None) => false,
        }
    }

    /// What a client needs to begin with. The rest is asked for when it is needed.
    pub(crate) fn first_scopes(&self) -> Scopes {
        match self {
            Self::Host | Self::Deck => {
                [OAuthScope::DeckRead, OAuthScope::DeckCall, OAuthScope::CapsuleRead]
                    .into_iter()
                    .collect()
            }
            Self::Capsule(_) => [OAuthScope::CapsuleRead].into_iter().collect(),
            Self::View(_) | Self::Server(_) => {
                [OAuthScope::DeckRead, OAuthScope::DeckCall].into_iter().collect()
            }
        }
    }

    /// Every scope that makes sense there.
    pub(crate) fn scopes(&self) -> Scopes {
        let deck = [OAuthScope::DeckRead, OAuthScope::DeckCall];
        let capsule =
            [OAuthScope::CapsuleRead, OAuthScope::CapsuleAppend, OAuthScope::CapsuleWrite];
        match self {
            Self::Host | Self::Deck => deck.into_iter().chain(capsule).collect(),
            Self::Capsule(_) => capsule.into_iter().collect(),
            Self::View(_) | Self::Server(_) => deck.into_iter().collect(),
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
            ("/", Some(Resource::Host)),
            ("/mcp", Some(Resource::Deck)),
            ("/mcp/server-card", Some(Resource::Deck)),
            ("/mcp/team", Some(Resource::Capsule("team".to_owned()))),
            ("/views/dev/mcp", Some(Resource::View("dev".to_owned()))),
            ("/servers/a/mcp", Some(Resource::Server("a".to_owned()))),
            ("/servers/a/mcp/server-card", Some(Resource::Server("a".to_owned()))),
            ("/servers/a", None),
            ("/servers//mcp", None),
            ("/mcp/", None),
            ("/mcp/a/b", None),
            ("/v1/grants", None),
            ("mcp", None),
        ] {
            assert_eq!(Resource::at(path), resource, "{path}");
        }
    }

    #[test]
    fn security_05_an_audience_opens_its_endpoint_and_nothing_else() {
        let team = Resource::Capsule("team".to_owned());
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
        let at = |resource: Resource| resource.metadata_address(ISSUER);
        let place = "https://deck.example/.well-known/oauth-protected-resource";
        assert_eq!(at(Resource::Host), place);
        assert_eq!(at(Resource::Deck), format!("{place}/mcp"));
        assert_eq!(at(Resource::View("dev".to_owned())), format!("{place}/views/dev/mcp"));
    }
}
