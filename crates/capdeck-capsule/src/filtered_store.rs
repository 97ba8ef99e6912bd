//! A store seen through a role and prefixes. What is hidden does not exist.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    Access, Author, Blob, BlobId, BlobSource, Changes, Collected, Content, Deleted, Entry,
    EntryMeta, EntryUri, ListRequest, MemoryItem, NewSignal, Owner, Page, PollRequest, Role,
    Scheme, SchemeCount, Scope, SearchPage, SearchRequest, Signal, SignalPage, Store, StoreError,
    Write, Written,
};

/// Wraps a store. The store below does not know; the one above cannot tell what is hidden from what never was.
///
/// A write below a prefix that is not reached is refused whether or not something is there.
#[derive(Clone)]
pub struct FilteredStore {
    inner: Arc<dyn Store>,
    access: Access,
}

impl FilteredStore {
    /// The store as this access sees it.
    pub fn new(inner: Arc<dyn Store>, access: Access) -> Self {
        Self { inner, access }
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    fn scope(&self) -> &Scope {
        &self.access.scope
    }

    /// Fails as the store would if the entry were not there.
    async fn reach(&self, uri: &EntryUri, version: Option<u64>) -> Result<(), StoreError> {
        if self.scope().reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::NotFound { uri: uri.clone(), version })
    }

    async fn check_scheme(&self, name: &str) -> Result<(), StoreError> {
        crate::scheme::find(&self.schemes().await?, name).map(|_| ())
    }

    /// Fails for writes outside of what is reached, existing or not.
    async fn reach_to_write(&self, uri: &EntryUri) -> Result<(), StoreError> {
        if self.scope().reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::ForbiddenScope { uri: uri.clone() })
    }

    /// An error without the names of schemes that are not reached.
    async fn seen<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match result {
            Err(StoreError::UnknownScheme { scheme, .. }) => {
                let known = self.schemes().await?.into_iter().map(|scheme| scheme.name).collect();
                Err(StoreError::UnknownScheme { scheme, known })
            }
            other => other,
        }
    }

    /// This scope and the one of a request together.
    fn narrowed(&self, scope: &Scope) -> Option<Scope> {
        let own = self.scope();
        let deny = own.deny.iter().chain(&scope.deny).cloned().collect();
        let allow = match (own.allow.is_empty(), scope.allow.is_empty()) {
            (_, true) => own.allow.clone(),
            (true, false) => scope.allow.clone(),
            // Two lists of allowed prefixes have no list that says both; the caller has one filter inside another.
            (false, false) => return None,
        };
        Some(Scope { allow, deny })
    }

    fn narrow(&self, scope: &Scope) -> Result<Scope, StoreError> {
        let reason = "a request inside a filtered store names no prefixes of its own to allow";
        self.narrowed(scope).ok_or_else(|| StoreError::invalid("scope", reason))
    }

    fn require(&self, needed: Role, action: &'static str) -> Result<(), StoreError> {
        let role = self.access.role;
        if role < needed {
            return Err(StoreError::ForbiddenRole { role, needed, action });
        }
        Ok(())
    }

    async fn may_write(&self, write: &Write) -> Result<(), StoreError> {
        match &write.content {
            Content::Create(_) => {
                self.require(Role::Appender, "create entries")?;
                self.reach_to_write(&write.uri).await?;
            }
            Content::Replace(_) => {
                self.require(Role::Writer, "replace entries")?;
                self.reach_to_write(&write.uri).await?;
            }
            Content::Patch(_) => {
                self.require(Role::Writer, "patch entries")?;
                self.reach(&write.uri, None).await?;
            }
        }
        self.check_blob(write.blob.as_ref()).await
    }

    /// A pointer is taken only to a blob that the caller can read already: a hash that leaked is no key.
    async fn check_blob(&self, source: Option<&BlobSource>) -> Result<(), StoreError> {
        match source {
            Some(BlobSource::Pointer { id, .. })
                if !self.inner.has_blob(id, self.scope()).await? =>
            {
                Err(StoreError::invalid("blob", format!("there is no blob `{id}`")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[async_trait]
impl Store for FilteredStore {
    async fn read(&self, uri: &EntryUri, version: Option<u64>) -> Result<Entry, StoreError> {
        self.reach(uri, version).await?;
        let read = self.inner.read(uri, version).await;
        self.seen(read).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page<EntryMeta>, StoreError> {
        if let Some(scheme) = &request.scheme {
            self.check_scheme(scheme).await?;
        }
        let scope = self.narrow(&request.scope)?;
        self.inner.list(&ListRequest { scope, ..request.clone() }).await
    }

    async fn counts(&self, scope: &Scope) -> Result<Vec<SchemeCount>, StoreError> {
        let counts = self.inner.counts(&self.narrow(scope)?).await?;
        Ok(counts.into_iter().filter(|count| self.scope().reaches_scheme(&count.scheme)).collect())
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchPage, StoreError> {
        if let Some(scheme) = &request.scheme {
            self.check_scheme(scheme).await?;
        }
        let scope = self.narrow(&request.scope)?;
        self.inner.search(&SearchRequest { scope, ..request.clone() }).await
    }

    async fn write(&self, write: Write, author: &Author) -> Result<Written, StoreError> {
        self.may_write(&write).await?;
        let written = self.inner.write(write, author).await;
        self.seen(written).await
    }

    async fn rehearse(&self, write: Write, author: &Author) -> Result<Written, StoreError> {
        self.may_write(&write).await?;
        let written = self.inner.rehearse(write, author).await;
        self.seen(written).await
    }

    async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        author: &Author,
    ) -> Result<Written, StoreError> {
        self.require(Role::Writer, "restore versions")?;
        self.reach(uri, Some(version)).await?;
        let restored = self.inner.restore(uri, version, if_version, author).await;
        self.seen(restored).await
    }

    async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        author: &Author,
    ) -> Result<Deleted, StoreError> {
        self.require(Role::Owner, "delete entries")?;
        self.reach(uri, None).await?;
        let deleted = self.inner.delete(uri, if_version, author).await;
        self.seen(deleted).await
    }

    async fn deleted(&self, scope: &Scope) -> Result<Vec<Deleted>, StoreError> {
        self.require(Role::Writer, "list deleted entries")?;
        self.inner.deleted(&self.narrow(scope)?).await
    }

    async fn purge(&self, uri: &EntryUri, author: &Author) -> Result<(), StoreError> {
        self.require(Role::Owner, "purge entries")?;
        self.reach(uri, None).await?;
        let purged = self.inner.purge(uri, author).await;
        self.seen(purged).await
    }

    async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        self.reach(uri, None).await?;
        let history = self.inner.history(uri).await;
        self.seen(history).await
    }

    async fn read_blob(&self, uri: &EntryUri, version: Option<u64>) -> Result<Blob, StoreError> {
        self.reach(uri, version).await?;
        let blob = self.inner.read_blob(uri, version).await;
        self.seen(blob).await
    }

    async fn has_blob(&self, id: &BlobId, scope: &Scope) -> Result<bool, StoreError> {
        self.inner.has_blob(id, &self.narrow(scope)?).await
    }

    async fn collect_blobs(&self) -> Result<Collected, StoreError> {
        self.require(Role::Owner, "collect blobs")?;
        self.inner.collect_blobs().await
    }

    async fn schemes(&self) -> Result<Vec<Scheme>, StoreError> {
        let schemes = self.inner.schemes().await?;
        Ok(schemes.into_iter().filter(|scheme| self.scope().reaches_scheme(&scheme.name)).collect())
    }

    async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        self.require_whole_owner("add schemes")?;
        self.inner.add_scheme(scheme).await
    }

    async fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        self.require_whole_owner("remove schemes")?;
        self.inner.remove_scheme(name).await
    }

    async fn send_signal(&self, signal: NewSignal, author: &Author) -> Result<Signal, StoreError> {
        if let Some(uri) = &signal.uri {
            self.reach_to_write(uri).await?;
        }
        self.inner.send_signal(signal, author).await
    }

    async fn poll_signals(
        &self,
        request: &PollRequest,
        author: &Author,
    ) -> Result<SignalPage, StoreError> {
        let scope = self.narrow(&request.scope)?;
        self.inner.poll_signals(&PollRequest { scope, ..request.clone() }, author).await
    }

    async fn acknowledge(&self, signal: &str, author: &Author) -> Result<(), StoreError> {
        self.inner.acknowledge(signal, author).await
    }

    async fn memory_get(&self, owner: &Owner, key: &str) -> Result<String, StoreError> {
        self.inner.memory_get(owner, key).await
    }

    async fn memory_set(&self, owner: &Owner, key: &str, value: &str) -> Result<(), StoreError> {
        self.inner.memory_set(owner, key, value).await
    }

    async fn memory_delete(&self, owner: &Owner, key: &str) -> Result<(), StoreError> {
        self.inner.memory_delete(owner, key).await
    }

    async fn memory_list(&self, owner: &Owner) -> Result<Vec<MemoryItem>, StoreError> {
        self.inner.memory_list(owner).await
    }

    async fn memory_search(
        &self,
        owner: &Owner,
        query: &str,
    ) -> Result<Vec<MemoryItem>, StoreError> {
        self.inner.memory_search(owner, query).await
    }

    fn changes(&self) -> Changes {
        self.inner.changes().within(self.scope().clone())
    }
}

impl FilteredStore {
    /// Schemes are the whole capsule's, so a part of it is not enough: a name that is taken would tell of a hidden one.
    fn require_whole_owner(&self, action: &'static str) -> Result<(), StoreError> {
        self.require(Role::Owner, action)?;
        if self.scope().is_all() {
            return Ok(());
        }
        Err(StoreError::invalid(
            "access",
            "schemes belong to the whole capsule, which this access does not reach",
        ))
    }
}
