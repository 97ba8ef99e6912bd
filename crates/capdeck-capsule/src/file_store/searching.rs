//! Searches the capsule. The index is made when the capsule is opened, or by the first search.

use std::{fs, panic::resume_unwind, sync::Arc, thread};

use super::{engine::StoreEngine, frontmatter};
use crate::{
    EntryMeta, EntryScope, EntrySearchPage, StoreError, StoreResult, UriPrefix, page,
    scheme::BodyFormat,
    search::{EntryIndex, EntryRanking, snippet},
    service::{EntryMatch, SearchQuery},
};

/// Entries read at once while the index is made.
const READ_AHEAD: usize = 500;

impl StoreEngine {
    pub(crate) fn search(
        &self,
        request: &SearchQuery,
        scope: &EntryScope,
    ) -> StoreResult<EntrySearchPage> {
        let prefix = request.prefix.as_deref().map(UriPrefix::parse).transpose()?;
        if request.query.chars().all(|letter| !letter.is_alphanumeric()) {
            return Err(StoreError::invalid(
                "query",
                "it has no words; to see everything, list the entries",
            ));
        }
        if let Some(scheme) = &request.scheme {
            crate::scheme::find(&self.state.read().schemes, scheme)?;
        }
        let fingerprint = request.fingerprint(scope);
        let offset = match &request.cursor {
            Some(cursor) => {
                let position = page::read_cursor(&fingerprint, cursor)?;
                position.parse::<usize>().map_err(|_| StoreError::BadCursor)?
            }
            None => 0,
        };
        let end = offset.saturating_add(request.page_size());
        let visible = |meta: &EntryMeta| {
            request.matches(meta)
                && prefix.as_ref().is_none_or(|prefix| prefix.covers(&meta.uri))
                && scope.reaches(&meta.uri)
        };
        let takes_all = request.takes_all() && *scope == EntryScope::default();
        let visible = (!takes_all).then_some(visible);
        let rank = |index: &EntryIndex| index.rank(&request.query, end, visible);
        let EntryRanking { best, total } =
            self.index.query(|| self.build_index(|| false).unwrap_or_default(), rank);
        let mut hits = Vec::new();
        for (meta, score) in best.into_iter().skip(offset) {
            // Gone since it was ranked: then it is no hit.
            let Ok(entry) = self.read(&meta.uri, None) else { continue };
            let snippet = snippet(&entry.body, &request.query);
            let (info, score) = (entry.meta.into(), f64::from(score));
            // Whether it is stale is known where the project is.
            hits.push(EntryMatch { info, score, snippet, stale: false });
        }
        let next_cursor = (end < total).then(|| page::write_cursor(&fingerprint, &end.to_string()));
        Ok(EntrySearchPage { hits, total, next_cursor })
    }

    /// Makes the index beside everything else, so that the first search finds it.
    pub(crate) fn prepare_index(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        let making = move || {
            let stopped = || engine.index.is_stopped();
            engine.index.make_beside(|| engine.build_index(stopped));
        };
        match thread::Builder::new().name("capsule-index".to_owned()).spawn(making) {
            Ok(thread) => self.index.keep(thread),
            // The first search makes it then.
            Err(error) => tracing::warn!(%error, "no thread to make the index with"),
        }
    }

    /// Reads every entry; `None` when it was stopped. What is written meanwhile is put behind it.
    pub(super) fn build_index(&self, is_stopped: impl Fn() -> bool) -> Option<EntryIndex> {
        let entries: Vec<_> = self.state.read().entries.values().cloned().collect();
        let mut index = EntryIndex::default();
        let read = |part: &[Arc<EntryMeta>]| -> Vec<Option<String>> {
            part.iter().map(|meta| self.body_to_index(meta)).collect()
        };
        // The next files are read while the last ones are taken in.
        thread::scope(|scope| {
            let mut parts =
                entries.chunks(READ_AHEAD).map(|part| (part, scope.spawn(move || read(part))));
            let mut next = parts.next();
            while let Some((part, reading)) = next {
                next = if is_stopped() { None } else { parts.next() };
                let bodies = reading.join().unwrap_or_else(|panic| resume_unwind(panic));
                for (meta, body) in part.iter().zip(bodies) {
                    // One that cannot be read now is found again when it is next written.
                    if let Some(body) = body {
                        index.put(meta, &body);
                    }
                }
            }
        });
        (!is_stopped()).then_some(index)
    }

    fn body_to_index(&self, meta: &EntryMeta) -> Option<String> {
        let scheme = self.scheme(&meta.uri).ok()?;
        let path = self.files.layout.current(&meta.uri, &scheme).body;
        self.files.layout.check_file(&path).ok()?;
        let mut text = fs::read_to_string(path).ok()?;
        if scheme.format != BodyFormat::Json {
            let start = text.len() - frontmatter::body(&text).len();
            text.drain(..start);
        }
        Some(text)
    }
}
