//! The interface for programs, over real HTTP.

mod activity;
mod capsules;
mod deck;
mod gone;
mod guide;
mod reference;
mod registry;
mod stage;
mod subjects;
mod table;
mod transfer;
