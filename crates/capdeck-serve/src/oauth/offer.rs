//! What an operator can let a client have: the parts of the deck and the capsules that the client's request is about.

use capdeck_auth::inbound::{OperatorRole, OperatorStanding, Scope, Scopes};
use capdeck_host::{
    Author, CapsuleCaller, CapsuleError, CapsuleServiceExt as _, CapsuleSummary, Exposure, Host,
    ListCapsulesRequest, Visibility,
};

use super::Resource;
use crate::reception::Reception;

/// What can be chosen.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// Capabilities of the deck; empty when the request is not about the deck.
    pub(super) capabilities: Vec<Item>,
    pub(super) capsules: Vec<Item>,
    /// Whether the request is about one thing, which then need not be chosen.
    pub(super) is_single: bool,
}

/// A capability or a capsule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: String,
    /// What a grant names: of a capsule its key, of a capability its id.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: String,
}

impl Offer {
    /// What this operator can choose from for such a request.
    pub(super) async fn for_request(
        reception: &Reception,
        operator: &OperatorStanding,
        resource: &Resource,
        scopes: &Scopes,
    ) -> Result<Self, CapsuleError> {
        let wants_deck = scopes.allows(Scope::DeckRead);
        let wants_capsules = scopes.allows(Scope::CapsuleRead);
        let mut capabilities = match resource {
            Resource::Capsule(_) => Vec::new(),
            Resource::Host | Resource::Deck | Resource::View(_) | Resource::Server(_) => {
                if wants_deck {
                    capabilities(&reception.host)
                } else {
                    Vec::new()
                }
            }
        };
        if let Resource::Server(id) = resource {
            capabilities.retain(|item| item.id == *id);
        }
        let mut capsules = match resource {
            Resource::View(_) | Resource::Server(_) => Vec::new(),
            Resource::Host | Resource::Deck | Resource::Capsule(_) => {
                if wants_capsules {
                    capsules(reception, operator).await?
                } else {
                    Vec::new()
                }
            }
        };
        if let Resource::Capsule(name) = resource {
            let by_id = capsules.iter().any(|item| item.id == *name);
            capsules.retain(|item| match by_id {
                true => item.id == *name,
                false => item.name.eq_ignore_ascii_case(name),
            });
        }
        let is_single = matches!(resource, Resource::Capsule(_) | Resource::Server(_));
        Ok(Self { capabilities, capsules, is_single })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.capabilities.is_empty() && self.capsules.is_empty()
    }
}

fn capabilities(host: &Host) -> Vec<Item> {
    let catalog = host.catalog();
    let offered = catalog.capabilities().filter(|one| {
        // Capsules are chosen one by one, and members come with their set.
        let is_whole = one.definition.member_of.is_none();
        let is_capsules = one.definition.backend.kind().as_str() == "capsules";
        one.is_usable() && one.exposure != Exposure::None && is_whole && !is_capsules
    });
    let items = offered.map(|one| Item {
        id: one.definition.id.to_string(),
        key: one.definition.id.to_string(),
        name: one.definition.name.clone(),
        description: one.definition.description.trim().to_owned(),
    });
    items.collect()
}

async fn capsules(
    reception: &Reception,
    operator: &OperatorStanding,
) -> Result<Vec<Item>, CapsuleError> {
    let Some(service) = reception.host.capsules().filter(|one| one.may_have_capsules()) else {
        return Ok(Vec::new());
    };
    let caller = CapsuleCaller::local(Author::client("capdeck"));
    let listed = service.ask(caller.request(None, ListCapsulesRequest::default())).await?;
    let own = match (operator.role, reception.registry()) {
        (OperatorRole::Member, Some(registry)) => registry.capsules_of(&operator.id),
        _ => Vec::new(),
    };
    let is_seen = |key: &str, visibility: Visibility| match operator.role {
        OperatorRole::Admin | OperatorRole::Approver => true,
        // An operator who may not look at a capsule must not learn here that it exists.
        OperatorRole::Member => {
            visibility != Visibility::Private || own.iter().any(|one| one == key)
        }
    };
    let items = listed.capsules.into_iter().filter_map(|CapsuleSummary { info, .. }| {
        let key = info.key();
        is_seen(&key, info.visibility).then_some(Item {
            description: info.description,
            id: info.id,
            key,
            name: info.name,
        })
    });
    Ok(items.collect())
}
