//! Entries of capsules in the deck's search, beside the tools.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{CapsuleCaller, CapsuleDesk, CapsuleOperation, SearchQuery, capability::CAPSULES};
use crate::Session;

/// Entries shown with one search.
const MOST_ENTRIES: usize = 5;

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
    /// Reads a hit of a capsule's own search.
    fn of(capsule: &str, hit: &Value) -> Option<Self> {
        let text = |key: &str| hit[key].as_str().map(capdeck_capsule::one_line);
        Some(Self {
            capsule: capsule.to_owned(),
            uri: text("uri")?,
            title: text("title").unwrap_or_default(),
            snippet: text("snippet").unwrap_or_default(),
            score: hit["score"].as_f64().unwrap_or_default(),
            is_stale: hit["stale"].as_bool().unwrap_or_default(),
        })
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
        if self.is_stale {
            facts["stale"] = json!(true);
        }
        facts
    }
}

impl Session {
    /// The entries that fit best. An entry that cannot be searched for now does not fail the search for tools.
    pub(crate) async fn search_entries(&self, query: &str) -> Vec<EntryHit> {
        let Some(desk) = self.host.capsules() else { return Vec::new() };
        let caller = self.capsule_caller();
        let list = CapsuleOperation::ListCapsules { with_counts: false };
        let listed = match desk.ask(caller.request(None, list)).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "capsules could not be searched");
                return Vec::new();
            }
        };
        let ids = listed["capsules"].as_array().into_iter().flatten();
        let ids: Vec<&str> = ids.filter_map(|capsule| capsule["id"].as_str()).collect();
        let found =
            join_all(ids.into_iter().map(|id| search_one(desk.as_ref(), &caller, id, query)));
        let mut hits: Vec<EntryHit> = found.await.into_iter().flatten().collect();
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        hits.truncate(MOST_ENTRIES);
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
    desk: &dyn CapsuleDesk,
    caller: &CapsuleCaller,
    capsule: &str,
    query: &str,
) -> Vec<EntryHit> {
    let (query, limit) = (query.to_owned(), MOST_ENTRIES);
    let search = CapsuleOperation::Search(SearchQuery { query, limit, ..SearchQuery::default() });
    match desk.ask(caller.request(Some(capsule), search)).await {
        Ok(page) => {
            let hits = page["hits"].as_array().into_iter().flatten();
            hits.filter_map(|hit| EntryHit::of(capsule, hit)).collect()
        }
        Err(error) => {
            tracing::warn!(capsule, %error, "a capsule could not be searched");
            Vec::new()
        }
    }
}
