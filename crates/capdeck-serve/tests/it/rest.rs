//! The interface for programs, over real HTTP.

mod activity;
mod capsules;
mod deck;
mod guide;
mod registry;
mod stage;
mod subjects;
mod table;
mod transfer;
