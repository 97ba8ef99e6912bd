//! Searches the capsule. The index is made by the first search.

use std::{fs, panic::resume_unwind, sync::Arc, thread};

use super::{engine::Engine, frontmatter};
use crate::{
    EntryMeta, SearchHit, SearchPage, SearchRequest, StoreError, page,
    scheme::Format,
    search::{Index, Ranking, snippet},
};

/// Entries read at once while the index is made.
const READ_AHEAD: usize = 500;

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
        let Ranking { best, total } = self.rank(request, end);
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

    fn rank(&self, request: &SearchRequest, most: usize) -> Ranking {
        let rank = |index: &Index| index.rank(&request.query, most, |meta| request.takes(meta));
        if let Some(index) = self.index.read().as_ref() {
            return rank(index);
        }
        let mut index = self.index.write();
        match index.as_ref() {
            // Somebody else was quicker.
            Some(index) => rank(index),
            None => rank(index.insert(self.build_index())),
        }
    }

    /// Reads every entry. The caller holds the index, so no write can pass unseen meanwhile.
    fn build_index(&self) -> Index {
        let entries: Vec<_> = self.state.read().entries.values().cloned().collect();
        let mut index = Index::default();
        let read = |part: &[Arc<EntryMeta>]| -> Vec<Option<String>> {
            part.iter().map(|meta| self.body_to_index(meta)).collect()
        };
        // The next files are read while the last ones are taken in.
        thread::scope(|scope| {
            let mut parts =
                entries.chunks(READ_AHEAD).map(|part| (part, scope.spawn(move || read(part))));
            let mut next = parts.next();
            while let Some((part, reading)) = next {
                next = parts.next();
                let bodies = reading.join().unwrap_or_else(|panic| resume_unwind(panic));
                for (meta, body) in part.iter().zip(bodies) {
                    // One that cannot be read now is found again when it is next written.
                    if let Some(body) = body {
                        index.put(meta, &body);
                    }
                }
            }
        });
        index
    }

    fn body_to_index(&self, meta: &EntryMeta) -> Option<String> {
        let scheme = self.scheme(&meta.uri).ok()?;
        let path = self.layout.current(&meta.uri, &scheme).body;
        self.check_way(&path).ok()?;
        let mut text = fs::read_to_string(path).ok()?;
        if scheme.format != Format::Json {
            let start = text.len() - frontmatter::body(&text).len();
            text.drain(..start);
        }
        Some(text)
    }
}
