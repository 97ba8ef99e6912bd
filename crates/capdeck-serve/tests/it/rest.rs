//! The interface for programs, over real HTTP.

mod activity;
mod capsules;
mod deck;
mod gone;
mod guide;
mod ownership;
mod provenance;
mod reference;
mod registry;
mod shares;
mod stage;
mod subjects;
mod table;
mod transfer;
