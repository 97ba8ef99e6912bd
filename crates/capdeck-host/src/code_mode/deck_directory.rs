//! The capabilities that a script can see when its run begins.

use std::sync::Arc;

use capdeck_catalog::Capability;
use capdeck_sandbox::{CapabilityDirectory, ToolSchemas, call_text};
use serde_json::Value;

use super::{may_code, types::TypedTool};
use crate::{View, deck_snapshot::DeckSnapshot};

pub(super) struct DeckDirectory<'a> {
    deck: &'a DeckSnapshot<'a>,
    view: Arc<View>,
}

impl<'a> DeckDirectory<'a> {
    pub(super) fn new(deck: &'a DeckSnapshot<'a>) -> Self {
        Self { deck, view: deck.view() }
    }

    fn may_code(&self, capability: &Capability) -> bool {
        may_code(self.deck, &self.view, capability)
    }

    fn get(&self, id: &str) -> Option<&Arc<Capability>> {
        self.deck.catalog().get(id).filter(|capability| self.may_code(capability))
    }

    /// Only capabilities with a current list. An old list rejects nothing: the call itself asks the
    /// server first.
    fn get_listed(&self, id: &str) -> Option<&Arc<Capability>> {
        let session = self.deck.session();
        let (host, connections) = (&session.host, &session.connections);
        let is_old = |one: &Arc<Capability>| host.discovery_is_old(&one.definition, connections);
        self.get(id).filter(|capability| !is_old(capability))
    }
}

impl CapabilityDirectory for DeckDirectory<'_> {
    fn capabilities(&self) -> Vec<String> {
        let seen = self.deck.catalog().capabilities();
        let seen = seen.filter(|capability| self.may_code(capability));
        seen.map(|capability| capability.definition.id.to_string()).collect()
    }

    /// Blocked tools are included; calling one returns the reason.
    fn tools(&self, id: &str) -> Option<Vec<String>> {
        let capability = self.get_listed(id)?;
        let known = capability.discovery.as_ref()?.tools.iter();
        let mut names: Vec<String> = known.map(|tool| tool.name().to_owned()).collect();
        names.extend(self.deck.held_names(capability));
        Some(names)
    }

    fn schemas(&self, id: &str, tool: &str) -> Option<ToolSchemas> {
        let capability = self.get(id)?;
        let shape = TypedTool::of(capability, self.deck.catalog().tool(id, tool)?);
        Some(ToolSchemas { input: shape.input, output: shape.output })
    }

    fn check_arguments(&self, id: &str, tool: &str, arguments: &Value) -> Vec<String> {
        let Some(found) = self.get_listed(id).and_then(|_| self.deck.catalog().tool(id, tool))
        else {
            return Vec::new();
        };
        match found.argument_check().check(arguments) {
            Ok(()) => Vec::new(),
            Err(bad) => {
                let call = call_text(id, tool, &bad.arguments);
                vec![format!("{bad}; call it as: {call}")]
            }
        }
    }
}
