//! The entries of a capsule as far as one caller reaches them: what its role and prefixes allow. Nothing here is recorded.

use std::sync::Arc;

use capdeck_storage::WallClock;

use super::unfinished;
use crate::{
    AnchorProject, AnchorReport, BlobContent, BlobSource, CapsuleAccess, CapsuleInfo, ChangeAuthor,
    Entry, EntryMeta, EntryUri, MAX_LIST_PAGE_SIZE, MemoryItem, ProvenanceFrame, Role, Scheme,
    Store, StoreError, StorePage, StoreResult, StoreWrite, WriteContent, WriteOutcome,
    blocking::blocking,
    service::{ListQuery, ReadBody, ReadResponse},
};

/// A store, and what one caller may do with it. The steps of calls that are recorded as one.
#[derive(Clone)]
pub(crate) struct ScopedStore {
    pub(super) capsule: Arc<CapsuleInfo>,
    pub(crate) store: Arc<dyn Store>,
    pub(super) access: Arc<CapsuleAccess>,
    pub(super) by: ChangeAuthor,
    pub(super) clock: WallClock,
    pub(super) project: Option<Arc<dyn AnchorProject>>,
}

impl ScopedStore {
    pub(super) fn id(&self) -> String {
        self.capsule.id.clone()
    }

    pub(crate) async fn read(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<Entry> {
        self.reach(uri, version).await?;
        let read = self.store.read(uri, version).await;
        self.seen(read).await
    }

    pub(crate) async fn list(&self, query: &ListQuery) -> StoreResult<StorePage<EntryMeta>> {
        if let Some(scheme) = &query.scheme {
            self.check_scheme(scheme).await?;
        }
        self.store.list(query, &self.access.scope).await
    }

    /// All entries, of one scheme or of every one, by address.
    pub(crate) async fn all(&self, scheme: Option<String>) -> StoreResult<Vec<EntryMeta>> {
        let mut query = ListQuery { scheme, limit: MAX_LIST_PAGE_SIZE, ..ListQuery::default() };
        let mut found = Vec::new();
        loop {
            let page = self.list(&query).await?;
            found.extend(page.items);
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => return Ok(found),
            }
        }
    }

    pub(super) async fn read_all(&self, scheme: String) -> StoreResult<Vec<Entry>> {
        let mut found = Vec::new();
        for meta in self.all(Some(scheme)).await? {
            // One that fails was deleted since it was listed.
            found.extend(self.read(&meta.uri, None).await.ok());
        }
        Ok(found)
    }

    pub(super) async fn with_bands(
        &self,
        entry: Entry,
        body: ReadBody,
    ) -> StoreResult<ReadResponse> {
        let (project, now, capsule) = (self.project.clone(), self.clock.now(), self.id());
        let render = move || {
            let anchors = AnchorReport::for_entry(&entry.meta, project.as_deref());
            let frame = ProvenanceFrame { entry: &entry, anchors: &anchors, now: Some(now) };
            let is_banded = body == ReadBody::Banded;
            ReadResponse {
                capsule,
                text: is_banded.then(|| frame.render()),
                mime_type: entry.format.mime_type().to_owned(),
                stale: anchors.is_stale(),
                anchors: anchors.anchors,
                body: is_banded.then_some(entry.body),
                info: entry.meta.into(),
            }
        };
        match &self.project {
            // Asking git takes its time.
            Some(_) => blocking(render).await.map_err(unfinished()),
            None => Ok(render()),
        }
    }

    /// The caller's own memory.
    pub(super) async fn memory(&self) -> StoreResult<Vec<MemoryItem>> {
        let memory = self.store.memory(&self.by.author.owner()).await?;
        Ok(memory.into_iter().map(|(key, value)| MemoryItem { key, value }).collect())
    }

    pub(crate) async fn history(&self, uri: &EntryUri) -> StoreResult<Vec<EntryMeta>> {
        self.reach(uri, None).await?;
        let history = self.store.history(uri).await;
        self.seen(history).await
    }

    pub(crate) async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> StoreResult<BlobContent> {
        self.reach(uri, version).await?;
        let blob = self.store.read_blob(uri, version).await;
        self.seen(blob).await
    }

    pub(crate) async fn schemes(&self) -> StoreResult<Vec<Scheme>> {
        let mut schemes = self.store.schemes().await?;
        schemes.retain(|scheme| self.access.scope.reaches_scheme(&scheme.name));
        Ok(schemes)
    }

    /// What a write would respond with now. Nothing is written.
    pub(crate) async fn dry_run(&self, write: StoreWrite) -> StoreResult<WriteOutcome> {
        self.may_write(&write).await?;
        let outcome = self.store.dry_run(write, &self.by.author).await;
        self.seen(outcome).await
    }

    /// Fails as the store would if the entry were not there.
    pub(super) async fn reach(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<()> {
        if self.access.scope.reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::NotFound { uri: uri.clone(), version })
    }

    /// Fails for writes outside of what is reached, existing or not.
    pub(super) async fn reach_to_write(&self, uri: &EntryUri) -> StoreResult<()> {
        if self.access.scope.reaches(uri) {
            return Ok(());
        }
        self.check_scheme(uri.scheme()).await?;
        Err(StoreError::ForbiddenScope { uri: uri.clone() })
    }

    pub(super) async fn check_scheme(&self, name: &str) -> StoreResult<()> {
        crate::scheme::find(&self.schemes().await?, name).map(|_| ())
    }

    /// An error without the names of schemes that are not reached.
    pub(super) async fn seen<T>(&self, result: StoreResult<T>) -> StoreResult<T> {
        match result {
            Err(StoreError::UnknownScheme { scheme, .. }) => {
                let known = self.schemes().await?;
                let known = known.into_iter().map(|scheme| scheme.name).collect();
                Err(StoreError::UnknownScheme { scheme, known })
            }
            other => other,
        }
    }

    pub(super) fn require(&self, needed: Role, action: &'static str) -> StoreResult<()> {
        StoreError::require_role(self.access.role, needed, action)
    }

    /// Schemes are the whole capsule's, so a part of it is not enough: a name that is taken would reveal a hidden one.
    pub(super) fn require_whole_owner(&self, action: &'static str) -> StoreResult<()> {
        self.require(Role::Owner, action)?;
        if self.access.scope.is_all() {
            return Ok(());
        }
        Err(StoreError::invalid(
            "access",
            "schemes belong to the whole capsule, which this access does not reach",
        ))
    }

    pub(super) async fn may_write(&self, write: &StoreWrite) -> StoreResult<()> {
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
