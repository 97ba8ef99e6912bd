//! One catalog as one client may use it, for as long as one call takes.
//!
//! A reload may swap the catalog in at any moment. Everything that a call decides (name, schema, pin, policy,
//! definition) comes from the snapshot that it holds, so no decision about one definition ever goes with the command
//! of another. This file alone asks what is in force: when a snapshot is taken, and when a call is about to leave for
//! its backend.

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, Catalog, RuleClearance, Tool, shell_word, tool_words};
use capdeck_definition::{Definition, Exposure, PinMode, PolicyEffect, SourceLayer};
use serde_json::json;

use crate::{Access, Session, SessionScope, ToolRoute, View, ViewPolicy, gate};

/// One catalog as one client may use it.
#[derive(Clone)]
pub struct DeckSnapshot<'a> {
    session: &'a Session,
    /// The catalog that was in force.
    base: Arc<Catalog>,
    /// The same with what servers offer to clients of these capabilities.
    whole: Arc<Catalog>,
    /// What this client may know of it.
    seen: Arc<Catalog>,
    /// `None` for a client that needs no grants.
    access: Option<Arc<Access>>,
}

/// What a catalog says about a tool's name.
pub(crate) enum ToolLookup {
    Known(Arc<Tool>),
    /// The list does not have it, and the server itself decides about names.
    LeftToServer,
    /// It exists and is held.
    Held(CallError),
    /// It is held in this catalog, and was approved since.
    Released,
    /// It is known, and does not take what it is called with.
    Refused(CallError),
    Unknown,
}

impl ToolLookup {
    /// True when a call may go on with it.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self, Self::Known(_) | Self::LeftToServer)
    }
}

impl Session {
    /// The catalog in force, as this client may use it.
    pub fn snapshot(&self) -> DeckSnapshot<'_> {
        let (names, access) = (self.names(), self.access());
        let client = self.as_client(&names, access.as_ref());
        let base = self.host.catalog();
        let whole = client.variant(&base);
        let seen = client.screened(&whole, self.part());
        DeckSnapshot { session: self, base, whole, seen, access }
    }
}

impl<'a> DeckSnapshot<'a> {
    /// The client that it was taken for.
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// The grants that the client had when the snapshot was taken; `None` for a client that needs none.
    pub(crate) fn access(&self) -> Option<&Arc<Access>> {
        self.access.as_ref()
    }

    /// True while nothing replaced the catalog, and the client has the same grants. Reads both again on purpose: a person
    /// may have taken long to approve a call, and a grant that was revoked meanwhile must not be used by it.
    pub(crate) fn is_current(&self) -> bool {
        let session = self.session;
        Arc::ptr_eq(&self.base, &session.host.catalog()) && self.access == session.access()
    }

    /// What this client may know.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.seen
    }

    /// The definitions of the whole deck, also of what this client may not know. They say where secrets are.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.base.capabilities().map(|capability| &capability.definition)
    }

    /// True when both were taken from the same catalog.
    pub(crate) fn is_same_deck(&self, other: &DeckSnapshot<'_>) -> bool {
        Arc::ptr_eq(&self.base, &other.base)
    }

    /// The skills of a named view.
    pub(crate) fn skills_of_view(&self, name: &str) -> &[String] {
        self.base.parts().views.get(name).map(|view| view.skills.as_slice()).unwrap_or_default()
    }

    /// What this client is shown of it.
    pub fn view(&self) -> Arc<View> {
        let session = self.session;
        let usual = ViewPolicy::default();
        let policy = match &session.scope {
            SessionScope::Deck(policy) => policy,
            SessionScope::Transparent(_) | SessionScope::Operator => &usual,
        };
        let names = session.names();
        session.as_client(&names, self.access.as_ref()).view(self.seen.clone(), policy)
    }

    /// The capability of this id, if this client may use it.
    pub fn capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        gate::require_offered(self, id, None)
    }

    /// The same for lists of what is no tool.
    pub(crate) fn listed_capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        let capability = self.capability(id)?;
        if capability.tools_only {
            let message = format!("only tools of `{id}` may be used here");
            return Err(CallError::new(ErrorCode::ResourceNotFound, message));
        }
        Ok(capability)
    }

    /// The same for requests about what is no tool: resources, prompts and requests of the client's own.
    pub(crate) fn whole_capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        let capability = self.listed_capability(id)?;
        self.require_use(id)?;
        Ok(capability)
    }

    /// The definition of a listed tool that leads straight to a backend's.
    pub fn listed_tool(&self, name: &str) -> Option<Arc<Tool>> {
        let Some(ToolRoute::Tool { capability, tool }) = self.view().route(name) else {
            return None;
        };
        self.seen.tool(&capability, &tool).cloned()
    }

    /// The scope of the session that took the snapshot.
    pub(crate) fn scope(&self) -> &SessionScope {
        &self.session.scope
    }

    /// True when this client may know that the capability exists.
    pub(crate) fn may_see(&self, capability: &Capability) -> bool {
        match self.scope() {
            SessionScope::Operator => true,
            SessionScope::Transparent(id) => {
                capability.may_be_served_alone()
                    && (*id == capability.definition.id
                        // A set is served with its members, which its tools and URIs lead to.
                        || self.base.with_sets(capability).contains(&id.as_str()))
            }
            SessionScope::Deck(policy) => policy.exposure_of(capability) != Exposure::None,
        }
    }

    /// Which rules of the policy may be about this client.
    pub(crate) fn clearance(&self) -> RuleClearance {
        RuleClearance::for_client(&self.seen.config().policy, &self.session.names())
    }

    /// The tool of this name. Nothing is left to a server whose list was neither read before nor asked for now.
    pub(crate) fn tool(&self, capability: &Capability, name: &str, has_asked: bool) -> ToolLookup {
        let id = capability.definition.id.as_str();
        if let Some(tool) = self.seen.tool(id, name) {
            return ToolLookup::Known(tool.clone());
        }
        let is_listed = has_asked || capability.discovery.is_some();
        match self.held(capability, name) {
            ToolLookup::Unknown if is_listed && self.server_decides(capability) => {
                ToolLookup::LeftToServer
            }
            other => other,
        }
    }

    /// Whether a tool is hidden from this client although it exists, because it is held and not denied.
    pub(crate) fn held(&self, capability: &Capability, name: &str) -> ToolLookup {
        let id = capability.definition.id.as_str();
        let Some(whole) = self.whole.get(id).filter(|whole| whole.held.contains_key(name)) else {
            return ToolLookup::Unknown;
        };
        let (Some(tool), Some(offered)) = (self.whole.tool(id, name), &whole.discovery) else {
            return ToolLookup::Unknown;
        };
        if self.effect_on(whole, name, Some(tool.as_ref())) == PolicyEffect::Deny {
            return ToolLookup::Unknown;
        }
        // Another process may have approved it since the catalog was built.
        let held = self.session.host.pins().held(&whole.definition, offered);
        let Some(reason) = held.get(name) else { return ToolLookup::Released };
        let message = format!("`{name}` of `{id}` is held: {}", reason.as_str());
        let error = CallError::new(ErrorCode::ApprovalRequired, message)
            .hint(format!(
                "the person looks at: capdeck pins diff {words}; then runs: capdeck pins approve {words}",
                words = tool_words(id, name)
            ))
            .data(json!({ "held": reason }));
        ToolLookup::Held(error)
    }

    /// The tools of a capability that are held, as far as this client may know of them.
    pub(crate) fn held_names(&self, capability: &Capability) -> Vec<String> {
        if capability.pins != PinMode::Block {
            return Vec::new();
        }
        let id = capability.definition.id.as_str();
        let Some(whole) = self.whole.get(id) else { return Vec::new() };
        let is_known = |name: &&String| {
            let tool = self.whole.tool(id, name);
            self.effect_on(whole, name, tool.map(Arc::as_ref)) != PolicyEffect::Deny
        };
        whole.held.keys().filter(is_known).cloned().collect()
    }

    /// True when there is a tool of this name, whether or not this client may know it.
    pub(crate) fn has_tool(&self, id: &str, name: &str) -> bool {
        self.whole.tool(id, name).is_some()
    }

    /// True when some of the capability's tools may not be known to this client, so that the server's own answers
    /// cannot simply pass.
    pub(crate) fn is_screened(&self, capability: &Capability) -> bool {
        let ids = self.seen.with_sets(capability);
        capability.pins == PinMode::Block
            || self.access.is_some()
            || self.clearance().may_deny_some_of(&self.seen.config().policy, &ids)
    }

    /// True where the server itself decides about names and arguments, because the client sees it as it is.
    pub(crate) fn server_decides(&self, capability: &Capability) -> bool {
        matches!(self.scope(), SessionScope::Transparent(_)) && !self.is_screened(capability)
    }

    pub(crate) fn is_of_capability_file(&self, id: &str) -> bool {
        let capability = self.seen.get(id);
        capability
            .is_some_and(|one| one.definition.source.layer == SourceLayer::ProjectCapabilityFile)
    }

    /// What a client is answered that calls a tool which is not there.
    pub(crate) fn unknown_tool(&self, capability: &Capability, name: &str) -> CallError {
        let id = &capability.definition.id;
        let error = CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"));
        match self.seen.nearest_tool(id.as_str(), name) {
            Some(near) => {
                let shown = match self.session.scope {
                    SessionScope::Operator => shell_word(near),
                    SessionScope::Deck(_) | SessionScope::Transparent(_) => near.to_owned(),
                };
                error.hint(format!("did you mean `{shown}`?")).data(json!({ "nearest": near }))
            }
            None => error.hint(format!("the person sees its tools with: capdeck tools {id}")),
        }
    }
}
