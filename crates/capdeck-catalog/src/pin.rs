//! Pins: the definitions of tools as they were first seen or last approved.

use std::collections::{BTreeMap, BTreeSet};

use capdeck_storage::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::{
    Discovery, PinChange, RawMembers, Tool, canonical::canonical, hidden_text, pin_diff,
    schema_text::schema_text,
};

/// The members that say what a tool does and how to call it. Others may change unnoticed.
const PINNED_MEMBERS: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityPins {
    /// The fingerprint of the definition the tools were seen behind.
    pub fingerprint: String,
    /// True from the moment the definition leads somewhere else until a person approves what is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repointed: bool,
    /// The clients that lists were seen for: a server may show more to a client that can do more.
    #[serde(default)]
    pub audiences: BTreeSet<String>,
    /// By the tool's own name.
    pub tools: BTreeMap<String, Pin>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// SHA-256 of the definition in its canonical form.
    pub digest: String,
    /// True when a person approved this very definition; false when it was there first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_approved: bool,
    /// The pinned members, as the backend sent them.
    pub definition: RawMembers,
}

/// The tools of a capability that are hidden until a person approves them.
pub type HeldTools = BTreeMap<String, HoldReason>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldReason {
    /// Its definition is not the one that was pinned.
    Changed,
    /// It was not there when the capability was pinned.
    New,
    /// Its definition has text that people do not see.
    HiddenText,
}

impl HoldReason {
    /// The reason as the end of a sentence about the tool.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "its definition changed",
            Self::New => "it is new on a pinned server",
            Self::HiddenText => "its definition has hidden text",
        }
    }
}

/// SHA-256 of a tool's definition: its name, texts, schemas and annotations.
pub fn definition_digest(tool: &Tool) -> String {
    digest(tool.raw(), &PINNED_MEMBERS)
}

/// The same without the name, to find a tool again that was renamed.
pub(crate) fn nameless_digest(definition: &RawMembers) -> String {
    digest(definition, PINNED_MEMBERS.get(1..).unwrap_or_default())
}

fn digest(definition: &RawMembers, members: &[&str]) -> String {
    let mut text = String::new();
    for key in members {
        if let Some(member) = definition.get(*key) {
            text.push_str(&format!("{key}={}\n", canonical(member)));
        }
    }
    sha256_hex(&text)
}

/// Compares the pinned members, their schemas without the order of what has none.
fn says_the_same(one: &RawMembers, other: &RawMembers) -> bool {
    let text = |definition: &RawMembers, key: &str| {
        let member = definition.get(key)?;
        Some(if key.ends_with("Schema") { schema_text(member) } else { canonical(member) })
    };
    PINNED_MEMBERS.iter().all(|key| text(one, key) == text(other, key))
}

impl Pin {
    /// The pin of a tool as it is now.
    pub fn from_tool(tool: &Tool) -> Self {
        let pinned = |(key, _): &(&String, _)| PINNED_MEMBERS.contains(&key.as_str());
        Self {
            digest: definition_digest(tool),
            is_approved: false,
            definition: tool
                .raw()
                .iter()
                .filter(pinned)
                .map(|(key, member)| (key.clone(), member.clone()))
                .collect(),
        }
    }

    /// True when a tool's definition says what the pinned one says.
    pub(crate) fn fits(&self, tool: &Tool) -> bool {
        self.digest == definition_digest(tool) || says_the_same(&self.definition, tool.raw())
    }
}

impl CapabilityPins {
    /// Pins everything a backend offers at first sight.
    pub fn first_sight(fingerprint: &str, discovery: &Discovery) -> Self {
        let mut book = Self { fingerprint: fingerprint.to_owned(), ..Self::default() };
        book.pin_new(discovery);
        book
    }

    /// Pins the tools that have no pin yet, when a list is seen for a new audience.
    pub fn pin_new(&mut self, discovery: &Discovery) {
        for tool in &discovery.tools {
            self.tools.entry(tool.name().to_owned()).or_insert_with(|| Pin::from_tool(tool));
        }
    }

    /// What differs between the pins and what the backend offers now.
    pub fn changes(&self, discovery: &Discovery) -> Vec<PinChange> {
        pin_diff::compare(self, &discovery.tools)
    }

    /// Takes what is offered now as approved: one tool, or everything.
    pub fn approve(&mut self, discovery: &Discovery, only: Option<&str>) {
        if only.is_none() {
            self.is_repointed = false;
            self.tools.clear();
        }
        if let Some(name) = only {
            self.forget_renamed(discovery, name);
        }
        for tool in
            discovery.tools.iter().filter(|tool| only.is_none_or(|name| name == tool.name()))
        {
            let pin = Pin { is_approved: true, ..Pin::from_tool(tool) };
            self.tools.insert(tool.name().to_owned(), pin);
        }
    }

    /// Approving a tool that was renamed, or one that is gone, also lets go of its old name.
    fn forget_renamed(&mut self, discovery: &Discovery, name: &str) {
        let gone = self.changes(discovery).into_iter().find_map(|change| match change {
            PinChange::Renamed { from, tool, .. } if tool == name => Some(from),
            PinChange::Removed { tool } if tool == name => Some(tool),
            _ => None,
        });
        if let Some(gone) = gone {
            self.tools.remove(&gone);
        }
    }

    /// What is held while changes are blocked.
    pub fn held(&self, discovery: &Discovery) -> HeldTools {
        let reason = |tool: &Tool| {
            let Some(pin) = self.tools.get(tool.name()) else { return Some(HoldReason::New) };
            if !pin.fits(tool) {
                return Some(HoldReason::Changed);
            }
            (!pin.is_approved && !hidden_text(tool).is_empty()).then_some(HoldReason::HiddenText)
        };
        let tools = discovery.tools.iter();
        tools.filter_map(|tool| Some((tool.name().to_owned(), reason(tool)?))).collect()
    }
}

/// What is held of a capability whose tools are declared in the person's own file: only what deceives its reader.
pub fn held_for_hidden_text(book: Option<&CapabilityPins>, discovery: &Discovery) -> HeldTools {
    let is_approved = |tool: &Tool| {
        book.and_then(|book| book.tools.get(tool.name()))
            .is_some_and(|pin| pin.is_approved && pin.fits(tool))
    };
    let tools = discovery.tools.iter();
    tools
        .filter(|tool| !hidden_text(tool).is_empty() && !is_approved(tool))
        .map(|tool| (tool.name().to_owned(), HoldReason::HiddenText))
        .collect()
}
