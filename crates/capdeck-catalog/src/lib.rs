//! Everything the host knows, merged and immutable: capabilities, tools, names, search, token counts.
//!
//! Read [`Catalog`] first, then [`build`]. A catalog is built whole from parsed files, known
//! discoveries and a few facts, and never changes afterwards; collisions and shadowing are values in it.
//!
//! This crate never does I/O, is never async and knows no wire protocol.

mod capability;
mod discovery;

pub use capability::{Capability, HiddenReason, Status};
pub use discovery::{Discovery, RawObject, ServerFacts, Tool};
