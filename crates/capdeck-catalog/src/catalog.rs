//! Everything the host knows at one moment. Built whole, shared in an `Arc`, never changed.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, OnceLock},
};

use capdeck_definition::{BackendKind, CapabilityId, DeckConfig, Diagnostic, QuarantinedItem};

use crate::{
    Capability, CatalogPart, DeckParts, Discovery, HeldTools, ImportProblem, SearchCandidate,
    SearchCursorError, SkillTools, Tool, ToolSearchRequest, ToolSearchResult, nearest,
    search::ToolIndex,
};

/// The merged deck: capabilities with their state, tools and provenance.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(crate) version: u64,
    pub(crate) capabilities: Arc<BTreeMap<CapabilityId, Arc<Capability>>>,
    pub(crate) untrusted: Arc<[Arc<Capability>]>,
    pub(crate) quarantined: Arc<[QuarantinedItem]>,
    pub(crate) diagnostics: Arc<[Diagnostic]>,
    pub(crate) config: Arc<DeckConfig>,
    pub(crate) holds_tools: bool,
    pub(crate) parts: Arc<DeckParts>,
    /// True when this is a part of another catalog.
    pub(crate) is_narrowed: bool,
    /// Built by the first search: many processes never search.
    pub(crate) index: OnceLock<Arc<ToolIndex>>,
}

impl Catalog {
    /// Grows by one with every catalog that replaces another.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The capability in force under an id, usable or not.
    pub fn get(&self, id: &str) -> Option<&Arc<Capability>> {
        self.capabilities.get(id)
    }

    /// All capabilities in force, usable or not, sorted by id.
    pub fn capabilities(&self) -> impl ExactSizeIterator<Item = &Arc<Capability>> {
        self.capabilities.values()
    }

    /// The capabilities in force that belong to a set. Their ids begin with the set's.
    fn members_of(&self, set: &CapabilityId) -> impl Iterator<Item = &Arc<Capability>> {
        let prefix = format!("{set}__");
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let range = self.capabilities.range::<str, _>(from);
        range
            .take_while(move |(id, _)| id.as_str().starts_with(&prefix))
            .map(|(_, capability)| capability)
            .filter(|capability| capability.definition.member_of.as_ref() == Some(set))
    }

    /// Untrusted project capabilities that would replace another one and do not while untrusted.
    /// Those that replace nothing are among [`capabilities`](Self::capabilities), marked untrusted.
    pub fn untrusted(&self) -> &[Arc<Capability>] {
        &self.untrusted
    }

    /// Entries that could not be read.
    pub fn quarantined(&self) -> &[QuarantinedItem] {
        &self.quarantined
    }

    /// Problems found in the deck's files.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub fn config(&self) -> &DeckConfig {
        &self.config
    }

    /// True when every client may know everything that servers offer: no rule denies and no pin holds anything, and it
    /// is no part of another catalog.
    pub fn is_open(&self) -> bool {
        let policy = &self.config.policy;
        !self.is_narrowed
            && !self.holds_tools
            && policy.user.is_empty()
            && policy.project.is_empty()
    }

    /// True when this part of it is all of it for every client.
    pub fn is_open_to(&self, part: &CatalogPart) -> bool {
        self.is_open() && !self.parts.narrows(part)
    }

    /// The named parts of the deck: skills' tools and views.
    pub fn parts(&self) -> &DeckParts {
        &self.parts
    }

    /// The skills that may be set up here, with their tools.
    pub fn skills(&self) -> &[SkillTools] {
        &self.parts.skills
    }

    /// One tool of a capability, by the name its backend knows it by.
    pub fn tool(&self, id: &str, name: &str) -> Option<&Arc<Tool>> {
        self.get(id)?.discovery.as_ref()?.tools.iter().find(|tool| tool.name() == name)
    }

    /// The ids a rule about this capability may name: its own, then those of the sets around it.
    pub fn with_sets<'a>(&'a self, capability: &'a Capability) -> Vec<&'a str> {
        let mut definition = &capability.definition;
        let mut ids = vec![definition.id.as_str()];
        while let Some(set) = &definition.member_of {
            ids.push(set.as_str());
            match self.get(set.as_str()) {
                Some(set) if ids.len() < 64 => definition = &set.definition,
                _ => break,
            }
        }
        ids
    }

    pub fn tool_count(&self) -> usize {
        let usable = self.capabilities().filter(|capability| capability.is_usable());
        usable
            .filter_map(|capability| capability.discovery.as_ref())
            .map(|known| known.tools.len())
            .sum()
    }

    /// The id that was probably meant, among usable capabilities.
    pub fn nearest_capability(&self, id: &str) -> Option<&str> {
        let usable = self.capabilities().filter(|capability| capability.is_usable());
        nearest(id, usable.map(|capability| capability.definition.id.as_str()))
    }

    pub fn nearest_view(&self, name: &str) -> Option<&str> {
        nearest(name, self.parts.views.keys().map(String::as_str))
    }

    pub fn nearest_tool(&self, id: &str, name: &str) -> Option<&str> {
        nearest(name, self.get(id)?.discovery.as_ref()?.tools.iter().map(|tool| tool.name()))
    }

    /// Finds tools by what they do. Nothing found is an empty page.
    pub fn search(
        &self,
        request: &ToolSearchRequest<'_>,
    ) -> Result<ToolSearchResult, SearchCursorError> {
        self.index().search(request)
    }

    /// The best candidates of a search before they are put in order, with what they are compared by.
    pub fn search_candidates(&self, question: &str) -> Vec<SearchCandidate> {
        self.index().search_candidates(question)
    }

    /// True when a search need not build the index first.
    pub fn is_search_warm(&self) -> bool {
        self.index.get().is_some()
    }

    /// Builds the search index now instead of at the first search.
    pub fn warm_search(&self) {
        self.index();
    }

    /// The same catalog for clients that some backends offer something else. Shares everything else.
    #[must_use]
    pub fn with_discoveries(
        &self,
        discoveries: impl IntoIterator<Item = (CapabilityId, Arc<Discovery>, HeldTools)>,
    ) -> Self {
        let mut capabilities = BTreeMap::clone(&self.capabilities);
        for (id, discovery, held) in discoveries {
            if let Some(slot) = capabilities.get_mut(&id) {
                *slot = Arc::new(Capability {
                    discovery: Some(discovery),
                    held: Arc::new(held),
                    ..Capability::clone(slot)
                });
            }
        }
        Self {
            holds_tools: capabilities.values().any(|capability| !capability.held.is_empty()),
            capabilities: Arc::new(capabilities),
            index: OnceLock::new(),
            ..self.clone()
        }
    }

    fn index(&self) -> &ToolIndex {
        self.index.get_or_init(|| Arc::new(ToolIndex::build(self.capabilities())))
    }
}

/// What was left out of a capability's description. For a set: what was left out of its members', and the members that
/// do not load at all.
pub fn import_problems(catalog: &Catalog, capability: &Capability) -> Vec<ImportProblem> {
    let own = capability.discovery.iter().flat_map(|known| known.problems.iter().cloned());
    let mut all: Vec<ImportProblem> = own.collect();
    // Only a set has members.
    if capability.definition.backend.kind() != BackendKind::Caplets {
        return all;
    }
    let prefix = format!("{}__", capability.definition.id);
    for member in catalog.members_of(&capability.definition.id) {
        let id = member.definition.id.as_str();
        let name = id.strip_prefix(&prefix).unwrap_or(id);
        // A set inside a set tells of its own members.
        let below = import_problems(catalog, member).into_iter();
        all.extend(below.map(|problem| ImportProblem {
            place: format!("{name}: {}", problem.place),
            reason: problem.reason,
        }));
    }
    let broken = catalog.quarantined().iter().filter_map(|entry| {
        let place = entry.id.strip_prefix(&prefix)?.to_owned();
        (!place.contains("__")).then(|| ImportProblem { place, reason: entry.reason.clone() })
    });
    all.extend(broken);
    all
}
