//! What a running host offers, laid over or under a local deck by each capability's own `shadowing`.

use std::{path::PathBuf, sync::Arc};

use capdeck_storage::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    Backend, BackendAuth, CapabilityId, Deck, Definition, DefinitionSource, Exposure, McpServer,
    NamespaceAliases, QuarantinedItem, ShadowingMode, SourceLayer, UsageHints,
};

/// A capability as its host describes it. Its own endpoint lists its tools.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCapability {
    pub id: CapabilityId,
    pub name: String,
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    pub exposure: Exposure,
    pub shadowing: ShadowingMode,
    pub use_when: Option<String>,
    pub avoid_when: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteDeck {
    /// The host's address, without a slash at the end.
    pub origin: String,
    /// The variable that holds the host's key.
    pub key_variable: Option<String>,
    pub capabilities: Vec<RemoteCapability>,
}

/// A local capability and a remote one of the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdCollision {
    pub id: CapabilityId,
    pub shadowing: ShadowingMode,
}

impl Deck {
    /// Adds what a running host offers. The remote capability decides what a local one of its id may do: `forbid` replaces
    /// the local one, `allow` is replaced by it, `namespace` keeps both under names of their own.
    pub fn attach(&mut self, remote: &RemoteDeck) -> Vec<IdCollision> {
        let aliases = self.config.namespace_aliases.clone();
        let mut collisions = Vec::new();
        let mut below = Vec::new();
        let mut above = Vec::new();
        for capability in &remote.capabilities {
            let id = &capability.id;
            let is_local = self.definitions.iter().any(|local| local.id == *id);
            if is_local {
                collisions.push(IdCollision { id: id.clone(), shadowing: capability.shadowing });
            }
            match capability.shadowing {
                ShadowingMode::Allow => below.push(remote.define(capability, id.clone())),
                ShadowingMode::Namespace if is_local => {
                    match self.make_room(remote, id, &aliases) {
                        Some(name) => above.push(remote.define(capability, name)),
                        None => self.quarantined.push(QuarantinedItem {
                            id: id.to_string(),
                            source: remote.source(),
                            reason: "its id is too long to be distinguished from the local one's"
                                .to_owned(),
                        }),
                    }
                }
                ShadowingMode::Forbid | ShadowingMode::Namespace => {
                    above.push(remote.define(capability, id.clone()));
                }
            }
        }
        self.definitions.splice(0..0, below);
        self.definitions.extend(above);
        collisions
    }

    /// Gives local capabilities of this id, and members of sets among them, a name of their own. The answer is the name for
    /// the remote one; `None`, and no local one, when a name would be too long.
    fn make_room(
        &mut self,
        remote: &RemoteDeck,
        id: &CapabilityId,
        aliases: &NamespaceAliases,
    ) -> Option<CapabilityId> {
        let local_label = aliases.local.as_deref().unwrap_or("local");
        let mut fits = true;
        let mut moved: Vec<Arc<Definition>> = Vec::with_capacity(self.definitions.len());
        for local in self.definitions.drain(..) {
            let is_member = local.member_of.as_ref() == Some(id);
            if local.id != *id && !is_member {
                moved.push(local);
                continue;
            }
            let mut renamed = Definition::clone(&local);
            let own =
                namespaced(local_label, &local.source.path.display().to_string(), id.as_str());
            let name = match local.id.as_str().strip_prefix(id.as_str()) {
                Some(rest) if is_member => format!("{own}{rest}"),
                _ => own.clone(),
            };
            match (CapabilityId::new(&name), CapabilityId::new(&own)) {
                (Ok(name), Ok(own)) => {
                    renamed.id = name;
                    renamed.member_of =
                        renamed.member_of.map(|set| if set == *id { own } else { set });
                    moved.push(Arc::new(renamed));
                }
                _ => fits = false,
            }
        }
        self.definitions = moved;
        let label = aliases.upstreams.get(&remote.origin).map_or("remote", String::as_str);
        let name = namespaced(label, &remote.origin, id.as_str());
        CapabilityId::new(&name).ok().filter(|_| fits)
    }
}

impl RemoteDeck {
    fn source(&self) -> DefinitionSource {
        DefinitionSource { layer: SourceLayer::Remote, path: PathBuf::from(&self.origin) }
    }

    /// An MCP server that is the capability's own endpoint, so that everything passes as it is.
    fn define(&self, capability: &RemoteCapability, id: CapabilityId) -> Arc<Definition> {
        let url = format!("{}/servers/{}/mcp", self.origin, capability.id);
        let mut definition = Definition {
            name: capability.name.clone(),
            description: capability.description.clone(),
            tags: capability.tags.clone(),
            exposure: Some(capability.exposure),
            shadowing: capability.shadowing,
            hints: UsageHints {
                use_when: capability.use_when.clone(),
                avoid_when: capability.avoid_when.clone(),
            },
            ..Definition::new(id, Backend::Mcp(McpServer::at(url)), self.source())
        }
        .with_fingerprint();
        // The key is no part of what the capability is.
        if let Some(name) = &self.key_variable {
            definition.backend.set_auth(&BackendAuth::Bearer { token: format!("${{{name}}}") });
        }
        Arc::new(definition)
    }
}

/// `<label>-<four digits of the source>__<id>`: the same name in every run.
fn namespaced(label: &str, source: &str, id: &str) -> String {
    let digits: String = sha256_hex(source.as_bytes()).chars().take(4).collect();
    format!("{label}-{digits}__{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(id: &str, member_of: Option<&str>) -> Arc<Definition> {
        let id = CapabilityId::new(id).unwrap();
        let source = DefinitionSource {
            layer: SourceLayer::UserFile,
            path: format!("/deck/{id}.md").into(),
        };
        let backend = Backend::Mcp(McpServer::at("http://127.0.0.1:1/mcp".to_owned()));
        let member_of = member_of.map(|set| CapabilityId::new(set).unwrap());
        Arc::new(Definition { member_of, ..Definition::new(id, backend, source) })
    }

    fn remote(entries: &[(&str, ShadowingMode)]) -> RemoteDeck {
        let capability = |(id, shadowing): &(&str, ShadowingMode)| RemoteCapability {
            id: CapabilityId::new(id).unwrap(),
            name: format!("Remote {id}"),
            description: String::new(),
            tags: Vec::new(),
            exposure: Exposure::Direct,
            shadowing: *shadowing,
            use_when: None,
            avoid_when: None,
        };
        RemoteDeck {
            origin: "http://deck.example:7717".to_owned(),
            key_variable: Some("KEY".to_owned()),
            capabilities: entries.iter().map(capability).collect(),
        }
    }

    fn ids(deck: &Deck) -> Vec<(String, SourceLayer)> {
        let both = |one: &Arc<Definition>| (one.id.to_string(), one.source.layer);
        deck.definitions.iter().map(both).collect()
    }

    #[test]
    fn the_remote_capability_decides() {
        let mut deck = Deck {
            definitions: vec![
                local("a", None),
                local("b", None),
                local("c", None),
                local("c__x", Some("c")),
            ],
            ..Deck::default()
        };
        let collisions = deck.attach(&remote(&[
            ("a", ShadowingMode::Forbid),
            ("b", ShadowingMode::Allow),
            ("c", ShadowingMode::Namespace),
            ("d", ShadowingMode::Namespace),
        ]));
        let names: Vec<&str> = collisions.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let listed = ids(&deck);
        let find = |start: &str| {
            let found = listed.iter().filter(|(id, _)| id.starts_with(start));
            found.map(|(_, layer)| *layer).collect::<Vec<_>>()
        };
        // The last of an id is in force.
        assert_eq!(find("a").last(), Some(&SourceLayer::Remote));
        assert_eq!(find("b").last(), Some(&SourceLayer::UserFile));
        assert_eq!((find("d"), find("c").len()), (vec![SourceLayer::Remote], 0));
        assert_eq!((find("local-").len(), find("remote-").len()), (2, 1));
        let member =
            deck.definitions.iter().find(|one| one.id.as_str().ends_with("__c__x")).unwrap();
        assert!(member.member_of.as_ref().unwrap().as_str().starts_with("local-"));
    }

    #[test]
    fn aliases_are_the_labels_of_names_that_collide() {
        let mut deck = Deck { definitions: vec![local("c", None)], ..Deck::default() };
        let aliases = &mut deck.config.namespace_aliases;
        aliases.local = Some("mine".to_owned());
        aliases.upstreams.insert("http://deck.example:7717".to_owned(), "team".to_owned());
        aliases.upstreams.insert("http://other.example".to_owned(), "other".to_owned());
        deck.attach(&remote(&[("c", ShadowingMode::Namespace)]));
        let names: Vec<String> = ids(&deck).into_iter().map(|(id, _)| id).collect();
        let [mine, team] = names.try_into().unwrap();
        assert!(mine.starts_with("mine-") && mine.ends_with("__c"), "{mine}");
        assert!(team.starts_with("team-") && team.ends_with("__c"), "{team}");
    }

    #[test]
    fn a_name_that_would_be_too_long_is_reported_and_not_served() {
        let long = "x".repeat(60);
        let mut deck = Deck { definitions: vec![local(&long, None)], ..Deck::default() };
        deck.attach(&remote(&[(&long, ShadowingMode::Namespace)]));
        assert!(deck.definitions.is_empty());
        assert!(deck.quarantined[0].reason.contains("too long"));
    }

    #[test]
    fn the_key_is_a_reference_and_no_part_of_the_identity() {
        let with = remote(&[("a", ShadowingMode::Forbid)]);
        let without = RemoteDeck { key_variable: None, ..with.clone() };
        let define =
            |deck: &RemoteDeck| deck.define(&deck.capabilities[0], CapabilityId::new("a").unwrap());
        assert_eq!(define(&with).fingerprint, define(&without).fingerprint);
        let Backend::Mcp(server) = &define(&with).backend else { panic!() };
        assert_eq!(server.auth, Some(BackendAuth::Bearer { token: "${KEY}".to_owned() }));
        assert_eq!(server.url.as_deref(), Some("http://deck.example:7717/servers/a/mcp"));
    }
}
