//! What a caller's role and prefixes allow, and the steps of calls that are recorded as one.

use super::CapsuleHandle;
use crate::{
    BlobContent, BlobSource, Entry, EntryMeta, EntryUri, ListRequest, Role, Scheme, StoreError,
    StorePage, StoreWrite, WriteContent, WriteOutcome,
};

impl CapsuleHandle {
    pub(crate) async fn read_unrecorded(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<Entry, StoreError> {
        self.reach(uri, version).await?;
        let read = self.store.read(uri, version).await;
        self.seen(read).await
    }

    pub(crate) async fn list_unrecorded(
        &self,
        mut request: ListRequest,
    ) -> Result<StorePage<EntryMeta>, StoreError> {
        if let Some(scheme) = &request.scheme {
            self.check_scheme(scheme).await?;
        }
        request.scope = self.access.scope.clone();
        self.store.list(&request).await
    }

    pub(crate) async fn history_unrecorded(
        &self,
        uri: &EntryUri,
    ) -> Result<Vec<EntryMeta>, StoreError> {
        self.reach(uri, None).await?;
        let history = self.store.history(uri).await;
        self.seen(history).await
    }

    pub(crate) async fn read_blob_unrecorded(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<BlobContent, StoreError> {
        self.reach(uri, version).await?;
        let blob = self.store.read_blob(uri, version).await;
        self.seen(blob).await
    }

    pub(crate) async fn schemes_unrecorded(&self) -> Result<Vec<Scheme>, StoreError> {
        let mut schemes = self.store.schemes().await?;
        schemes.retain(|scheme| self.access.scope.reaches_scheme(&scheme.name));
        Ok(schemes)
    }

    /// What a write would respond with now. Nothing is written.
    pub(crate) async fn rehearse(&self, write: StoreWrite) -> Result<WriteOutcome, StoreError> {
        self.may_write(&write).await?;
        let outcome = self.store.dry_run(write, &self.author).await;
        self.seen(outcome).await
    }

    /// Fails as the store would if the entry were not there.
    pub(super) async fn reach(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<(), StoreError> {
        if self.access.scope.reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::NotFound { uri: uri.clone(), version })
    }

    /// Fails for writes outside of what is reached, existing or not.
    pub(super) async fn reach_to_write(&self, uri: &EntryUri) -> Result<(), StoreError> {
        if self.access.scope.reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::ForbiddenScope { uri: uri.clone() })
    }

    pub(super) async fn check_scheme(&self, name: &str) -> Result<(), StoreError> {
        crate::scheme::find(&self.schemes_unrecorded().await?, name).map(|_| ())
    }

    /// An error without the names of schemes that are not reached.
    pub(super) async fn seen<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match result {
            Err(StoreError::UnknownScheme { scheme, .. }) => {
                let known = self.schemes_unrecorded().await?;
                let known = known.into_iter().map(|scheme| scheme.name).collect();
                Err(StoreError::UnknownScheme { scheme, known })
            }
            other => other,
        }
    }

    pub(super) fn require(&self, needed: Role, action: &'static str) -> Result<(), StoreError> {
        StoreError::require_role(self.access.role, needed, action)
    }

    /// Schemes are the whole capsule's, so a part of it is not enough: a name that is taken would tell of a hidden one.
    pub(super) fn require_whole_owner(&self, action: &'static str) -> Result<(), StoreError> {
        self.require(Role::Owner, action)?;
        if self.access.scope.is_all() {
            return Ok(());
        }
        Err(StoreError::invalid(
            "access",
            "schemes belong to the whole capsule, which this access does not reach",
        ))
    }

    pub(super) async fn may_write(&self, write: &StoreWrite) -> Result<(), StoreError> {
        match &write.content {
            WriteContent::Create(_) => {
                self.require(Role::Appender, "create entries")?;
                self.reach_to_write(&write.uri).await?;
            }
            WriteContent::Replace(_) => {
                self.require(Role::Writer, "replace entries")?;
                self.reach_to_write(&write.uri).await?;
            }
            WriteContent::Patch(_) => {
                self.require(Role::Writer, "patch entries")?;
                self.reach(&write.uri, None).await?;
            }
        }
        // A pointer is taken only to a blob that the caller can read already: a hash that leaked is no key.
        match &write.blob {
            Some(BlobSource::Pointer { id, .. })
                if !self.store.has_blob(id, &self.access.scope).await? =>
            {
                Err(StoreError::invalid("blob", format!("there is no blob `{id}`")))
            }
            Some(_) | None => Ok(()),
        }
    }
}
