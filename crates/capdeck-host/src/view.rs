//! What one client sees: a pure function of the catalog, the client's policy and a token budget.

mod direct;
mod instructions;
mod original_uris;
mod policy;
mod standing;

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use capdeck_catalog::{Capability, Catalog, NameTable, estimate_tokens};
use capdeck_definition::{CapabilityId, Exposure};
use serde_json::value::RawValue;

use self::original_uris::OriginalUris;

pub use direct::PromptRoute;
pub(crate) use direct::resource_uri;
pub use policy::ViewPolicy;
pub use standing::{META_TOOLS, direct_tokens};

/// The surface of one client. Immutable; a new catalog means a new view.
#[derive(Debug)]
pub struct View {
    catalog: Arc<Catalog>,
    direct: Vec<Arc<Capability>>,
    progressive: Vec<Arc<Capability>>,
    /// Capabilities reached through `search`, `describe` and `call_tool`.
    searchable: HashSet<CapabilityId>,
    names: OnceLock<NameTable>,
    originals: OnceLock<OriginalUris>,
    tools: OnceLock<Box<RawValue>>,
}

/// Where a listed tool leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// One tool of a capability, under the backend's own name.
    Tool {
        capability: String,
        tool: String,
    },
    /// The wrapper of a capability.
    Wrapper {
        capability: String,
    },
    Search,
    Describe,
    CallTool,
}

impl View {
    /// Decides what is listed and what is only searchable.
    pub fn build(catalog: Arc<Catalog>, policy: &ViewPolicy) -> Self {
        let mut view = Self::empty(catalog.clone());
        let mut budget = policy.budget(&catalog);
        for capability in catalog.capabilities().filter(|capability| capability.is_usable()) {
            view.place(capability, policy, &mut budget);
        }
        view
    }

    /// What offering only this capability, in this way, would list; no budget applies.
    pub fn alone(catalog: Arc<Catalog>, id: &str, exposure: Exposure) -> Self {
        let mut view = Self::empty(catalog.clone());
        let policy = ViewPolicy { exposure: Some(exposure) };
        let mut budget = Budget { left: usize::MAX, is_strict: false };
        if let Some(capability) = catalog.get(id).filter(|capability| capability.is_usable()) {
            view.place(capability, &policy, &mut budget);
        }
        view
    }

    fn empty(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            direct: Vec::new(),
            progressive: Vec::new(),
            searchable: HashSet::new(),
            names: OnceLock::new(),
            originals: OnceLock::new(),
            tools: OnceLock::new(),
        }
    }

    fn place(&mut self, capability: &Arc<Capability>, policy: &ViewPolicy, budget: &mut Budget) {
        let id = &capability.definition.id;
        // A set's members are reached through the set's own tools, and found by search.
        let listed = capability.definition.member_of.is_none();
        let exposure = policy.exposure_of(capability);
        let (direct, progressive, searched) = match exposure {
            Exposure::Direct => (listed, false, false),
            Exposure::DirectAndCodeMode => (listed, false, true),
            Exposure::Progressive => (false, listed, false),
            Exposure::ProgressiveAndCodeMode => (false, listed, true),
            Exposure::CodeMode | Exposure::Search => (false, false, true),
            Exposure::None => return,
        };
        let cost = || {
            if direct {
                standing::direct_tokens(capability)
            } else {
                standing::wrapper_tokens(capability)
            }
        };
        let explicit = policy.is_explicit(capability);
        let fits = !(direct || progressive) || budget.take(explicit, cost);
        match (fits, direct, progressive) {
            (true, true, _) => self.direct.push(capability.clone()),
            (true, _, true) => self.progressive.push(capability.clone()),
            _ => {}
        }
        if searched || !fits {
            self.searchable.insert(id.clone());
        }
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Capabilities that are offered tool by tool.
    pub fn direct(&self) -> &[Arc<Capability>] {
        &self.direct
    }

    /// Capabilities that the three search tools lead to.
    pub fn searchable(&self) -> impl Iterator<Item = &Arc<Capability>> {
        self.catalog
            .capabilities()
            .filter(|capability| self.searchable.contains(&capability.definition.id))
    }

    pub fn is_searchable(&self, capability: &Capability) -> bool {
        self.searchable.contains(&capability.definition.id)
    }

    /// True when something is offered tool by tool, so that resources and prompts may exist.
    pub fn offers_directly(&self) -> bool {
        !self.direct.is_empty()
    }

    /// The listed tools as one JSON array, the same bytes for the same catalog and policy.
    pub fn tools(&self) -> &RawValue {
        self.tools.get_or_init(|| standing::render_tools(self))
    }

    /// Tokens the listed tools cost a client, as an upper bound.
    pub fn tokens(&self) -> usize {
        estimate_tokens(self.tools().get())
    }

    /// What a client is told at the handshake: how to find things, and what there is, in few words.
    pub fn instructions(&self) -> Option<String> {
        instructions::instructions(self)
    }

    /// Where a listed tool leads, if it is listed.
    pub fn route(&self, name: &str) -> Option<Route> {
        if !self.searchable.is_empty() {
            match name {
                "search" => return Some(Route::Search),
                "describe" => return Some(Route::Describe),
                "call_tool" => return Some(Route::CallTool),
                _ => {}
            }
        }
        let owner = self.names().owner(name)?;
        let is =
            |capability: &&Arc<Capability>| capability.definition.id.as_str() == owner.capability;
        match &owner.tool {
            Some(tool) => self
                .direct
                .iter()
                .find(is)
                .map(|_| Route::Tool { capability: owner.capability.clone(), tool: tool.clone() }),
            None => self
                .progressive
                .iter()
                .find(is)
                .map(|_| Route::Wrapper { capability: owner.capability.clone() }),
        }
    }

    /// The capability and tool behind a name that search gave out: `<id>__<tool>`, or `<id>.<tool>`.
    pub fn find(&self, name: &str) -> Option<(String, String)> {
        let owned = |(id, tool): (&str, &str)| (id.to_owned(), tool.to_owned());
        // Most names are natural ones, which are cut at their last mark; this spares building the table.
        let natural = name.rsplit_once("__");
        if let Some((id, tool)) = natural.filter(|(id, tool)| self.catalog.tool(id, tool).is_some())
        {
            return Some(owned((id, tool)));
        }
        if let Some(owner) = self.names().owner(name)
            && let Some(tool) = &owner.tool
        {
            return Some((owner.capability.clone(), tool.clone()));
        }
        // A tool of a backend that has not been asked yet is known by its capability alone.
        let split = |mark| name.split_once(mark);
        let guesses = [natural, split("__"), split(".")];
        guesses.into_iter().flatten().find(|(id, _)| self.catalog.get(id).is_some()).map(owned)
    }

    /// The name agents use for a tool.
    pub fn name_of(&self, capability: &str, tool: &str) -> String {
        self.names()
            .tool_name(capability, tool)
            .map_or_else(|| format!("{capability}__{tool}"), str::to_owned)
    }

    fn originals(&self) -> &OriginalUris {
        self.originals.get_or_init(|| OriginalUris::of(self))
    }

    fn names(&self) -> &NameTable {
        self.names.get_or_init(|| {
            let usable = || self.catalog.capabilities().filter(|one| one.is_usable());
            let tools = usable().flat_map(|capability| {
                let known = capability.discovery.iter();
                known
                    .flat_map(|known| known.tools.iter())
                    .map(|tool| (capability.definition.id.as_str(), tool.name()))
            });
            // Members have no wrapper of their own here: their set's tools carry those names.
            let wrappers = usable()
                .filter(|capability| capability.definition.member_of.is_none())
                .map(|capability| capability.definition.id.as_str());
            NameTable::build(&META_TOOLS, wrappers, tools)
        })
    }
}

/// Tokens still free for standing tools.
pub(crate) struct Budget {
    left: usize,
    /// A budget the person set binds everything; the built-in one yields to an explicit exposure.
    is_strict: bool,
}

impl Budget {
    fn take(&mut self, explicit: bool, cost: impl FnOnce() -> usize) -> bool {
        if explicit && !self.is_strict {
            return true;
        }
        let cost = cost();
        let fits = cost <= self.left;
        if fits {
            self.left -= cost;
        }
        fits
    }
}
