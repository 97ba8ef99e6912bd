//! What a client may know: its part of the deck, as far as it was granted, but for what the policy denies it and what a
//! pin holds.
//!
//! Clients are given a catalog in which the rest does not exist. Lists, search, suggestions and calls are made from
//! it, so that a denied tool and an unknown one cannot be distinguished anywhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use capdeck_access::DeckAccess;
use capdeck_definition::{Backend, PolicyEffect};

use crate::{
    CallSubject, Capability, Catalog, CatalogPart, CatalogSelection, DeckParts, Discovery,
    ExposureModes, RuleClearance, Tool,
};

/// The catalog as clients of this clearance may know this part of it: the same one when nothing is hidden from them.
/// Clients without an access need no grants.
pub fn screen(
    catalog: &Arc<Catalog>,
    clearance: &RuleClearance,
    part: &CatalogPart,
    access: Option<&DeckAccess>,
) -> Arc<Catalog> {
    let policy = &catalog.config().policy;
    let narrows = catalog.parts.narrows(part) || access.is_some();
    if clearance.is_denied_nothing(policy) && !catalog.holds_tools && !narrows {
        return Arc::clone(catalog);
    }
    let screen = CatalogFilter::new(catalog, clearance, part, access);
    let gone: BTreeSet<&str> = catalog
        .capabilities()
        .filter(|capability| screen.denies(capability) || screen.excludes(capability))
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
        let shown = screen.restrict_capability(capability, &gone);
        changed |= !Arc::ptr_eq(&shown, capability);
        capabilities.insert(id.clone(), shown);
    }
    let is_known_id = |id: &str| {
        !clearance.denies_all_of(policy, &[id])
            && screen.chooses_some_of(&[id])
            && access.is_none_or(|access| access.has_some_of(&[id]))
    };
    let is_known = |one: &&Arc<Capability>| !screen.denies(one) && !screen.excludes(one);
    let untrusted: Vec<_> = catalog.untrusted().iter().filter(is_known).cloned().collect();
    let quarantined: Vec<_> =
        catalog.quarantined().iter().filter(|entry| is_known_id(&entry.id)).cloned().collect();
    changed |= narrows
        || untrusted.len() != catalog.untrusted().len()
        || quarantined.len() != catalog.quarantined().len();
    if !changed {
        return Arc::clone(catalog);
    }
    let mut skills = catalog.parts.skills_in(part);
    if access.is_some() {
        skills.retain(|skill| {
            let mut shown = capabilities.values();
            shown.any(|one| skill.tools.has_some_of(&catalog.with_sets(one)))
        });
    }
    Arc::new(Catalog {
        capabilities: Arc::new(capabilities),
        untrusted: untrusted.into(),
        quarantined: quarantined.into(),
        // Files concern their owner only.
        diagnostics: match access {
            Some(_) => Arc::default(),
            None => Arc::clone(&catalog.diagnostics),
        },
        parts: Arc::new(DeckParts { skills, ..DeckParts::clone(&catalog.parts) }),
        is_narrowed: narrows,
        index: OnceLock::new(),
        ..Catalog::clone(catalog)
    })
}

/// True when an access gives this tool of a capability. A set has nothing but its members, which are granted by
/// themselves, and capsules are granted one by one, not with the deck.
pub fn grants_tool(access: &DeckAccess, capability: &Capability, ids: &[&str], tool: &str) -> bool {
    let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
    match is_set || has_capsules(access, capability) {
        true => !access.denies(ids, tool),
        false => access.has(ids, tool),
    }
}

/// True when the capability is that of the host's own capsules, and the access has some.
fn has_capsules(access: &DeckAccess, capability: &Capability) -> bool {
    access.has_capsules && capability.definition.backend == Backend::Capsules
}

struct CatalogFilter<'a> {
    catalog: &'a Catalog,
    clearance: &'a RuleClearance,
    /// What a view has; `None` where everything is had.
    chosen: Option<CatalogSelection>,
    /// Tools that are left out although the rest is had.
    shelved: Option<&'a CatalogSelection>,
    /// What was granted; `None` where nothing need be.
    access: Option<&'a DeckAccess>,
}

impl<'a> CatalogFilter<'a> {
    fn new(
        catalog: &'a Catalog,
        clearance: &'a RuleClearance,
        part: &CatalogPart,
        access: Option<&'a DeckAccess>,
    ) -> Self {
        let parts = &catalog.parts;
        let chosen = match part {
            CatalogPart::Everything | CatalogPart::Offered => None,
            CatalogPart::View(name) => {
                Some(parts.view(name).map(|view| view.into_owned().tools).unwrap_or_default())
            }
        };
        let shelved = (*part == CatalogPart::Offered).then_some(&parts.shelved);
        Self { catalog, clearance, chosen, shelved, access }
    }

    fn chooses_some_of(&self, ids: &[&str]) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.has_some_of(ids))
    }

    /// True when the part or the grants have nothing of the capability. A set is there as long as one of its members is.
    fn excludes(&self, capability: &Capability) -> bool {
        let chosen = self.chosen.as_ref();
        let is_out = |has_some_of: &dyn Fn(&Capability, &[&str]) -> bool| {
            if has_some_of(capability, &self.catalog.with_sets(capability)) {
                return false;
            }
            let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
            let id = capability.definition.id.as_str();
            let is_member = |one: &Arc<Capability>| {
                let ids = self.catalog.with_sets(one);
                ids.contains(&id) && has_some_of(one, &ids)
            };
            !(is_set && self.catalog.capabilities().any(is_member))
        };
        chosen.is_some_and(|chosen| is_out(&|_, ids| chosen.has_some_of(ids)))
            || self.access.is_some_and(|access| {
                is_out(&|one, ids| has_capsules(access, one) || access.has_some_of(ids))
            })
    }

    /// True when only some tools are had of a capability, and nothing else.
    fn has_tools_only(&self, capability: &Capability, ids: &[&str]) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| !chosen.has_all_of(ids))
            || self
                .access
                .is_some_and(|access| !has_capsules(access, capability) && !access.has_all_of(ids))
    }

    fn denies(&self, capability: &Capability) -> bool {
        let ids = self.catalog.with_sets(capability);
        self.clearance.denies_all_of(&self.catalog.config().policy, &ids)
    }

    fn restrict_capability(
        &self,
        capability: &Arc<Capability>,
        gone: &BTreeSet<&str>,
    ) -> Arc<Capability> {
        let policy = &self.catalog.config().policy;
        let ids = self.catalog.with_sets(capability);
        let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
        // A set has nothing but its members, which are shown or gone by themselves.
        let tools_only = !is_set && self.has_tools_only(capability, &ids);
        let modes =
            self.access.and_then(|access| access.modes_of(&ids)).map(ExposureModes::from_names);
        let may_deny = self.clearance.may_deny_some_of(policy, &ids);
        let shelved = self.shelved.filter(|_| DeckParts::may_shelve(capability));
        let may_shelve = shelved.is_some_and(|shelved| shelved.has_some_of(&ids));
        let is_plain = !may_deny && !may_shelve && !tools_only && !is_set && self.access.is_none();
        if is_plain && capability.held.is_empty() {
            return Arc::clone(capability);
        }
        let is_granted = |name: &str| {
            self.access.is_none_or(|access| grants_tool(access, capability, &ids, name))
        };
        let is_shown = |tool: &&Arc<Tool>| {
            let name = tool.name();
            let subject = CallSubject { capabilities: &ids, tool: name, definition: Some(tool) };
            let member = || format!("{}__{name}", capability.definition.id);
            let is_held = capability.held.contains_key(name);
            let is_denied = || {
                may_deny && self.clearance.rule_on(policy, &subject).effect == PolicyEffect::Deny
            };
            let has_gone = || is_set && gone.contains(member().as_str());
            let is_chosen =
                !tools_only || self.chosen.as_ref().is_none_or(|chosen| chosen.has(&ids, name));
            let is_shelved = shelved.is_some_and(|shelved| shelved.has(&ids, name));
            is_chosen && is_granted(name) && !(is_shelved || is_held || is_denied() || has_gone())
        };
        let shown = |known: &Arc<Discovery>| {
            let tools: Vec<_> = known.tools.iter().filter(is_shown).cloned().collect();
            if tools.len() == known.tools.len() && !tools_only {
                return Arc::clone(known);
            }
            let mut rest = Discovery { tools, ..Discovery::clone(known) };
            if tools_only {
                rest.resources.clear();
                rest.resource_templates.clear();
                rest.prompts.clear();
            }
            Arc::new(rest)
        };
        let discovery = capability.discovery.as_ref().map(shown);
        let is_same = match (&discovery, &capability.discovery) {
            (Some(shown), Some(known)) => Arc::ptr_eq(shown, known),
            _ => true,
        };
        if is_same && !tools_only && modes.is_none() {
            return Arc::clone(capability);
        }
        Arc::new(Capability { discovery, tools_only, modes, ..Capability::clone(capability) })
    }
}
