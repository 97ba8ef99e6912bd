//! The tools of one client: a pure function of the catalog, the client's policy and a token budget.

mod direct;
mod instructions;
mod list_repair;
mod on_demand;
mod policy;
mod resolved_name;
mod tool_list;

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use capdeck_catalog::{Capability, Catalog, NameTable, estimate_tokens};
use capdeck_definition::{Backend, CapabilityId, Exposure};
use capdeck_sandbox::DeckOperation;
use serde_json::value::RawValue;

use self::direct::OriginalUris;
use crate::{
    CapabilityRelevance,
    code_mode::{CODE_MODE_TOKENS, code_mode_tool},
};

pub use direct::PromptRoute;
pub(crate) use direct::resource_uri;
pub(crate) use on_demand::{ToolBundle, bundle, bundles, chosen_capabilities, chosen_tools};
pub use policy::ViewPolicy;
pub(crate) use resolved_name::ResolvedName;
pub(crate) use tool_list::add_origin;
pub use tool_list::{META_TOOLS, direct_tokens};

/// The tools that one client sees. Immutable; a new catalog means a new view.
#[derive(Debug)]
pub struct View {
    catalog: Arc<Catalog>,
    direct: Vec<Arc<Capability>>,
    progressive: Vec<Arc<Capability>>,
    searchable: HashSet<CapabilityId>,
    on_demand: HashSet<CapabilityId>,
    /// The `setup_tools` tool, and how many names it omits.
    setup_tools: Option<(Box<RawValue>, usize)>,
    coded: HashSet<CapabilityId>,
    code_mode: Option<Box<RawValue>>,
    names: OnceLock<NameTable>,
    /// The capabilities whose resources and prompts are listed: direct ones, and the members of
    /// sets among them.
    offering: OnceLock<Vec<Arc<Capability>>>,
    originals: OnceLock<OriginalUris>,
    tools: OnceLock<Box<RawValue>>,
}

/// The target of a listed tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRoute {
    Tool { capability: String, tool: String },
    Wrapper { capability: String },
    Deck(DeckOperation),
}

impl View {
    /// Decides what is listed, what scripts reach, what is set up first and what is only
    /// searchable. The most used capabilities come first.
    pub fn build(
        catalog: Arc<Catalog>,
        policy: &ViewPolicy,
        relevance: &CapabilityRelevance,
    ) -> Self {
        let mut view = Self::empty(catalog.clone());
        let usable = || catalog.capabilities().filter(|capability| capability.is_usable());
        let mut budget = policy.budget(&catalog);
        view.offer_code_mode(usable(), policy, relevance, &mut budget);
        for capability in usable() {
            view.place(capability, policy, &mut budget);
        }
        view.offer_setup(&budget);
        view
    }

    /// The view of this capability alone, in this exposure, without a budget.
    pub fn alone(catalog: Arc<Catalog>, id: &str, exposure: Exposure) -> Self {
        let mut view = Self::empty(catalog.clone());
        let policy = ViewPolicy::offering(Some(exposure));
        let mut budget = TokenBudget { left: usize::MAX, is_strict: false };
        if let Some(capability) = catalog.get(id).filter(|capability| capability.is_usable()) {
            let relevance = CapabilityRelevance::new();
            view.offer_code_mode([capability].into_iter(), &policy, &relevance, &mut budget);
            view.place(capability, &policy, &mut budget);
        }
        view.offer_setup(&budget);
        view
    }

    fn empty(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            direct: Vec::new(),
            progressive: Vec::new(),
            searchable: HashSet::new(),
            on_demand: HashSet::new(),
            setup_tools: None,
            coded: HashSet::new(),
            code_mode: None,
            names: OnceLock::new(),
            offering: OnceLock::new(),
            originals: OnceLock::new(),
            tools: OnceLock::new(),
        }
    }

    fn offer_code_mode<'a>(
        &mut self,
        usable: impl Iterator<Item = &'a Arc<Capability>>,
        policy: &ViewPolicy,
        relevance: &CapabilityRelevance,
        budget: &mut TokenBudget,
    ) {
        let coded = usable.filter(|one| placement_of(policy.exposure_of(one)).coded);
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

    fn offer_setup(&mut self, budget: &TokenBudget) {
        if self.offers_setup() {
            let room = if budget.is_strict { budget.left } else { usize::MAX };
            self.setup_tools = on_demand::setup_tool(self, room);
        }
    }

    fn place(
        &mut self,
        capability: &Arc<Capability>,
        policy: &ViewPolicy,
        budget: &mut TokenBudget,
    ) {
        let id = &capability.definition.id;
        // A set's members are reached through the set's own tools, and found by search.
        let listed = capability.definition.member_of.is_none();
        let exposure = policy.exposure_of(capability);
        let CapabilityPlacement { direct, progressive, searched, on_demand, coded } =
            placement_of(exposure);
        let (direct, progressive) = (direct && listed, progressive && listed);
        let cost = || {
            if direct {
                tool_list::direct_tokens(capability)
            } else {
                tool_list::wrapper_tokens(capability)
            }
        };
        let explicit = policy.is_explicit(capability);
        let fits = !(direct || progressive) || budget.take(explicit, cost);
        match (fits, direct, progressive) {
            (true, true, _) => self.direct.push(capability.clone()),
            (true, _, true) => self.progressive.push(capability.clone()),
            _ => {}
        }
        // When `code_mode` exceeds the budget, its capabilities are searchable instead.
        let fits = fits && (!coded || direct || progressive || self.code_mode.is_some());
        if on_demand {
            self.on_demand.insert(id.clone());
        }
        if searched || (!fits && capability.may_be_searched()) {
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

    /// The capabilities whose resources and prompts are listed: direct ones and, in place of a set,
    /// its members.
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
            // A partial grant covers only tools.
            offered.filter(|capability| !capability.tools_only).collect()
        })
    }

    /// Capabilities that the three search tools reach.
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

    /// True when a capability is offered tool by tool, so that resources and prompts may exist.
    pub fn offers_directly(&self) -> bool {
        !self.direct.is_empty()
    }

    /// The listed tools as one JSON array, the same bytes for the same catalog and policy.
    pub fn tools(&self) -> &RawValue {
        self.tools.get_or_init(|| tool_list::render_tools(self))
    }

    /// Tokens the listed tools cost a client, as an upper bound.
    pub fn tokens(&self) -> usize {
        estimate_tokens(self.tools().get())
    }

    /// The instructions of the handshake: how to find tools, and which there are.
    pub fn instructions(&self) -> Option<String> {
        instructions::instructions(self)
    }

    /// Resolves a listed tool.
    pub fn route(&self, name: &str) -> Option<ToolRoute> {
        if name == "code_mode" && self.offers_code_mode() {
            return Some(ToolRoute::Deck(DeckOperation::RunCode));
        }
        let (searched, set_up) = (!self.searchable.is_empty(), self.offers_setup());
        match name {
            "search" if searched => return Some(ToolRoute::Deck(DeckOperation::Search)),
            "describe" if searched => return Some(ToolRoute::Deck(DeckOperation::DescribeTool)),
            "setup_tools" if set_up => return Some(ToolRoute::Deck(DeckOperation::SetUpTools)),
            "call_tool" if searched || set_up => {
                return Some(ToolRoute::Deck(DeckOperation::CallTool));
            }
            _ => {}
        }
        let owner = self.names().owner(name)?;
        let is =
            |capability: &&Arc<Capability>| capability.definition.id.as_str() == owner.capability;
        match &owner.tool {
            Some(tool) => self.direct.iter().find(is).map(|_| ToolRoute::Tool {
                capability: owner.capability.clone(),
                tool: tool.clone(),
            }),
            None => self
                .progressive
                .iter()
                .find(is)
                .map(|_| ToolRoute::Wrapper { capability: owner.capability.clone() }),
        }
    }

    /// Resolves a name that search returned: `<id>__<tool>`, or `<id>.<tool>`.
    pub fn find(&self, name: &str) -> Option<(String, String)> {
        self.find_known(name).or_else(|| self.guess(name))
    }

    fn find_known(&self, name: &str) -> Option<(String, String)> {
        // Most names are natural ones, split at their last mark; this avoids building the table.
        let natural = name.rsplit_once("__");
        let dotted = name.split_once('.');
        // A tool whose own name looks like another's listed name does not have that name.
        let natural = natural.filter(|(id, tool)| NameTable::is_natural(id, tool));
        let is_known = |(id, tool): &(&str, &str)| self.catalog.tool(id, tool).is_some();
        if let Some((id, tool)) = [natural, dotted].into_iter().flatten().find(is_known) {
            return Some((id.to_owned(), tool.to_owned()));
        }
        let owner = self.names().owner(name)?;
        Some((owner.capability.clone(), owner.tool.clone()?))
    }

    /// A tool of a backend without a known list is resolved by its capability alone.
    fn guess(&self, name: &str) -> Option<(String, String)> {
        let guesses = [name.rsplit_once("__"), name.split_once("__"), name.split_once('.')];
        let is_there = |(id, _): &(&str, &str)| self.catalog.get(id).is_some();
        let (id, tool) = guesses.into_iter().flatten().find(is_there)?;
        Some((id.to_owned(), tool.to_owned()))
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
            // Members have no wrapper of their own here: their set's tools have those names.
            let wrappers = usable()
                .filter(|capability| capability.definition.member_of.is_none())
                .map(|capability| capability.definition.id.as_str());
            NameTable::build(&META_TOOLS, wrappers, tools)
        })
    }
}

struct CapabilityPlacement {
    direct: bool,
    progressive: bool,
    searched: bool,
    on_demand: bool,
    coded: bool,
}

fn placement_of(exposure: Exposure) -> CapabilityPlacement {
    use Exposure as E;
    // Without a wildcard, a new exposure does not compile until it is handled.
    let (direct, progressive) = match exposure {
        E::Direct | E::DirectAndCodeMode => (true, false),
        E::Progressive | E::ProgressiveAndCodeMode => (false, true),
        E::CodeMode | E::CodeModeAndSearch | E::Search | E::OnDemand | E::None => (false, false),
    };
    let coded = matches!(
        exposure,
        E::CodeMode | E::DirectAndCodeMode | E::ProgressiveAndCodeMode | E::CodeModeAndSearch
    );
    let searched = matches!(exposure, E::Search | E::CodeModeAndSearch);
    CapabilityPlacement { direct, progressive, searched, on_demand: exposure == E::OnDemand, coded }
}

pub(crate) struct TokenBudget {
    left: usize,
    /// True for a budget that the person set; an explicit exposure overrides the default one.
    is_strict: bool,
}

impl TokenBudget {
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
