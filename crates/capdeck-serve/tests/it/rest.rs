//! The interface for programs, over real HTTP.

mod capsules;
mod deck;
mod stage;
mod table;
mod transfer;
