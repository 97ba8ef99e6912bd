//! Agents with tokens ask for access, decide about that of others, and see what changes under them.

mod changes;
mod manage;
mod own_capsules;
mod request_access;
mod sessions;
mod stage;
