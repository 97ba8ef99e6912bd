//! Everything the host knows, merged and immutable: capabilities, tools, names, search, token counts.
//!
//! Read [`Catalog`] first, then [`build`]. A catalog is built whole from parsed files, known
//! discoveries and a few facts, and never changes afterwards; collisions and shadowing are values in it.
//!
//! This crate never does I/O, is never async and knows no wire protocol.

mod arguments;
mod build;
mod canonical;
mod capability;
mod catalog;
mod choice;
mod command_names;
mod compact;
mod discovery;
mod hidden_text;
mod input_shape;
mod modes;
mod names;
mod observed_shape;
mod parts;
mod pin;
mod pin_diff;
mod problems;
mod ruling;
mod screen;
mod search;
mod selection;
mod shell_word;
mod signature;
mod tokens;

pub use arguments::{
    ArgumentCheck, ArgumentError, ArgumentProblem, BadArguments, UnexpectedArgument,
    is_sound_pattern,
};
pub use build::{Facts, Trust, build};
pub use canonical::canonical;
pub use capability::{Capability, HiddenReason, Status};
pub use capdeck_definition::{nearest, sha256_hex};
pub use catalog::Catalog;
pub use choice::{choose, with_defaults};
pub use command_names::{CommandNames, CommandWords, Unfound, command_word, tool_by_word};
pub use compact::compact;
pub use discovery::{Discovery, ImportProblem, RawObject, ServerFacts, Tool};
pub use hidden_text::{HiddenText, hidden_text};
pub use modes::Modes;
pub use names::{NameTable, Owner};
pub use observed_shape::Shape;
pub use parts::{NamedView, Part, Parts, SkillTools};
pub use pin::{Held, HeldReason, Pin, PinBook, definition_digest, held_for_hidden_text};
pub use pin_diff::{DefinitionChange, MemberChange, MemberChangeKind, PinChange};
pub use problems::import_problems;
pub use ruling::{Because, CONFIRM, Clearance, Ruling, Subject};
pub use screen::{grants_tool, screen};
pub use search::{BadCursor, SearchHit, SearchPage, SearchRequest};
pub use selection::{Pick, PickedTool, Selection};
pub use shell_word::{shell_word, tool_words};
pub use signature::{argument_list, brief_signature, signature};
pub use tokens::estimate_tokens;
