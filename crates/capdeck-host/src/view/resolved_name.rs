//! Resolves a tool name in one of the spellings that agents use.

use std::sync::Arc;

use capdeck_catalog::{Capability, nearest};
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

impl View {
    /// Accepts the listed name, `id.tool`, `id_tool`, `@id.tool`, and the tool's own name while
    /// only one has it.
    pub(crate) fn understand(&self, name: &str) -> ResolvedName {
        let name = name.strip_prefix('@').unwrap_or(name);
        if let Some((id, tool)) = self.find_known(name) {
            return ResolvedName::Tool(id, tool);
        }
        let all = || {
            let reached = self.catalog.capabilities().filter(|one| self.reaches(one));
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
            [(id, tool)] => ResolvedName::Tool((*id).to_owned(), (*tool).to_owned()),
            [] => self.guess(name).map_or_else(
                || {
                    let names: Vec<String> = all().map(|(id, tool)| qualified(id, tool)).collect();
                    let whole = || {
                        let near = nearest(name, names.iter().map(String::as_str))?;
                        all().find(|(id, tool)| qualified(id, tool) == near)
                    };
                    let bare = || {
                        let near = nearest(name, all().map(|(_, tool)| tool))?;
                        all().find(|(_, tool)| *tool == near)
                    };
                    let near = whole().or_else(bare);
                    let near = near.map(|(id, tool)| self.spoken_name(id, tool));
                    ResolvedName::Unknown { near }
                },
                |(id, tool)| ResolvedName::Tool(id, tool),
            ),
            several => {
                let names = several.iter().map(|(id, tool)| self.spoken_name(id, tool));
                ResolvedName::Several(names.collect())
            }
        }
    }

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
