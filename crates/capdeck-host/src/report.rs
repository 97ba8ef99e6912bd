//! Reports about the deck, in the shapes that the command line and the REST API share.

mod artifact_item;
mod budget;
mod capability_report;
mod inspection;
mod listing;
mod pin_items;
mod tools;

pub use self::{
    artifact_item::{artifact_created, artifact_item},
    budget::{BudgetItem, budget_items},
    capability_report::CapabilityReport,
    inspection::{capabilities_of_file, inspection, known_capability, tools_with_hidden_text},
    listing::{ItemStatus, ListItem, list_items},
    pin_items::{PinItem, pin_changes, pin_items},
    tools::{described_tool, found_tool, tool_item},
};
