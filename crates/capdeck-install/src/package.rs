//! Packages: capabilities that somebody else wrote, copied into a deck with a record of where they came from.
//!
//! Everything is read, checked and shown before anything is written. What a package can do on this machine is computed
//! from its definition and kept in the lock, so that an update that can do more is noticed and not slipped in.

mod change;
mod contents;
mod deck;
mod diff;
mod error;
mod find;
mod foreign_lock;
mod lock;
mod risk;
mod source;

#[cfg(test)]
mod tests;

pub use change::{Obstacle, PackageAction, PackageChange, Removal};
pub use contents::{Package, PackageKind};
pub use deck::PackageDeck;
pub use error::PackageError;
pub use find::find_packages;
pub use lock::{LockedPackage, LockedSource, PackageLock};
pub use risk::{Risk, RiskChange};
pub use source::{Fetched, PackageSource};
