//! A set as a capability of its own: one wrapper tool per member.

use std::sync::Arc;

use capdeck_catalog::Discovery;
use capdeck_definition::{CapabilityId, Deck};

use crate::operations::wrapper_tool;

pub(crate) fn discovery(set: &CapabilityId, deck: &Deck) -> Discovery {
    let members = deck
        .definitions
        .iter()
        .filter(|definition| definition.member_of.as_ref() == Some(set) && !definition.disabled);
    let tools = members
        .filter_map(|definition| wrapper_tool(member_name(set, &definition.id), definition))
        .map(Arc::new)
        .collect();
    Discovery { tools, ..Discovery::default() }
}

/// A member's id without the set's: `toolkit__osv` is `osv` inside `toolkit`.
pub(crate) fn member_name<'a>(set: &CapabilityId, member: &'a CapabilityId) -> &'a str {
    let text = member.as_str();
    text.strip_prefix(set.as_str()).and_then(|rest| rest.strip_prefix("__")).unwrap_or(text)
}
