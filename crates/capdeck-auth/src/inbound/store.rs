//! Where a registry stores its records. The rules are on top of this and know nothing of files.

use std::fmt;

use super::{OpenRegistryError, RegistryRecords, RegistryResult};

/// Stores the records of one registry.
///
/// The registry has all records in memory, decides every question from them, and calls a store from one thread at a time. A
/// transaction takes the records of [`Self::refresh`] and of the commits since, changes a copy, and commits it. A store
/// guarantees:
///
/// - **Atomic.** A commit is stored whole or not at all, also when the process or the machine stops in the middle.
/// - **Serialised.** A commit replaces exactly the records that it names as `before`. A store that others can write, too, refuses it
///   with [`super::RegistryError::InUse`] and stores nothing when they are no longer the newest ones.
/// - **Ordered.** Commits take effect in the order of their calls, each with all commits before it.
/// - **Durable.** When [`Self::commit`] returns, the records are on disk. The registry acknowledges a change only then.
/// - **Faithful.** Records come back as they were committed. One that this version cannot read is an error, never left out: it may
///   restrict something.
///
/// The records differ in the collections that are not the same ([`super::RecordCollection::is_same`]), and there in the records with
/// another value under their id; a store may write whole collections or single records.
pub trait RegistryStore: fmt::Debug + Send {
    /// The newest records, if they are others than those of the last refresh or commit. Called when the registry is opened and
    /// before every transaction. A place that does not exist yet has no records and is not made for this.
    fn refresh(&mut self) -> Result<Option<RegistryRecords>, OpenRegistryError>;

    /// Stores the changes of a transaction.
    fn commit(&mut self, before: &RegistryRecords, after: &RegistryRecords) -> RegistryResult<()>;

    /// Stores the times of last use, which change without a transaction, if anything is stored at all. For the end of a process.
    fn save_last_used(&mut self, records: &RegistryRecords) -> RegistryResult<()>;

    /// Says where this process serves, for other processes that find the registry in use.
    fn announce(&mut self, place: String) -> RegistryResult<()>;
}
