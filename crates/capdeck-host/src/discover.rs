//! Asking backends what they offer, once, and feeding the answer into the next catalog.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ClientProfile, ErrorCode};
use capdeck_catalog::{Capability, Discovery};
use capdeck_definition::{Backend, CapabilityId, Definition};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    Host,
    audience::{Audience, AudienceKey},
    connections::Connections,
    discoveries::still_starting,
    patience::{answer_time, time_to_live},
    pins::News,
};

/// Longest wait for a new list after a server said that it changed.
const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

impl Host {
    /// Asks the backend what it offers, connecting if need be, and puts the answer into the catalog.
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        let wanted = Instant::now();
        let _turn = self.0.discoveries.take_turn(definition, context).await?;
        // An answer to a question asked before this caller came could miss the change it is about.
        let audience = connections.audience();
        let asked = self.0.discoveries.asked(&definition.id, audience.key());
        if asked.is_some_and(|asked| asked >= wanted)
            && let Some(known) = self.0.discoveries.known_to(definition, audience.key())
        {
            return Ok(known);
        }
        // Callers that waited together fail together; one after the other they would add up their timeouts.
        if let Some(error) = self.0.discoveries.failure_since(&definition.id, wanted) {
            return Err(error);
        }
        let lease = connections.lease(self, definition, &context.cancel).await;
        // Whoever came while the server was starting is answered by this one question, too.
        let asked = Instant::now();
        let outcome = match lease {
            Ok(lease) => {
                // A server that answers page by page gets as long as for one call, all pages together.
                let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
                tokio::time::timeout(longest, lease.discover(context))
                    .await
                    .unwrap_or_else(|_elapsed| Err(unlisted(&definition.id, longest)))
            }
            Err(error) => Err(error),
        };
        self.note_outcome(definition, outcome.as_ref().err());
        self.0.discoveries.note_outcome(&definition.id, outcome.as_ref().err());
        let discovery = Arc::new(outcome?);
        let before = self.0.discoveries.last_answer(definition, audience.key());
        let changed = self.0.discoveries.learn(definition, audience, &discovery, asked);
        let news = if changed { News::Yes(before) } else { News::No };
        self.watch_definitions(definition, audience.key(), &discovery, news);
        if changed {
            self.rebuild();
        }
        Ok(discovery)
    }

    /// True when the offer is old enough, by the definition's own measure, to be asked for again.
    pub(crate) fn discovery_is_old(
        &self,
        definition: &Definition,
        connections: &Connections,
    ) -> bool {
        let Some(longest) = time_to_live(&definition.backend) else { return false };
        let asked = self.0.discoveries.asked(&definition.id, connections.audience().key());
        asked.is_none_or(|asked| asked.elapsed() >= longest)
    }

    /// True when it is known what the capability offers to exactly these clients.
    pub(crate) fn knows_offer(&self, capability: &Capability, audience: &AudienceKey) -> bool {
        let definition = &capability.definition;
        if audience.is_bare() || !matches!(definition.backend, Backend::Mcp(_)) {
            return capability.discovery.is_some();
        }
        self.0.discoveries.known_to(definition, audience).is_some()
    }

    /// Reads a changed list again for everyone who is shown one by a shared connection.
    pub(crate) fn relist_for_everyone(&self, definition: &Arc<Definition>) {
        let mut audiences = self.0.discoveries.audiences(&definition.id);
        if self.0.eras.is_modern(definition) != Some(true) {
            // A legacy server shows others their lists on connections of their own, which say so themselves.
            audiences.retain(|audience| audience.key().is_bare());
        }
        if audiences.is_empty() {
            audiences.push(Audience::new(ClientProfile::default()));
        }
        for audience in audiences {
            relist(self.clone(), definition.clone(), Connections::shared(audience));
        }
    }

    /// Asks every capability in the list that never said what it offers to these clients, a few at a time. Returns,
    /// after the deck's discovery timeout at the latest, those without an answer and why; slow ones go on in the
    /// background, so that the next question finds their answer.
    pub(crate) async fn discover_unknown(
        &self,
        capabilities: impl Iterator<Item = Arc<Capability>>,
        connections: &Connections,
        hurry: Hurry,
    ) -> Vec<(CapabilityId, CallError)> {
        let catalog = self.catalog();
        let config = catalog.config();
        let limit = Duration::from_millis(config.exposure_discovery_timeout_ms);
        let places = Arc::new(Semaphore::new(config.exposure_discovery_concurrency as usize));
        let mut waiting = BTreeMap::new();
        let mut asking = JoinSet::new();
        let audience = connections.audience().key();
        for capability in capabilities.filter(|one| !self.knows_offer(one, audience)) {
            let definition = capability.definition.clone();
            if hurry == Hurry::AnyListWillDo && capability.discovery.is_some() {
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    relist(self.clone(), definition, connections.clone());
                }
                continue;
            }
            if let Some(error) = self.0.discoveries.recent_failure(&definition.id) {
                // Nobody waits for it a second time; when it answers, the lists change.
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    relist(self.clone(), definition.clone(), connections.clone());
                }
                waiting.insert(definition.id.clone(), error);
                continue;
            }
            waiting.insert(definition.id.clone(), still_starting(&definition.id));
            let (host, connections, places) = (self.clone(), connections.clone(), places.clone());
            asking.spawn(async move {
                let _place = places.acquire_owned().await;
                let context = CallContext::detached(limit);
                let outcome = host.discover(&definition, &connections, &context).await;
                (definition.id.clone(), outcome)
            });
        }
        let deadline = tokio::time::Instant::now() + limit;
        while let Ok(Some(answer)) = tokio::time::timeout_at(deadline, asking.join_next()).await {
            match answer {
                Ok((id, Ok(_))) => drop(waiting.remove(&id)),
                Ok((id, Err(error))) => drop(waiting.insert(id, error)),
                Err(panic) => tracing::error!(%panic, "a discovery ended by a bug"),
            }
        }
        asking.detach_all();
        for (id, error) in &waiting {
            self.0.discoveries.note_outcome(id, Some(error));
        }
        waiting.into_iter().collect()
    }
}

/// Whether somebody who waits for a list takes one that was made for clients who can do less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hurry {
    /// The right one is asked for meanwhile.
    AnyListWillDo,
    OwnListOnly,
}

fn unlisted(id: &CapabilityId, after: Duration) -> CallError {
    CallError::new(
        ErrorCode::ToolCallTimeout,
        format!("`{id}` did not list everything it offers within {} ms", after.as_millis()),
    )
    .hint("try again, or raise the timeout in its definition")
}

/// Asks again in the background; a failed attempt keeps the last good list.
pub(crate) fn relist(host: Host, definition: Arc<Definition>, connections: Connections) {
    tokio::spawn(async move {
        let longest = RELIST_TIMEOUT.min(answer_time(&definition.backend));
        let context = CallContext::detached(longest);
        if let Err(error) = host.discover(&definition, &connections, &context).await {
            tracing::warn!(capability = %definition.id, %error, "the changed list could not be read");
        }
    });
}
