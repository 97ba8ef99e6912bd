//! What Capdeck writes into files that are not its own: agents' configuration, skills, rules, hooks, packages.
//!
//! Every write is planned first, so that it can be shown; atomic; recorded; and can be taken back without touching what
//! others wrote. Nothing here knows a host, a connection or a protocol.

mod atomic_file;
mod client;
mod connect;
mod edit;
mod import;
mod secrets;

pub use atomic_file::{WriteError, replace_file};
pub use client::{Client, ClientServer, Folders, Launch, Scope, ServerFields};
pub use connect::{
    Change, ConnectError, Foreign, Plan, Presence, Records, Target, is_capdeck, plan_connect,
    plan_disconnect, plan_takeover, presence,
};
pub use edit::{Document, EditError, FileFormat, Splice, Step, SyntaxError, keys};
pub use import::{Taken, TakenSecret, take_server};
pub use secrets::looks_secret;
