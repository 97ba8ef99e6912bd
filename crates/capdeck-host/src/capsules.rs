//! Capsules in the deck: their tools, and their entries as resources, prompts, skills and search results. All of it asks
//! one [`CapsuleService`].

pub(crate) mod capability;
mod changes;
mod deck_entries;
mod entries;
mod entry_search;
mod tools;

use capdeck_capsule::{CapsuleErrorCode, service::*};

pub use self::{
    changes::client_changes,
    entries::{EntryNaming, EntryOffer, EntryPage, EntryPlace},
    entry_search::EntryHit,
    tools::{CapsuleTool, Mount, ToolCaller},
};
