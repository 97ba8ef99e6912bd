//! Resolves a tool name in one of the spellings that agents use.

use std::sync::Arc;

use capdeck_catalog::{Capability, Catalog, NameTable, nearest};
use capdeck_definition::capability_file::plain_tool_name;

use super::View;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedName {
    /// A capability and a tool. The tool need not exist when the capability's list is not known.
    Tool(String, String),
    Several(Vec<String>),
    Unknown {
        near: Option<String>,
    },
}

impl ResolvedName {
    /// Accepts the listed name, `id.tool`, `id_tool`, `@id.tool`, and the tool's own name while
    /// only one has it.
    pub(crate) fn of(view: &View, name: &str) -> Self {
        let name = name.strip_prefix('@').unwrap_or(name);
        if let Some((id, tool)) = find_known(view, name) {
            return Self::Tool(id, tool);
        }
        let all = || {
            let reached = view.catalog.capabilities().filter(|one| view.reaches(one));
            reached.flat_map(tools_of)
        };
        let whole = plain_tool_name(name);
        let by_whole: Vec<_> =
            all().filter(|(id, tool)| plain_tool_name(&qualified(id, tool)) == whole).collect();
        let found = match by_whole.is_empty() {
            true => all().filter(|(_, tool)| *tool == name).collect(),
            false => by_whole,
        };
        match found.as_slice() {
            [(id, tool)] => Self::Tool((*id).to_owned(), (*tool).to_owned()),
            [] => match guess(&view.catalog, name) {
                Some((id, tool)) => Self::Tool(id, tool),
                None => Self::Unknown { near: near_name(view, name, all) },
            },
            several => {
                let names = several.iter().map(|(id, tool)| view.spoken_name(id, tool));
                Self::Several(names.collect())
            }
        }
    }
}

fn near_name<'a, T: Iterator<Item = (&'a str, &'a str)>>(
    view: &View,
    name: &str,
    all: impl Fn() -> T,
) -> Option<String> {
    let names: Vec<String> = all().map(|(id, tool)| qualified(id, tool)).collect();
    let by_whole = nearest(name, names.iter().map(String::as_str))
        .and_then(|near| all().find(|(id, tool)| qualified(id, tool) == near));
    let by_tool = || {
        let near = nearest(name, all().map(|(_, tool)| tool))?;
        all().find(|(_, tool)| *tool == near)
    };
    by_whole.or_else(by_tool).map(|(id, tool)| view.spoken_name(id, tool))
}

pub(super) fn find_known(view: &View, name: &str) -> Option<(String, String)> {
    // Most names are natural ones, split at their last mark; this avoids building the table.
    let natural = name.rsplit_once("__");
    let dotted = name.split_once('.');
    // A tool whose own name looks like another's listed name does not have that name.
    let natural = natural.filter(|(id, tool)| NameTable::is_natural(id, tool));
    let is_known = |(id, tool): &(&str, &str)| view.catalog.tool(id, tool).is_some();
    if let Some((id, tool)) = [natural, dotted].into_iter().flatten().find(is_known) {
        return Some((id.to_owned(), tool.to_owned()));
    }
    let owner = view.names().owner(name)?;
    Some((owner.capability.clone(), owner.tool.clone()?))
}

/// A tool of a backend without a known list is resolved by its capability alone.
pub(super) fn guess(catalog: &Catalog, name: &str) -> Option<(String, String)> {
    let guesses = [name.rsplit_once("__"), name.split_once("__"), name.split_once('.')];
    let is_there = |(id, _): &(&str, &str)| catalog.get(id).is_some();
    let (id, tool) = guesses.into_iter().flatten().find(is_there)?;
    Some((id.to_owned(), tool.to_owned()))
}

impl View {
    /// The name for `call_tool`: `id.tool` where its end can be recognised in a text, else the
    /// listed name.
    pub(crate) fn spoken_name(&self, id: &str, tool: &str) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        match !tool.is_empty() && tool.chars().all(is_plain) {
            true => qualified(id, tool),
            false => self.name_of(id, tool),
        }
    }

    pub(crate) fn reaches(&self, capability: &Capability) -> bool {
        let is = |one: &Arc<Capability>| one.definition.id == capability.definition.id;
        self.is_on_demand(capability)
            || self.is_searchable(capability)
            || self.is_coded(capability)
            || self.direct.iter().any(is)
            || self.progressive.iter().any(is)
    }
}

fn qualified(id: &str, tool: &str) -> String {
    format!("{id}.{tool}")
}

fn tools_of(capability: &Arc<Capability>) -> impl Iterator<Item = (&str, &str)> {
    let known = capability.discovery.iter().flat_map(|known| &known.tools);
    known.map(|tool| (capability.definition.id.as_str(), tool.name()))
}
