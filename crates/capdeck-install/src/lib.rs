//! What Capdeck writes into files that are not its own: agents' configuration, skills, rules, hooks, packages.
//!
//! Every write is planned first, so that it can be shown; atomic; recorded; and can be taken back without touching what
//! others wrote. Nothing here knows a host, a connection or a protocol.

mod atomic_file;
mod edit;

pub use atomic_file::{WriteError, replace_file};
pub use edit::{Document, EditError, FileFormat, Splice, Step, SyntaxError, keys};
