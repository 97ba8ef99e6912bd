//! What a client may know: everything but what the policy denies it and what a pin holds.
//!
//! Clients are given a catalog in which the rest does not exist. Lists, search, suggestions and calls are made from
//! it, so that a denied tool and an unknown one cannot be told apart anywhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use capdeck_definition::{Backend, Effect};

use crate::{Capability, Catalog, Clearance, Discovery, Subject, Tool};

/// The catalog as clients of this clearance may know it: the same one when nothing is kept from them.
pub fn screen(catalog: &Arc<Catalog>, clearance: &Clearance) -> Arc<Catalog> {
    let policy = &catalog.config().policy;
    if clearance.is_denied_nothing(policy) && !catalog.holds_tools {
        return Arc::clone(catalog);
    }
    let screen = Screen { catalog, clearance };
    let gone: BTreeSet<&str> = catalog
        .capabilities()
        .filter(|capability| screen.denies(capability))
        .map(|capability| capability.definition.id.as_str())
        .collect();
    let mut capabilities = BTreeMap::new();
    let mut changed = false;
    for capability in catalog.capabilities() {
        let id = &capability.definition.id;
        if gone.contains(id.as_str()) {
            changed = true;
            continue;
        }
        let shown = screen.shown(capability, &gone);
        changed |= !Arc::ptr_eq(&shown, capability);
        capabilities.insert(id.clone(), shown);
    }
    let denied_id = |id: &str| clearance.denies_all_of(policy, &[id]);
    let untrusted: Vec<_> =
        catalog.untrusted().iter().filter(|one| !screen.denies(one)).cloned().collect();
    let quarantined: Vec<_> =
        catalog.quarantined().iter().filter(|entry| !denied_id(&entry.id)).cloned().collect();
    changed |= untrusted.len() != catalog.untrusted().len()
        || quarantined.len() != catalog.quarantined().len();
    if !changed {
        return Arc::clone(catalog);
    }
    Arc::new(Catalog {
        version: catalog.version,
        capabilities: Arc::new(capabilities),
        untrusted: untrusted.into(),
        quarantined: quarantined.into(),
        diagnostics: Arc::clone(&catalog.diagnostics),
        config: Arc::clone(&catalog.config),
        holds_tools: catalog.holds_tools,
        index: OnceLock::new(),
    })
}

struct Screen<'a> {
    catalog: &'a Catalog,
    clearance: &'a Clearance,
}

impl Screen<'_> {
    fn denies(&self, capability: &Capability) -> bool {
        let ids = self.catalog.with_sets(capability);
        self.clearance.denies_all_of(&self.catalog.config().policy, &ids)
    }

    fn shown(&self, capability: &Arc<Capability>, gone: &BTreeSet<&str>) -> Arc<Capability> {
        let Some(known) = &capability.discovery else { return Arc::clone(capability) };
        let policy = &self.catalog.config().policy;
        let ids = self.catalog.with_sets(capability);
        let may_deny = self.clearance.may_deny_some_of(policy, &ids);
        let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
        if !may_deny && !is_set && capability.held.is_empty() {
            return Arc::clone(capability);
        }
        let is_shown = |tool: &&Arc<Tool>| {
            let name = tool.name();
            let subject = Subject { capabilities: &ids, tool: name, definition: Some(tool) };
            let member = || format!("{}__{name}", capability.definition.id);
            let is_held = capability.held.contains_key(name);
            let is_denied =
                || may_deny && self.clearance.rule_on(policy, &subject).effect == Effect::Deny;
            let has_gone = || is_set && gone.contains(member().as_str());
            !(is_held || is_denied() || has_gone())
        };
        let tools: Vec<_> = known.tools.iter().filter(is_shown).cloned().collect();
        if tools.len() == known.tools.len() {
            return Arc::clone(capability);
        }
        let discovery = Discovery { tools, ..Discovery::clone(known) };
        Arc::new(Capability {
            discovery: Some(Arc::new(discovery)),
            ..Capability::clone(capability)
        })
    }
}
