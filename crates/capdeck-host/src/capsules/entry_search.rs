//! Entries of capsules in the deck's search, beside the tools.

use capdeck_capsule::one_line;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    CapsuleCaller, CapsuleService, CapsuleServiceExt as _, EntryMatch, ListCapsulesRequest,
    SearchQuery, capability::CAPSULES,
};
use crate::{DeckSnapshot, raw};

/// Entries shown with one search.
const MAX_ENTRIES: usize = 5;

/// An entry of a capsule that fits a search. Title and snippet are one line each, and the words of others.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryHit {
    /// The id of the capsule.
    pub capsule: String,
    pub uri: String,
    pub title: String,
    pub snippet: String,
    /// Comparable within one capsule only.
    pub score: f64,
    /// A file it cites is gone or was changed since.
    pub is_stale: bool,
}

impl EntryHit {
    /// A hit of a capsule's own search.
    fn of(capsule: &str, hit: EntryMatch) -> Self {
        Self {
            capsule: capsule.to_owned(),
            uri: hit.info.uri.to_string(),
            title: one_line(&hit.info.title),
            snippet: one_line(&hit.snippet),
            score: hit.score,
            is_stale: hit.stale,
        }
    }

    /// `skill` for a prompt that can be followed, else `entry`.
    pub fn kind(&self) -> &'static str {
        if self.uri.starts_with("skills://") { "skill" } else { "entry" }
    }

    /// What the tool that reads entries takes to read this one.
    pub fn arguments(&self) -> Value {
        json!({ "capsule": self.capsule, "uri": self.uri })
    }

    /// The hit as two lines for a model or a person.
    pub fn line(&self) -> String {
        let stale = if self.is_stale { " (stale)" } else { "" };
        let title = if self.title.is_empty() { "untitled" } else { &self.title };
        format!("{} in `{}`: {title}{stale}\n  {}\n", self.uri, self.capsule, self.snippet)
    }

    /// The facts of the hit, for every face of the search.
    pub fn facts(&self) -> Value {
        let mut facts = json!({
            "kind": self.kind(),
            "capsule": self.capsule,
            "uri": self.uri,
            "title": self.title,
            "snippet": self.snippet,
            "score": self.score,
        });
        raw::put_some(&mut facts, "stale", self.is_stale.then_some(true));
        facts
    }
}

impl DeckSnapshot<'_> {
    /// The entries that fit best. An entry that cannot be searched for now does not fail the search for tools.
    pub(crate) async fn search_entries(&self, query: &str) -> Vec<EntryHit> {
        let Some(service) = self.session().host.capsules() else { return Vec::new() };
        let caller = self.capsule_caller();
        let listed = service.ask(caller.request(None, ListCapsulesRequest::default())).await;
        let listed = match listed {
            Ok(listed) => listed.capsules,
            Err(error) => {
                tracing::warn!(%error, "capsules could not be searched");
                return Vec::new();
            }
        };
        let ids = listed.iter().map(|capsule| capsule.info.id.as_str());
        let found = join_all(ids.map(|id| search_one(service.as_ref(), &caller, id, query)));
        let mut hits: Vec<EntryHit> = found.await.into_iter().flatten().collect();
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        hits.truncate(MAX_ENTRIES);
        hits
    }

    /// True when a search among these capabilities covers entries, too.
    pub(crate) fn searches_entries(
        &self,
        within: Option<&str>,
        allowed: &(dyn Fn(&capdeck_catalog::Capability) -> bool + Sync),
    ) -> bool {
        let is_theirs = |one: &std::sync::Arc<capdeck_catalog::Capability>| {
            one.definition.backend == capdeck_definition::Backend::Capsules
                && one.is_usable()
                && allowed(one)
        };
        within.is_none_or(|id| id == CAPSULES)
            && self.catalog().get(CAPSULES).is_some_and(is_theirs)
    }
}

async fn search_one(
    service: &dyn CapsuleService,
    caller: &CapsuleCaller,
    capsule: &str,
    query: &str,
) -> Vec<EntryHit> {
    let (query, limit) = (query.to_owned(), MAX_ENTRIES);
    let search = SearchQuery { query, limit, ..SearchQuery::default() };
    match service.ask(caller.request(Some(capsule), search)).await {
        Ok(page) => page.hits.into_iter().map(|hit| EntryHit::of(capsule, hit)).collect(),
        Err(error) => {
            tracing::warn!(capsule, %error, "a capsule could not be searched");
            Vec::new()
        }
    }
}
