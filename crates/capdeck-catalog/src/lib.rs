//! Everything the host knows, merged and immutable: capabilities, tools, names, search, token counts.
//!
//! The main types are [`Catalog`], [`Capability`] (one definition with its status) and [`Tool`]. Start with [`build`]: it
//! makes a whole catalog from parsed files, known discoveries and a few facts. A catalog never changes afterwards;
//! collisions and shadowing are values in it.
//!
//! This crate never does I/O, is never async and knows no wire protocol.

mod arguments;
mod brief_signature;
mod build;
mod canonical;
mod capability;
mod catalog;
mod catalog_filter;
mod catalog_selection;
mod choice;
mod command_names;
mod compact;
mod deck_parts;
mod discovery;
mod hidden_text;
mod input_shape;
mod names;
mod observed_shape;
mod pin;
mod pin_diff;
mod policy_decision;
mod schema_text;
mod search;
mod shell_word;
mod signature;
mod tokens;

pub use arguments::{
    ArgumentCheck, ArgumentError, ArgumentProblem, InvalidArguments, UnexpectedArgument,
    is_sound_pattern,
};
pub use brief_signature::{brief_signature, brief_signatures};
pub use build::{BuildInputs, ProjectTrust, build};
pub use canonical::canonical;
pub use capability::{Capability, CapabilityStatus, ExposureModes, HiddenReason};
pub use capdeck_definition::{nearest, one_line};
pub use catalog::{Catalog, import_problems};
pub use catalog_filter::{grants_tool, screen};
pub use catalog_selection::CatalogSelection;
pub use choice::{choose, with_defaults};
pub use command_names::{CommandNames, CommandWords, NameLookupError, command_word, tool_by_word};
pub use compact::compact;
pub use deck_parts::{CatalogPart, DeckParts, NamedView, SkillTools, listed_view};
pub use discovery::{Discovery, ImportProblem, RawMembers, ServerDetails, Tool};
pub use hidden_text::{HiddenText, hidden_text};
pub use names::{NameOwner, NameTable};
pub use observed_shape::ObservedShape;
pub use pin::{
    CapabilityPins, HeldTools, HoldReason, Pin, definition_digest, held_for_hidden_text,
};
pub use pin_diff::{DefinitionChange, MemberChange, MemberChangeKind, PinChange};
pub use policy_decision::{CONFIRM, CallSubject, DecisionReason, PolicyDecision, RuleClearance};
pub use search::{
    SearchCandidate, SearchCursorError, ToolSearchMatch, ToolSearchRequest, ToolSearchResult,
    search_features,
};
pub use shell_word::{is_unprintable, shell_word, tool_words};
pub use signature::{argument_list, signature};
pub use tokens::{estimate_tokens, estimate_tokens_up_to};
