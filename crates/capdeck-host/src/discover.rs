//! Asks backends for their lists and updates the catalog. Lists are cached on disk, so a start
//! needs no connection; `docs/design/047-when-lists-are-read-again.md` describes when they are read
//! again.

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
    Host, HostEvent,
    audience::{AudienceKey, ClientAudience},
    backend_times::{answer_time, max_list_age, time_to_live},
    discovery_table::starting_error,
    pins::DiscoveryChange,
    pool::ConnectionLease,
    session_connections::SessionConnections,
};

const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long closing a host waits for lists that are being read. Without it a host that lives for
/// one call, as that of a command does, would never learn of a change.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListCause {
    Announced,
    Checked,
}

impl Host {
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        connections: &SessionConnections,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        let question = DiscoveryRequest::awaited(Instant::now());
        self.discover_list(definition, connections, context, question).await
    }

    /// Makes sure that the list in the catalog came from this connection and is not too old.
    pub(crate) async fn require_current_list(
        &self,
        definition: &Arc<Definition>,
        connections: &SessionConnections,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let Some(max_age) = max_list_age(&definition.backend) else { return Ok(()) };
        let lease = connections.lease(self, definition, &context.cancel).await;
        let lease = lease.inspect_err(|error| self.note_outcome(definition, Some(error)))?;
        let asked = self.0.discoveries.asked(&definition.id, connections.audience().key());
        let since = match asked {
            Some(asked) if asked >= lease.opened() && asked.elapsed() < max_age => return Ok(()),
            Some(asked) if asked >= lease.opened() => Instant::now(),
            _ => lease.opened(),
        };
        let question = DiscoveryRequest::awaited(since);
        let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
        let timeout = Some(longest.min(RELIST_TIMEOUT));
        let context = CallContext { timeout, ..context.clone() };
        self.discover_list(definition, connections, &context, question).await.map(drop)
    }

    /// Reads the list again in the background if this connection gave none, or not for long. Cheap
    /// otherwise.
    pub(crate) fn check_list_when_due(
        &self,
        definition: &Arc<Definition>,
        connections: &SessionConnections,
        lease: &ConnectionLease,
    ) {
        let Some(max_age) = max_list_age(&definition.backend) else { return };
        let audience = connections.audience().key();
        let opened = lease.opened();
        let due = self.0.discoveries.claim_check(&definition.id, audience, opened, max_age);
        if let Some(since) = due {
            let question = DiscoveryRequest { is_aside: true, ..DiscoveryRequest::awaited(since) };
            self.discover_in_background(definition.clone(), connections.clone(), question);
        }
    }

    pub(crate) async fn finish_list_checks(&self) {
        self.0.list_checks.close();
        drop(tokio::time::timeout(CHECK_TIMEOUT, self.0.list_checks.wait()).await);
    }

    async fn discover_list(
        &self,
        definition: &Arc<Definition>,
        connections: &SessionConnections,
        context: &CallContext,
        question: DiscoveryRequest,
    ) -> Result<Arc<Discovery>, CallError> {
        let wanted = Instant::now();
        let _turn = self.0.discoveries.take_turn(definition, context).await?;
        // An answer to an earlier question could miss the change that this caller is about.
        let audience = connections.audience();
        let asked = self.0.discoveries.asked(&definition.id, audience.key());
        if asked.is_some_and(|asked| asked >= question.since)
            && let Some(known) = self.0.discoveries.known_to(definition, audience.key())
        {
            return Ok(known);
        }
        // Callers that waited together fail together; one after the other they would add up their
        // timeouts.
        if let Some(error) = self.0.discoveries.failure_since(&definition.id, wanted) {
            return Err(error);
        }
        let lease = connections.lease(self, definition, &context.cancel).await;
        // This question also answers callers that arrived while the server was starting.
        let asked = Instant::now();
        self.0.discoveries.note_check(&definition.id, audience.key(), asked);
        let outcome = match lease {
            Ok(lease) => {
                // All pages together get the timeout of one call.
                let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
                tokio::time::timeout(longest, lease.discover(context))
                    .await
                    .unwrap_or_else(|_elapsed| Err(list_timeout_error(&definition.id, longest)))
            }
            Err(error) => Err(error),
        };
        // Beside a call, the call itself reports the server's health.
        if outcome.is_ok() || !question.is_aside {
            self.note_outcome(definition, outcome.as_ref().err());
        }
        self.0.discoveries.note_outcome(&definition.id, outcome.as_ref().err());
        if outcome.is_err() {
            self.0.discoveries.note_failed_check(&definition.id, audience.key());
        }
        let discovery = Arc::new(outcome?);
        self.store_discovery(definition, audience, &discovery, asked, question.cause);
        Ok(discovery)
    }

    /// Updates the catalog. An answer about a replaced definition changes neither the catalog nor
    /// the pins.
    fn store_discovery(
        &self,
        definition: &Arc<Definition>,
        audience: &ClientAudience,
        discovery: &Arc<Discovery>,
        asked: Instant,
        cause: ListCause,
    ) {
        let discoveries = &self.0.discoveries;
        let mut is_news = false;
        self.rebuild_after(|catalog| {
            let capability = catalog.get(definition.id.as_str());
            let Some(capability) = capability
                .filter(|capability| capability.definition.fingerprint == definition.fingerprint)
            else {
                return false;
            };
            let before = discoveries.last_answer(definition, audience.key());
            let is_changed = discoveries.learn(definition, audience, discovery, asked);
            is_news = is_changed && before.is_some() && cause == ListCause::Checked;
            let news = if is_changed { DiscoveryChange::Yes(before) } else { DiscoveryChange::No };
            self.watch_definitions(capability, audience.key(), discovery, news);
            is_changed
        });
        if is_news {
            self.announce(HostEvent::ListsChanged { capability: definition.id.clone() });
        }
    }

    fn discover_in_background(
        &self,
        definition: Arc<Definition>,
        connections: SessionConnections,
        question: DiscoveryRequest,
    ) {
        let host = self.clone();
        self.0.list_checks.spawn(async move {
            let longest = RELIST_TIMEOUT.min(answer_time(&definition.backend));
            let context = CallContext::detached(longest);
            if let Err(error) = host.discover_list(&definition, &connections, &context, question).await {
                tracing::warn!(capability = %definition.id, %error, "the list could not be read again");
            }
        });
    }

    pub(crate) fn discovery_is_old(
        &self,
        definition: &Definition,
        connections: &SessionConnections,
    ) -> bool {
        let Some(longest) = time_to_live(&definition.backend) else { return false };
        let asked = self.0.discoveries.asked(&definition.id, connections.audience().key());
        asked.is_none_or(|asked| asked.elapsed() >= longest)
    }

    pub(crate) fn has_discovery(&self, capability: &Capability, audience: &AudienceKey) -> bool {
        let definition = &capability.definition;
        if audience.is_bare() || !matches!(definition.backend, Backend::Mcp(_)) {
            return capability.discovery.is_some();
        }
        self.0.discoveries.known_to(definition, audience).is_some()
    }

    pub(crate) fn relist(
        &self,
        definition: Arc<Definition>,
        connections: SessionConnections,
        cause: ListCause,
    ) {
        let question = DiscoveryRequest { since: Instant::now(), cause, is_aside: true };
        self.discover_in_background(definition, connections, question);
    }

    pub(crate) fn relist_for_everyone(&self, definition: &Arc<Definition>) {
        let mut audiences = self.0.discoveries.audiences(&definition.id);
        if self.0.eras.is_modern(definition) != Some(true) {
            // A legacy server announces changes to other audiences on their own connections.
            audiences.retain(|audience| audience.key().is_bare());
        }
        if audiences.is_empty() {
            audiences.push(ClientAudience::new(ClientProfile::default()));
        }
        for audience in audiences {
            self.relist(
                definition.clone(),
                SessionConnections::shared(audience),
                ListCause::Announced,
            );
        }
    }

    /// Asks every listed capability without a known list for these clients, a few at a time.
    /// Returns those without an answer, with the reason, after the deck's discovery timeout at the
    /// latest; slow ones continue in the background.
    pub(crate) async fn discover_unknown(
        &self,
        capabilities: impl Iterator<Item = Arc<Capability>>,
        connections: &SessionConnections,
        hurry: ListPreference,
    ) -> Vec<(CapabilityId, CallError)> {
        let catalog = self.catalog();
        let config = catalog.config();
        let limit = Duration::from_millis(config.exposure_discovery_timeout_ms);
        let places = Arc::new(Semaphore::new(config.exposure_discovery_concurrency as usize));
        let mut waiting = BTreeMap::new();
        let mut asking = JoinSet::new();
        let audience = connections.audience().key();
        for capability in capabilities.filter(|one| !self.has_discovery(one, audience)) {
            let definition = capability.definition.clone();
            if hurry == ListPreference::AnyListWillDo && capability.discovery.is_some() {
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    self.relist(definition, connections.clone(), ListCause::Checked);
                }
                continue;
            }
            if let Some(error) = self.0.discoveries.recent_failure(&definition.id) {
                // A caller waits for it only once; when it answers, the lists change.
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    self.relist(definition.clone(), connections.clone(), ListCause::Checked);
                }
                waiting.insert(definition.id.clone(), error);
                continue;
            }
            waiting.insert(definition.id.clone(), starting_error(&definition.id));
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
                Err(panic) => tracing::error!(%panic, "a discovery panicked"),
            }
        }
        asking.detach_all();
        for (id, error) in &waiting {
            self.0.discoveries.note_outcome(id, Some(error));
        }
        waiting.into_iter().collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct DiscoveryRequest {
    /// An answer to a question asked since then is good enough.
    since: Instant,
    cause: ListCause,
    is_aside: bool,
}

impl DiscoveryRequest {
    fn awaited(since: Instant) -> Self {
        Self { since, cause: ListCause::Checked, is_aside: false }
    }
}

/// Whether a caller accepts a list that was made for clients with fewer capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListPreference {
    AnyListWillDo,
    OwnListOnly,
}

fn list_timeout_error(id: &CapabilityId, after: Duration) -> CallError {
    CallError::new(
        ErrorCode::ToolCallTimeout,
        format!("`{id}` did not finish listing within {} ms", after.as_millis()),
    )
    .hint("try again, or raise the timeout in its definition")
}
