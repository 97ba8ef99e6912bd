//! Asks capabilities whose lists are not known, for a caller that wants several of them.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::Capability;
use capdeck_definition::{CapabilityId, DeckConfig};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

use super::ListCause;
use crate::{discovery_table::starting_error, session_connections::SessionConnections};

/// What the lists are for, which decides how long a caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiscoveryPurpose {
    /// Answers with what is known and waits for new capabilities only briefly. A list that was made
    /// for clients with fewer capabilities is good enough.
    Search,
    /// Needs the list made for this client.
    Listing,
}

impl DiscoveryPurpose {
    fn timeout(self, config: &DeckConfig) -> Duration {
        Duration::from_millis(match self {
            Self::Search => config.search_discovery_timeout_ms,
            Self::Listing => config.exposure_discovery_timeout_ms,
        })
    }
}

/// A list that a caller goes on without, and why.
#[derive(Debug, Clone)]
pub struct MissingList {
    pub id: CapabilityId,
    pub error: CallError,
    /// True when the capability has not failed, only not answered yet.
    pub is_starting: bool,
}

impl MissingList {
    pub(crate) fn starting(id: &CapabilityId) -> Self {
        Self { id: id.clone(), error: starting_error(id), is_starting: true }
    }

    /// `starting` or `failed`.
    pub fn status(&self) -> &'static str {
        if self.is_starting { "starting" } else { "failed" }
    }

    pub fn to_json(&self) -> Value {
        json!({
            "capability": self.id,
            "status": self.status(),
            "reason": self.error.to_string(),
        })
    }
}

impl SessionConnections {
    /// Asks every listed capability without a known list for these clients, a few at a time.
    /// Returns those without an answer after the purpose's timeout at the latest; slow ones continue
    /// in the background, and later callers do not wait for them again.
    pub(crate) async fn discover_unknown(
        &self,
        capabilities: impl Iterator<Item = Arc<Capability>>,
        purpose: DiscoveryPurpose,
    ) -> Vec<MissingList> {
        let catalog = self.host.catalog();
        let discoveries = &self.host.0.discoveries;
        let config = catalog.config();
        let limit = purpose.timeout(config);
        let answer_limit = DiscoveryPurpose::Listing.timeout(config).max(limit);
        let places = Arc::new(Semaphore::new(config.exposure_discovery_concurrency as usize));
        let now = Instant::now();
        let mut deadline = now;
        let mut missing = BTreeMap::new();
        let mut asked = Vec::new();
        let mut asking = JoinSet::new();
        for capability in capabilities.filter(|one| !self.has_discovery(one)) {
            let definition = capability.definition.clone();
            let id = definition.id.clone();
            let is_good_enough =
                purpose == DiscoveryPurpose::Search && capability.discovery.is_some();
            let failure = discoveries.recent_failure(&definition, limit);
            let own_deadline = match purpose {
                DiscoveryPurpose::Search => discoveries.first_search(&definition) + limit,
                DiscoveryPurpose::Listing => now + limit,
            };
            if is_good_enough || failure.is_some() || own_deadline <= now {
                // A caller waits for it only once; when it answers, the lists change.
                if !discoveries.is_being_asked(&id) {
                    self.relist(definition, ListCause::Checked);
                }
                if !is_good_enough {
                    let list = failure.unwrap_or_else(|| MissingList::starting(&id));
                    missing.insert(id, list);
                }
                continue;
            }
            deadline = deadline.max(own_deadline);
            missing.insert(id.clone(), MissingList::starting(&id));
            asked.push(definition.clone());
            let (connections, places) = (self.clone(), places.clone());
            asking.spawn(async move {
                let _place = places.acquire_owned().await;
                let context = CallContext::detached(answer_limit);
                (id, connections.discover(&definition, &context).await)
            });
        }
        let deadline = tokio::time::Instant::from_std(deadline);
        while let Ok(Some(answer)) = tokio::time::timeout_at(deadline, asking.join_next()).await {
            match answer {
                Ok((id, Ok(_))) => drop(missing.remove(&id)),
                Ok((id, Err(error))) => {
                    missing.insert(id.clone(), MissingList { id, error, is_starting: false });
                }
                Err(panic) => tracing::error!(%panic, "a discovery panicked"),
            }
        }
        asking.detach_all();
        // One that waits for its turn has not been asked, so it did not fail to answer.
        let is_timeout = |list: &MissingList| {
            matches!(list.error.code, ErrorCode::ServerStartTimeout | ErrorCode::ToolCallTimeout)
                && (!list.is_starting || discoveries.is_being_asked(&list.id))
        };
        for definition in asked {
            if missing.get(&definition.id).is_some_and(is_timeout) {
                discoveries.note_unanswered(&definition, limit);
            }
        }
        if purpose == DiscoveryPurpose::Listing {
            for list in missing.values() {
                discoveries.note_missing(list);
            }
        }
        missing.into_values().collect()
    }
}
