//! What an operator can grant to a client: the parts of the deck and the capsules of the request.

use capdeck_auth::inbound::{AuthenticatedOperator, OAuthScope, OperatorRole, Scopes};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleError, CapsuleServiceExt as _, CapsuleSummary,
    CapsuleVisibility, Exposure, Host, ListCapsulesRequest,
};

use super::OauthResource;
use crate::http_state::HttpState;

#[derive(Debug, Default)]
pub(super) struct ConsentOffer {
    /// Empty when the request is not for the deck.
    pub(super) capabilities: Vec<ConsentItem>,
    pub(super) capsules: Vec<ConsentItem>,
    /// True when the request is for one item, which is then selected.
    pub(super) is_single: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConsentItem {
    pub(super) id: String,
    /// The name in a grant: the key of a capsule, the id of a capability.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: String,
}

impl ConsentOffer {
    pub(super) async fn for_request(
        http_state: &HttpState,
        operator: &AuthenticatedOperator,
        resource: &OauthResource,
        scopes: &Scopes,
    ) -> Result<Self, CapsuleError> {
        let wants_deck = scopes.allows(OAuthScope::DeckRead);
        let wants_capsules = scopes.allows(OAuthScope::CapsuleRead);
        let mut capabilities = match resource {
            OauthResource::Capsule(_) => Vec::new(),
            OauthResource::Host
            | OauthResource::Deck
            | OauthResource::View(_)
            | OauthResource::Server(_) => {
                if wants_deck {
                    capabilities(&http_state.host)
                } else {
                    Vec::new()
                }
            }
        };
        if let OauthResource::Server(id) = resource {
            capabilities.retain(|item| item.id == *id);
        }
        let mut capsules = match resource {
            OauthResource::View(_) | OauthResource::Server(_) => Vec::new(),
            OauthResource::Host | OauthResource::Deck | OauthResource::Capsule(_) => {
                if wants_capsules {
                    capsules(http_state, operator).await?
                } else {
                    Vec::new()
                }
            }
        };
        if let OauthResource::Capsule(name) = resource {
            let by_id = capsules.iter().any(|item| item.id == *name);
            capsules.retain(|item| match by_id {
                true => item.id == *name,
                false => item.name.eq_ignore_ascii_case(name),
            });
        }
        let is_single = matches!(resource, OauthResource::Capsule(_) | OauthResource::Server(_));
        Ok(Self { capabilities, capsules, is_single })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.capabilities.is_empty() && self.capsules.is_empty()
    }
}

fn capabilities(host: &Host) -> Vec<ConsentItem> {
    let catalog = host.catalog();
    let offered = catalog.capabilities().filter(|one| {
        // Capsules are listed separately, and members belong to their set.
        let is_whole = one.definition.member_of.is_none();
        let is_capsules = one.definition.backend.kind().as_str() == "capsules";
        one.is_usable() && one.exposure != Exposure::None && is_whole && !is_capsules
    });
    let items = offered.map(|one| ConsentItem {
        id: one.definition.id.to_string(),
        key: one.definition.id.to_string(),
        name: one.definition.name.clone(),
        description: one.definition.description.trim().to_owned(),
    });
    items.collect()
}

async fn capsules(
    http_state: &HttpState,
    operator: &AuthenticatedOperator,
) -> Result<Vec<ConsentItem>, CapsuleError> {
    let Some(service) = http_state.host.capsules().filter(|one| one.may_have_capsules()) else {
        return Ok(Vec::new());
    };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    let listed = service.ask(caller.request(None, ListCapsulesRequest::default())).await?;
    let own = match (operator.role, http_state.registry()) {
        (OperatorRole::Member, Some(registry)) => registry.capsules().of_operator(&operator.id),
        _ => Vec::new(),
    };
    let is_seen = |key: &str, visibility: CapsuleVisibility| match operator.role {
        OperatorRole::Admin | OperatorRole::Approver => true,
        // Do not reveal capsules that this operator cannot see.
        OperatorRole::Member => {
            visibility != CapsuleVisibility::Private || own.iter().any(|one| one == key)
        }
    };
    let items = listed.capsules.into_iter().filter_map(|CapsuleSummary { info, .. }| {
        let key = info.key();
        is_seen(&key, info.visibility).then_some(ConsentItem {
            description: info.description,
            id: info.id,
            key,
            name: info.name,
        })
    });
    Ok(items.collect())
}
