//! Parts of a deck that have names: what skills need, what a sub-agent is given, what agents are not shown.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use capdeck_definition::{
    CapabilityFile, CapabilityId, CapabilityTailoring, DeckConfig, Glob, SourceLayer, ToolChoice,
    ViewConfig,
    capability_file::{SkillDeclaration, ToolDeclaration, without_at},
};

use crate::{Capability, CatalogSelection};

/// What the name of a view begins with that has the capabilities listed after it. No file can declare such a name.
const LISTED_VIEW: &str = "only:";

/// The name of the view that has these capabilities whole.
pub fn listed_view(ids: &[String]) -> String {
    format!("{LISTED_VIEW}{}", ids.join(","))
}

/// Which part of the catalog a client is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CatalogPart {
    /// All of it: the person's own command line, and capabilities that are served as they are.
    Everything,
    /// What is meant for agents.
    Offered,
    /// A view by its name. One that does not exist has nothing.
    View(Arc<str>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeckParts {
    pub skills: Vec<SkillTools>,
    pub views: BTreeMap<String, NamedView>,
    /// The capability that holds the commands of the capability file that are in no group.
    pub ungrouped: Option<CapabilityId>,
    /// Tools that are declared for a person's shell only.
    pub shelved: CatalogSelection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillTools {
    pub id: String,
    pub tools: CatalogSelection,
}

/// What one kind of client is given of the deck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedView {
    pub description: Option<String>,
    pub tools: CatalogSelection,
    /// Skills it knows by name; they give it no tool that it does not have.
    pub skills: Vec<String>,
}

impl DeckParts {
    /// The parts that a deck's options and its capability file name.
    pub(crate) fn from_files(config: &DeckConfig, file: Option<&CapabilityFile>) -> Self {
        let views = config.views.iter();
        let views = views.map(|(name, view)| (name.clone(), NamedView::from(view))).collect();
        let mut parts = Self { views, ..Self::default() };
        if let Some(file) = file {
            parts.add(file);
        }
        parts
    }

    fn add(&mut self, file: &CapabilityFile) {
        let selection = |references: &[String]| -> CatalogSelection {
            let mut chosen = CatalogSelection::default();
            references.iter().for_each(|reference| choose(file, reference, &mut chosen));
            chosen
        };
        self.ungrouped = file.ids.groups.get(&None).cloned();
        let skills = file.skills.iter();
        let tools_of = |skill: &SkillDeclaration| SkillTools {
            id: skill.id.clone(),
            tools: selection(&skill.requires),
        };
        self.skills = skills.map(tools_of).collect();
        for agent in &file.subagents {
            // A view of the config by the same name is the person's, and stays.
            self.views.entry(agent.id.clone()).or_insert_with(|| NamedView {
                description: agent.description.clone(),
                tools: selection(&agent.tools),
                skills: agent.skills.clone(),
            });
        }
        // A file whose skills require nothing shows everything it declares.
        if self.skills.iter().all(|skill| skill.tools.is_empty()) {
            return;
        }
        let mut required = CatalogSelection::default();
        self.skills.iter().for_each(|skill| required.extend(skill.tools.clone()));
        let is_required =
            |(id, tool): &(&CapabilityId, &ToolDeclaration)| required.has(&[id.as_str()], &tool.id);
        let declared = file.tools.iter().filter_map(|tool| Some((file.capability_of(tool)?, tool)));
        for (id, tool) in declared.filter(|declared| !is_required(declared)) {
            self.shelved.add_tools(&Glob::new(id.as_str()), Glob::new(tool.id.as_str()));
        }
    }

    /// True when a tool is kept from agents because no skill of the capability file requires it.
    pub fn is_shelved(&self, capability: &Capability, ids: &[&str], tool: &str) -> bool {
        Self::may_shelve(capability) && self.shelved.has(ids, tool)
    }

    /// A capability of the same id from another file is none that the capability file chose tools of, unless it is a server
    /// that a plugin brought.
    pub(crate) fn may_shelve(capability: &Capability) -> bool {
        let definition = &capability.definition;
        let is_chosen =
            |tailoring: &Arc<CapabilityTailoring>| matches!(tailoring.tools, ToolChoice::Chosen(_));
        definition.source.layer == SourceLayer::ProjectCapabilityFile
            || definition.tailoring.as_ref().is_some_and(is_chosen)
    }

    /// The view of a name: one that a file declares, or the capabilities that the name lists.
    pub fn view(&self, name: &str) -> Option<Cow<'_, NamedView>> {
        let listed = || {
            let ids = name.strip_prefix(LISTED_VIEW)?;
            let capabilities = ids.split(',').map(Glob::new).collect();
            let view = ViewConfig { capabilities, ..ViewConfig::default() };
            Some(Cow::Owned(NamedView::from(&view)))
        };
        self.views.get(name).map(Cow::Borrowed).or_else(listed)
    }

    /// True when this part may lack something.
    pub(crate) fn narrows(&self, part: &CatalogPart) -> bool {
        match part {
            CatalogPart::Everything => false,
            CatalogPart::Offered => !self.shelved.is_empty(),
            CatalogPart::View(_) => true,
        }
    }

    pub(crate) fn skills_in(&self, part: &CatalogPart) -> Vec<SkillTools> {
        match part {
            CatalogPart::Everything | CatalogPart::Offered => self.skills.clone(),
            CatalogPart::View(name) => {
                let known = self.view(name).map(|view| view.skills.clone()).unwrap_or_default();
                let is_known = |skill: &&SkillTools| known.contains(&skill.id);
                self.skills.iter().filter(is_known).cloned().collect()
            }
        }
    }
}

/// Adds what a reference of a capability file chooses: one tool, or a whole server.
fn choose(file: &CapabilityFile, reference: &str, chosen: &mut CatalogSelection) {
    if let Some((id, tool)) = file.locate(reference) {
        chosen.add_plain_name(id.as_str(), &tool);
    } else if let Some(id) = file.ids.servers.get(without_at(reference)) {
        chosen.add_capability(&Glob::new(id.as_str()));
    }
}

impl From<&ViewConfig> for NamedView {
    fn from(view: &ViewConfig) -> Self {
        let mut tools = CatalogSelection::default();
        view.capabilities.iter().for_each(|capability| tools.add_capability(capability));
        for name in &view.tools {
            // A capability alone among the tools means all of its tools, and nothing else of it.
            let (capability, tool) = name.as_str().split_once('.').unwrap_or((name.as_str(), "*"));
            tools.add_tools(&Glob::new(capability), Glob::new(tool));
        }
        Self { description: view.description.clone(), tools, skills: Vec::new() }
    }
}
