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
use capdeck_definition::{Backend, CapabilityId, Exposure};
use serde_json::value::RawValue;

use self::original_uris::OriginalUris;
use crate::{
    Relevance,
    code_mode::{CODE_MODE_TOKENS, code_mode_tool},
};

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
    /// Capabilities that scripts reach.
    coded: HashSet<CapabilityId>,
    /// The tool that runs scripts, if something is reached by them.
    code_mode: Option<Box<RawValue>>,
    names: OnceLock<NameTable>,
    /// What resources and prompts are listed of: directly offered capabilities and the members of sets among them.
    offering: OnceLock<Vec<Arc<Capability>>>,
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
    CodeMode,
}

impl View {
    /// Decides what is listed, what scripts reach and what is only searchable. What is used most is named first.
    pub fn build(catalog: Arc<Catalog>, policy: &ViewPolicy, relevance: &Relevance) -> Self {
        let mut view = Self::empty(catalog.clone());
        let usable = || catalog.capabilities().filter(|capability| capability.is_usable());
        let mut budget = policy.budget(&catalog);
        view.offer_code_mode(usable(), policy, relevance, &mut budget);
        for capability in usable() {
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
            let relevance = Relevance::new();
            view.offer_code_mode([capability].into_iter(), &policy, &relevance, &mut budget);
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
            coded: HashSet::new(),
            code_mode: None,
            names: OnceLock::new(),
            offering: OnceLock::new(),
            originals: OnceLock::new(),
            tools: OnceLock::new(),
        }
    }

    /// Makes the tool for scripts, as long as the budget has room for it.
    fn offer_code_mode<'a>(
        &mut self,
        usable: impl Iterator<Item = &'a Arc<Capability>>,
        policy: &ViewPolicy,
        relevance: &Relevance,
        budget: &mut Budget,
    ) {
        let coded = usable.filter(|one| placing(policy.exposure_of(one)).coded);
        let coded: Vec<Arc<Capability>> = coded.cloned().collect();
        if coded.is_empty() {
            return;
        }
        let room =
            if budget.is_strict { budget.left.min(CODE_MODE_TOKENS) } else { CODE_MODE_TOKENS };
        if let Some(tool) = code_mode_tool(&coded, relevance, room) {
            budget.left = budget.left.saturating_sub(estimate_tokens(tool.get()));
            self.code_mode = Some(tool);
            self.coded = coded.iter().map(|one| one.definition.id.clone()).collect();
        }
    }

    fn place(&mut self, capability: &Arc<Capability>, policy: &ViewPolicy, budget: &mut Budget) {
        let id = &capability.definition.id;
        // A set's members are reached through the set's own tools, and found by search.
        let listed = capability.definition.member_of.is_none();
        let exposure = policy.exposure_of(capability);
        let Placing { direct, progressive, searched, coded } = placing(exposure);
        let (direct, progressive) = (direct && listed, progressive && listed);
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
        // A tool for scripts that does not fit leaves its capabilities to the search.
        let fits = fits && (!coded || direct || progressive || self.code_mode.is_some());
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

    /// What resources and prompts are listed of: directly offered capabilities and, in the place of a set, its members.
    pub(crate) fn offering(&self) -> &[Arc<Capability>] {
        self.offering.get_or_init(|| {
            let is_set =
                |one: &Arc<Capability>| matches!(one.definition.backend, Backend::Caplets(_));
            let members = |set: &Arc<Capability>| {
                let id = set.definition.id.clone();
                let is_inside = move |one: &&Arc<Capability>| {
                    one.is_usable()
                        && !is_set(one)
                        && self.catalog.with_sets(one).iter().skip(1).any(|set| *set == id.as_str())
                };
                self.catalog.capabilities().filter(is_inside).cloned().collect::<Vec<_>>()
            };
            let offered = self.direct.iter().flat_map(|capability| match is_set(capability) {
                true => members(capability),
                false => vec![capability.clone()],
            });
            offered.collect()
        })
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

    /// True when scripts of this client reach the capability.
    pub fn is_coded(&self, capability: &Capability) -> bool {
        self.coded.contains(&capability.definition.id)
    }

    /// True when `code_mode` is listed.
    pub fn offers_code_mode(&self) -> bool {
        self.code_mode.is_some()
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
        if name == "code_mode" && self.offers_code_mode() {
            return Some(Route::CodeMode);
        }
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

/// The ways in which an exposure offers a capability.
struct Placing {
    direct: bool,
    progressive: bool,
    searched: bool,
    coded: bool,
}

fn placing(exposure: Exposure) -> Placing {
    let (direct, progressive, searched, coded) = match exposure {
        Exposure::Direct => (true, false, false, false),
        Exposure::DirectAndCodeMode => (true, false, false, true),
        Exposure::Progressive => (false, true, false, false),
        Exposure::ProgressiveAndCodeMode => (false, true, false, true),
        Exposure::CodeMode => (false, false, false, true),
        Exposure::CodeModeAndSearch => (false, false, true, true),
        Exposure::Search => (false, false, true, false),
        Exposure::None => (false, false, false, false),
    };
    Placing { direct, progressive, searched, coded }
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
