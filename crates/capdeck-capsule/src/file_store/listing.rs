//! Lists and counts entries from what is in memory.

use std::{cmp::Reverse, ops::Bound};

use super::engine::StoreEngine;
use crate::{
    EntryMeta, EntryScope, EntryUri, ListRequest, SchemeCount, StoreError, StorePage,
    page::{self, ListOrder},
};

impl StoreEngine {
    pub(crate) fn list(&self, request: &ListRequest) -> Result<StorePage<EntryMeta>, StoreError> {
        let fingerprint = request.fingerprint();
        let position =
            request.cursor.as_deref().map(|cursor| page::read_cursor(&fingerprint, cursor));
        let position = position.transpose()?;
        let state = self.state.read();
        if let Some(scheme) = &request.scheme {
            crate::scheme::find(&state.schemes, scheme)?;
        }
        let size = request.page_size();
        let fits = |meta: &EntryMeta| {
            request.scheme.as_ref().is_none_or(|scheme| meta.uri.scheme() == scheme)
                && request.prefix.as_ref().is_none_or(|prefix| prefix.covers(&meta.uri))
                && request.tag.as_ref().is_none_or(|tag| meta.tags.contains(tag))
                && request.written_after.is_none_or(|moment| meta.written_at > moment)
                && request.scope.reaches(&meta.uri)
        };
        let mut items: Vec<EntryMeta> = match request.order {
            ListOrder::ByUri => {
                let after = position.map(|position| EntryUri::parse(&position)).transpose();
                let after = after.map_err(|_| StoreError::BadCursor)?;
                let start = after.map_or(Bound::Unbounded, Bound::Excluded);
                let entries = state.entries.range((start, Bound::Unbounded)).map(|(_, meta)| meta);
                entries
                    .filter(|meta| fits(meta))
                    .take(size + 1)
                    .map(|meta| (**meta).clone())
                    .collect()
            }
            ListOrder::ByTime => {
                let mut sorted: Vec<_> = state.entries.values().filter(|meta| fits(meta)).collect();
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
            let position = match request.order {
                ListOrder::ByUri => last.uri.to_string(),
                ListOrder::ByTime => format!("{} {}", last.written_at, last.uri),
            };
            page::write_cursor(&fingerprint, &position)
        });
        Ok(StorePage { items, next_cursor })
    }

    pub(crate) fn counts(&self, scope: &EntryScope) -> Vec<SchemeCount> {
        let state = self.state.read();
        let count = |scheme: &str| {
            let entries = state.entries.keys();
            entries.filter(|uri| uri.scheme() == scheme && scope.reaches(uri)).count()
        };
        let schemes = state.schemes.iter().map(|scheme| scheme.name.clone());
        schemes.map(|scheme| SchemeCount { entries: count(&scheme), scheme }).collect()
    }
}
