//! Searches the capsule. The index is made by the first search.

use std::sync::Arc;

use super::engine::Engine;
use crate::{
    SearchHit, SearchPage, SearchRequest, StoreError, page,
    search::{Index, Ranking, snippet},
};

impl Engine {
    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchPage, StoreError> {
        if request.query.chars().all(|letter| !letter.is_alphanumeric()) {
            return Err(StoreError::invalid(
                "query",
                "it has no words; to see everything, list the entries",
            ));
        }
        if let Some(scheme) = &request.scheme {
            crate::scheme::find(&self.state.read().schemes, scheme)?;
        }
        let fingerprint = request.fingerprint();
        let offset = match &request.cursor {
            Some(cursor) => {
                let position = page::read_cursor(&fingerprint, cursor)?;
                position.parse::<usize>().map_err(|_| StoreError::BadCursor)?
            }
            None => 0,
        };
        let end = offset.saturating_add(request.page_size());
        let Ranking { best, total } = self.rank(request, end)?;
        let mut hits = Vec::new();
        for (meta, score) in best.into_iter().skip(offset) {
            // Gone since it was ranked: then it is no hit.
            let Ok(entry) = self.read(&meta.uri, None) else { continue };
            let snippet = snippet(&entry.body, &request.query);
            hits.push(SearchHit { meta: entry.meta, score, snippet, is_stale: false });
        }
        let next_cursor = (end < total).then(|| page::write_cursor(&fingerprint, &end.to_string()));
        Ok(SearchPage { hits, total, next_cursor })
    }

    fn rank(&self, request: &SearchRequest, most: usize) -> Result<Ranking, StoreError> {
        let rank = |index: &Index| index.rank(&request.query, most, |meta| request.takes(meta));
        if let Some(index) = self.index.read().as_ref() {
            return Ok(rank(index));
        }
        let mut index = self.index.write();
        match index.as_ref() {
            // Somebody else was quicker.
            Some(index) => Ok(rank(index)),
            None => Ok(rank(index.insert(self.build_index()?))),
        }
    }

    /// Reads every entry. The caller holds the index, so no write can pass unseen meanwhile.
    fn build_index(&self) -> Result<Index, StoreError> {
        let mut index = Index::default();
        let entries: Vec<_> = self.state.read().entries.values().cloned().collect();
        for meta in entries {
            let scheme = self.scheme(&meta.uri)?;
            let files = self.layout.current(&meta.uri, &scheme);
            // One that cannot be read now is found again when it is next written.
            if let Ok(Some((entry, _))) = self.read_pair(&meta.uri, &files, scheme.format) {
                index.put(&Arc::new(entry.meta), &entry.body);
            }
        }
        Ok(index)
    }
}
