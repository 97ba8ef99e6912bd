//! A data folder of its own for each test.

use capdeck_capsule::{
    CapsuleAccess, CapsuleAuthor, CapsuleRegistry, CapsuleUpdate, EntryScope, EntryUri, Role,
    StoreOptions, StoreWrite, WriteDurability,
};
use tempfile::TempDir;

use crate::session::TestSession;

/// A data folder with one capsule, `team`.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) capsules: CapsuleRegistry,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(options()).await
    }

    pub(crate) async fn with(options: StoreOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let capsules = CapsuleRegistry::open(folder.path(), options).await.unwrap();
        let new = CapsuleUpdate { name: Some("team".to_owned()), ..CapsuleUpdate::default() };
        capsules.create(new).await.unwrap();
        Self { folder, capsules }
    }

    /// The capsule's files.
    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.capsules.root("team").unwrap()
    }

    pub(crate) async fn owner(&self) -> TestSession {
        self.handle("tester", CapsuleAccess::owner()).await
    }

    pub(crate) async fn handle(&self, client: &str, access: CapsuleAccess) -> TestSession {
        let author = CapsuleAuthor::client(client);
        TestSession(self.capsules.handle("team", author, access).await.unwrap())
    }

    /// The same folder in a new process, as far as that can be had in one.
    pub(crate) async fn restarted(self) -> Self {
        let Self { folder, capsules } = self;
        capsules.close().await;
        let capsules = CapsuleRegistry::open(folder.path(), options()).await.unwrap();
        Self { folder, capsules }
    }
}

/// Without waiting for the disk: these tests do not cut its power.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { durability: WriteDurability::Cached, ..StoreOptions::default() }
}

pub(crate) fn access(role: Role, allow: &[&str], deny: &[&str]) -> CapsuleAccess {
    CapsuleAccess {
        role,
        scope: EntryScope::parse(allow.iter().copied(), deny.iter().copied()).unwrap(),
    }
}

pub(crate) fn uri(text: &str) -> EntryUri {
    EntryUri::parse(text).unwrap()
}

/// Writes bodies to addresses.
pub(crate) async fn fill(session: &TestSession, entries: &[(&str, &str)]) {
    for (address, body) in entries {
        session.write(StoreWrite::replace(uri(address), *body)).await.unwrap();
    }
}
