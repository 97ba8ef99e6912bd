//! What the files of a capsule say, in memory: entries listed, counted and looked up without reading a file.

use std::{cmp::Reverse, collections::BTreeMap, ops::Bound, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    BlobId, DeletedEntry, EntryMeta, EntryScope, EntryUri, Scheme, SchemeCount, StoreError,
    StorePage, StoreResult, UriPrefix, VerifyProblem, page, service::ListQuery,
};

#[derive(Debug, Default)]
pub(crate) struct StoreState {
    pub(crate) entries: BTreeMap<EntryUri, Arc<EntryMeta>>,
    /// Entries and deleted ones by their lower-case address.
    pub(super) folded: FxHashMap<String, EntryUri>,
    pub(crate) deleted: BTreeMap<EntryUri, DeletedEntry>,
    pub(crate) schemes: Vec<Scheme>,
    /// Files that were left out when the capsule was opened.
    pub(crate) problems: Vec<VerifyProblem>,
}

impl StoreState {
    pub(super) fn insert(&mut self, meta: Arc<EntryMeta>) {
        self.folded.insert(meta.uri.folded(), meta.uri.clone());
        self.deleted.remove(&meta.uri);
        self.entries.insert(meta.uri.clone(), meta);
    }

    /// Takes an entry out that is purged, or deleted: that one keeps its name, since it can come back.
    pub(super) fn remove(&mut self, uri: &EntryUri, deleted: Option<DeletedEntry>) {
        self.entries.remove(uri);
        match deleted {
            Some(deleted) => {
                self.folded.insert(uri.folded(), uri.clone());
                self.deleted.insert(uri.clone(), deleted);
            }
            None => {
                self.deleted.remove(uri);
                self.folded.remove(&uri.folded());
            }
        }
    }

    /// The last version of an entry that is there or was deleted.
    pub(super) fn last_version(&self, uri: &EntryUri) -> Option<u64> {
        let current = self.entries.get(uri).map(|meta| meta.version);
        current.or_else(|| self.deleted.get(uri).map(|deleted| deleted.version))
    }

    pub(super) fn check_twin(&self, uri: &EntryUri) -> StoreResult<()> {
        match self.folded.get(&uri.folded()) {
            Some(existing) if existing != uri => {
                Err(StoreError::CaseTwin { uri: uri.clone(), existing: existing.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn deleted(&self, scope: &EntryScope) -> Vec<DeletedEntry> {
        self.deleted.values().filter(|deleted| scope.reaches(&deleted.uri)).cloned().collect()
    }

    /// Whether a current entry within the scope has this blob.
    pub(super) fn has_blob(&self, id: &BlobId, scope: &EntryScope) -> bool {
        let has_it = |meta: &EntryMeta| meta.blob.as_ref().is_some_and(|blob| blob.sha256 == *id);
        self.entries.values().any(|meta| has_it(meta) && scope.reaches(&meta.uri))
    }

    pub(super) fn counts(&self, scope: &EntryScope) -> Vec<SchemeCount> {
        let count = |scheme: &str| {
            let entries = self.entries.keys();
            entries.filter(|uri| uri.scheme() == scheme && scope.reaches(uri)).count()
        };
        let schemes = self.schemes.iter().map(|scheme| scheme.name.clone());
        schemes.map(|scheme| SchemeCount { entries: count(&scheme), scheme }).collect()
    }

    pub(super) fn list(
        &self,
        request: &ListQuery,
        scope: &EntryScope,
    ) -> StoreResult<StorePage<EntryMeta>> {
        let prefix = request.prefix.as_deref().map(UriPrefix::parse).transpose()?;
        let fingerprint = request.fingerprint(scope);
        let position =
            request.cursor.as_deref().map(|cursor| page::read_cursor(&fingerprint, cursor));
        let position = position.transpose()?;
        if let Some(scheme) = &request.scheme {
            crate::scheme::find(&self.schemes, scheme)?;
        }
        let size = request.page_size();
        let fits = |meta: &EntryMeta| {
            request.scheme.as_ref().is_none_or(|scheme| meta.uri.scheme() == scheme)
                && prefix.as_ref().is_none_or(|prefix| prefix.covers(&meta.uri))
                && request.tag.as_ref().is_none_or(|tag| meta.tags.contains(tag))
                && request.written_after.is_none_or(|moment| meta.written_at > moment)
                && scope.reaches(&meta.uri)
        };
        let mut items: Vec<EntryMeta> = match request.latest_first {
            false => {
                let after = position.map(|position| EntryUri::parse(&position)).transpose();
                let after = after.map_err(|_| StoreError::BadCursor)?;
                let start = after.map_or(Bound::Unbounded, Bound::Excluded);
                let entries = self.entries.range((start, Bound::Unbounded)).map(|(_, meta)| meta);
                entries
                    .filter(|meta| fits(meta))
                    .take(size + 1)
                    .map(|meta| (**meta).clone())
                    .collect()
            }
            true => {
                let mut sorted: Vec<_> = self.entries.values().filter(|meta| fits(meta)).collect();
                let key = |meta: &EntryMeta| (Reverse(meta.written_at), meta.uri.clone());
                sorted.sort_by_cached_key(|meta| key(meta));
                let after = match position.as_deref().and_then(|position| position.split_once(' '))
                {
                    Some((moment, uri)) => Some((
                        Reverse(moment.parse().map_err(|_| StoreError::BadCursor)?),
                        EntryUri::parse(uri).map_err(|_| StoreError::BadCursor)?,
                    )),
                    None if position.is_some() => return Err(StoreError::BadCursor),
                    None => None,
                };
                let entries = sorted
                    .into_iter()
                    .filter(|meta| after.as_ref().is_none_or(|after| key(meta) > *after));
                entries.take(size + 1).map(|meta| (**meta).clone()).collect()
            }
        };
        let has_more = items.len() > size;
        items.truncate(size);
        let next_cursor = items.last().filter(|_| has_more).map(|last| {
            let position = match request.latest_first {
                false => last.uri.to_string(),
                true => format!("{} {}", last.written_at, last.uri),
            };
            page::write_cursor(&fingerprint, &position)
        });
        Ok(StorePage { items, next_cursor })
    }
}
