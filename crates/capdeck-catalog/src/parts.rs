//! Parts of a deck that have names: what skills need, what a sub-agent is given, what agents are not shown.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_definition::{DeckConfig, ViewConfig};

use crate::{Pick, Selection};

/// Which part of the catalog somebody is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it: the person's own command line, and capabilities that are served as they are.
    Everything,
    /// What is meant for agents.
    Offered,
    /// A view by its name. One that does not exist has nothing.
    View(Arc<str>),
}

/// The named parts of a deck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub skills: Vec<SkillTools>,
    pub views: BTreeMap<String, NamedView>,
    /// Tools that are declared for a person's shell and for nobody else.
    pub shelved: Selection,
}

/// The tools that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillTools {
    pub id: String,
    pub tools: Selection,
}

/// What one kind of client is given of the deck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedView {
    pub description: Option<String>,
    pub tools: Selection,
    /// Skills it knows by name; they give it no tool that it does not have.
    pub skills: Vec<String>,
}

impl Parts {
    /// The parts that a deck's options name.
    pub(crate) fn of(config: &DeckConfig) -> Self {
        let views = config.views.iter();
        let views = views.map(|(name, view)| (name.clone(), NamedView::from(view))).collect();
        Self { views, ..Self::default() }
    }

    /// True when this part may lack something.
    pub(crate) fn narrows(&self, part: &Part) -> bool {
        match part {
            Part::Everything => false,
            Part::Offered => !self.shelved.is_empty(),
            Part::View(_) => true,
        }
    }

    /// The skills that are known in this part.
    pub(crate) fn skills_in(&self, part: &Part) -> Vec<SkillTools> {
        match part {
            Part::Everything | Part::Offered => self.skills.clone(),
            Part::View(name) => {
                let known = self.views.get(&**name).map(|view| view.skills.as_slice());
                let is_known = |skill: &&SkillTools| known.unwrap_or_default().contains(&skill.id);
                self.skills.iter().filter(is_known).cloned().collect()
            }
        }
    }
}

impl From<&ViewConfig> for NamedView {
    fn from(view: &ViewConfig) -> Self {
        let whole = |capability: &_| Pick { capability: Clone::clone(capability), tool: None };
        let capabilities = view.capabilities.iter().map(whole);
        // A capability alone among the tools means all of its tools, and nothing else of it.
        let tool = |name: &capdeck_definition::Glob| match name.as_str().split_once('.') {
            Some((capability, tool)) => Pick::tool(capability, tool),
            None => Pick::tool(name.as_str(), "*"),
        };
        let tools = view.tools.iter().map(tool);
        Self {
            description: view.description.clone(),
            tools: capabilities.chain(tools).collect(),
            skills: Vec::new(),
        }
    }
}
