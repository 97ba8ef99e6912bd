//! The tools of one client: a pure function of the catalog, the client's policy and a token budget.

mod direct;
mod instructions;
mod on_demand;
mod policy;
mod resolved_name;
mod search_tools;
mod tool_list;

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use capdeck_catalog::{Capability, Catalog, NameTable, estimate_tokens};
use capdeck_definition::{Backend, CapabilityId, Exposure};
use capdeck_sandbox::DeckOperation;
use serde_json::value::RawValue;

use self::{
    direct::OriginalUris,
    policy::{TokenBudget, is_by_code},
    resolved_name::{find_known, guess},
    search_tools::MAX_NAMES_TOKENS,
    tool_list::{OutputSchemas, direct_cost},
};
use crate::{
    CapabilityRelevance,
    code_mode::{CODE_MODE_TOKENS, code_mode_tool},
};

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
    /// Direct ones whose tools are listed without output schemas, which the list has no room for.
    brief: HashSet<CapabilityId>,
    /// Capabilities that a person wants listed tool by tool and that are too large for it.
    too_large: Vec<TooLargeList>,
    /// Tokens that `search` has for names.
    names_room: usize,
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

/// A list of tools that exceeds what any list may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TooLargeList {
    pub(crate) id: CapabilityId,
    pub(crate) tools: usize,
    /// Without output schemas.
    pub(crate) tokens: usize,
}

/// The lists that a capability may be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListingForm {
    Direct,
    Wrapper,
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
        let usable = catalog.capabilities().filter(|capability| capability.is_usable());
        let usable = usable.cloned().collect::<Vec<_>>();
        let budget = policy.budget(&catalog);
        Self::of(catalog, &usable, policy, relevance, budget)
    }

    /// The view of this capability alone, in this exposure, without a budget.
    pub fn alone(catalog: Arc<Catalog>, id: &str, exposure: Exposure) -> Self {
        let capability = catalog.get(id).filter(|capability| capability.is_usable()).cloned();
        let policy = ViewPolicy::offering(Some(exposure));
        let budget = TokenBudget { left: usize::MAX, direct_left: usize::MAX, is_strict: false };
        let relevance = CapabilityRelevance::new();
        Self::of(catalog, capability.as_slice(), &policy, &relevance, budget)
    }

    fn of(
        catalog: Arc<Catalog>,
        usable: &[Arc<Capability>],
        policy: &ViewPolicy,
        relevance: &CapabilityRelevance,
        mut budget: TokenBudget,
    ) -> Self {
        let is_coded = |one: &&Arc<Capability>| is_by_code(policy.exposure_of(one));
        let coded: Vec<Arc<Capability>> = usable.iter().filter(is_coded).cloned().collect();
        let code_mode = match coded.is_empty() {
            true => None,
            false => code_mode_tool(&coded, relevance, budget.room().min(CODE_MODE_TOKENS)),
        };
        if let Some(tool) = &code_mode {
            budget.left = budget.left.saturating_sub(estimate_tokens(tool.get()));
        }
        let coded = coded.iter().filter(|_| code_mode.is_some());
        let mut view = Self {
            catalog,
            direct: Vec::new(),
            brief: HashSet::new(),
            too_large: Vec::new(),
            names_room: MAX_NAMES_TOKENS,
            progressive: Vec::new(),
            searchable: HashSet::new(),
            on_demand: HashSet::new(),
            setup_tools: None,
            coded: coded.map(|one| one.definition.id.clone()).collect(),
            code_mode,
            names: OnceLock::new(),
            offering: OnceLock::new(),
            originals: OnceLock::new(),
            tools: OnceLock::new(),
        };
        for capability in usable {
            view.place(capability, policy, &mut budget);
        }
        if view.offers_setup() {
            view.setup_tools = on_demand::setup_tool(&view, budget.room());
        }
        view.names_room = budget.room().min(MAX_NAMES_TOKENS);
        view
    }

    fn place(
        &mut self,
        capability: &Arc<Capability>,
        policy: &ViewPolicy,
        budget: &mut TokenBudget,
    ) {
        use Exposure as E;
        let id = &capability.definition.id;
        let exposure = policy.exposure_of(capability);
        let is_explicit = policy.is_explicit(capability);
        // Without a wildcard, a new exposure does not compile until it is handled.
        let listed = match exposure {
            E::Direct | E::DirectAndCodeMode => Some(ListingForm::Direct),
            E::Progressive | E::ProgressiveAndCodeMode => Some(ListingForm::Wrapper),
            E::CodeMode | E::CodeModeAndSearch | E::Search | E::OnDemand | E::None => None,
        };
        // A set's members are reached through the set's own tools, and found by search.
        let fits = match listed.filter(|_| capability.definition.member_of.is_none()) {
            Some(ListingForm::Direct) => self.place_direct(capability, is_explicit, budget),
            Some(ListingForm::Wrapper) => {
                let fits = budget.take(is_explicit, || tool_list::wrapper_tokens(capability));
                self.progressive.extend(fits.then(|| capability.clone()));
                fits
            }
            // When `code_mode` exceeds the budget, its capabilities are searchable instead.
            None => !is_by_code(exposure) || self.code_mode.is_some(),
        };
        if exposure == E::OnDemand {
            self.on_demand.insert(id.clone());
        }
        let is_searched = matches!(exposure, E::Search | E::CodeModeAndSearch);
        if is_searched || (!fits && capability.may_be_searched()) {
            self.searchable.insert(id.clone());
        }
    }

    /// Lists a capability tool by tool if there is room: whole, else without output schemas.
    fn place_direct(
        &mut self,
        capability: &Arc<Capability>,
        is_explicit: bool,
        budget: &mut TokenBudget,
    ) -> bool {
        let cost = |schemas| move || direct_cost(capability, schemas);
        let id = &capability.definition.id;
        if budget.take_direct(capability, is_explicit, cost(OutputSchemas::Listed)) {
            self.direct.push(capability.clone());
            return true;
        }
        if is_explicit && budget.take_direct(capability, is_explicit, cost(OutputSchemas::LeftOut))
        {
            self.brief.insert(id.clone());
            self.direct.push(capability.clone());
            return true;
        }
        if is_explicit && !budget.is_strict {
            let tools = capability.discovery.as_ref().map_or(0, |known| known.tools.len());
            let tokens = direct_cost(capability, OutputSchemas::LeftOut);
            self.too_large.push(TooLargeList { id: id.clone(), tools, tokens });
        }
        false
    }

    /// Capabilities that are searchable because their list of tools is too large.
    pub(crate) fn too_large(&self) -> &[TooLargeList] {
        &self.too_large
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Capabilities that are offered tool by tool. Without one there are no resources and prompts.
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

    /// The listed tools as one JSON array, the same bytes for the same catalog and policy.
    pub fn tools(&self) -> &RawValue {
        self.tools.get_or_init(|| tool_list::render_tools(self))
    }

    /// Tokens the listed tools cost a client, as an upper bound.
    pub fn tokens(&self) -> usize {
        estimate_tokens(self.tools().get())
    }

    /// Resolves a listed tool.
    pub fn route(&self, name: &str) -> Option<ToolRoute> {
        if let Some(operation) = self.deck_operation(name) {
            return Some(ToolRoute::Deck(operation));
        }
        let owner = self.names().owner(name)?;
        let capability = owner.capability.clone();
        let is = |one: &Arc<Capability>| one.definition.id.as_str() == capability;
        match owner.tool.clone() {
            Some(tool) if self.direct.iter().any(is) => Some(ToolRoute::Tool { capability, tool }),
            None if self.progressive.iter().any(is) => Some(ToolRoute::Wrapper { capability }),
            _ => None,
        }
    }

    /// The listed tool of the deck itself with this name.
    fn deck_operation(&self, name: &str) -> Option<DeckOperation> {
        let (searched, set_up) = (!self.searchable.is_empty(), self.offers_setup());
        match name {
            "code_mode" if self.offers_code_mode() => Some(DeckOperation::RunCode),
            "search" if searched => Some(DeckOperation::Search),
            "describe" if searched => Some(DeckOperation::DescribeTool),
            "setup_tools" if set_up => Some(DeckOperation::SetUpTools),
            "call_read_only" if searched => Some(DeckOperation::CallReadOnly),
            "call_tool" if searched || set_up => Some(DeckOperation::CallTool),
            _ => None,
        }
    }

    /// Resolves a name that search returned: `<id>__<tool>`, or `<id>.<tool>`.
    pub fn find(&self, name: &str) -> Option<(String, String)> {
        find_known(self, name).or_else(|| guess(&self.catalog, name))
    }

    /// The name agents use for a tool.
    pub fn name_of(&self, capability: &str, tool: &str) -> String {
        self.names()
            .tool_name(capability, tool)
            .map_or_else(|| format!("{capability}__{tool}"), str::to_owned)
    }

    fn originals(&self) -> &OriginalUris {
        self.originals.get_or_init(|| OriginalUris::from_view(self))
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
            // A capability keeps its name where the deck's tool of that name is not listed.
            let is_taken = |name: &str| name == "capdeck" || self.deck_operation(name).is_some();
            let reserved: Vec<&str> =
                META_TOOLS.into_iter().filter(|name| is_taken(name)).collect();
            NameTable::build(&reserved, wrappers, tools)
        })
    }
}
