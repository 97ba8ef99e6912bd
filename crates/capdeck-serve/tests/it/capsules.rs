//! Capsules over HTTP: the endpoint of one, what the token of a share opens, and entries in the deck.

mod bad_requests;
mod changes;
mod deck;
mod deck_changes;
mod endpoint;
mod filter;
mod shares;
mod stage;
mod trust;
