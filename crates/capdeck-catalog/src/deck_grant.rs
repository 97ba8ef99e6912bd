//! What somebody was granted of a deck, as it is written down.

/// A grant of capabilities and tools by patterns. Upper and lower case differ, `*` stands for any letters, `?` for one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DeckGrant {
    /// Patterns of capability ids. A set is granted with its members; without a pattern nothing is granted.
    pub capabilities: Vec<String>,
    /// Patterns `capability/tool`; a capability alone means all of its tools. Empty grants the capabilities whole, with
    /// their resources and prompts.
    pub tools: Vec<String>,
    /// Patterns of the same form. What one grant denies no other one gives.
    pub denied_tools: Vec<String>,
    /// Names of the exposures in which the capabilities may be offered. Empty means all.
    pub modes: Vec<String>,
}
