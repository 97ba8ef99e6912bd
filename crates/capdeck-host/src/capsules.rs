//! Capsules in the deck: their tools, and their entries as resources, prompts, skills and search results. All of it asks
//! one [`CapsuleService`].

pub(crate) mod capability;
mod client_entries;
mod entries;
mod entry_search;
mod event_stream;
mod tools;

use capdeck_capsule::{CapsuleErrorCode, service::*};

pub(crate) use self::capability::call_capsules;
pub use self::{
    client_entries::{ClientEntries, unknown_cursor},
    entries::{EntryAddress, EntryCatalog, EntryNaming, EntryPage},
    entry_search::EntryHit,
    event_stream::client_changes,
    tools::{CapsuleMount, CapsuleTool, CapsuleToolContext},
};
