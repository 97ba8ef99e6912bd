//! Asking backends what they offer, and feeding the answer into the next catalog.
//!
//! Lists come from the disk, so that a start needs no connection. When they are asked for again is in
//! `docs/design/047-when-lists-are-read-again.md`: on every new connection, after a bounded age, and before a request
//! is refused by one.

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
    audience::{Audience, AudienceKey},
    backend_times::{answer_time, max_list_age, time_to_live},
    connections::Connections,
    discoveries::still_starting,
    pins::News,
    pool::Lease,
};

/// Longest wait for a new list after a server said that it changed.
const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the end of a host waits for lists that are being read again. Without it a host that lives for one call,
/// as that of a command does, would never learn of a change.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a backend is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListCause {
    /// It announced a change, which clients of it alone have heard, too.
    Announced,
    /// The host wants to know.
    Checked,
}

impl Host {
    /// Asks the backend what it offers, connecting if need be, and puts the answer into the catalog.
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        let question = Question::awaited(Instant::now());
        self.ask(definition, connections, context, question).await
    }

    /// Makes sure that the list in the catalog is one that this very connection gave, and not too old.
    pub(crate) async fn require_current_list(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
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
        let question = Question::awaited(since);
        let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
        let timeout = Some(longest.min(RELIST_TIMEOUT));
        let context = CallContext { timeout, ..context.clone() };
        self.ask(definition, connections, &context, question).await.map(drop)
    }

    /// Reads the list again in the background if the connection never gave one, or not for long. Costs a look
    /// otherwise.
    pub(crate) fn check_list_when_due(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
        lease: &Lease,
    ) {
        let Some(max_age) = max_list_age(&definition.backend) else { return };
        let audience = connections.audience().key();
        let opened = lease.opened();
        let due = self.0.discoveries.claim_check(&definition.id, audience, opened, max_age);
        if let Some(since) = due {
            let question = Question { is_aside: true, ..Question::awaited(since) };
            self.ask_aside(definition.clone(), connections.clone(), question);
        }
    }

    /// Waits for lists that are being read again, for a moment.
    pub(crate) async fn finish_list_checks(&self) {
        self.0.list_checks.close();
        drop(tokio::time::timeout(CHECK_TIMEOUT, self.0.list_checks.wait()).await);
    }

    async fn ask(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
        context: &CallContext,
        question: Question,
    ) -> Result<Arc<Discovery>, CallError> {
        let wanted = Instant::now();
        let _turn = self.0.discoveries.take_turn(definition, context).await?;
        // An answer to a question asked before this caller came could miss the change it is about.
        let audience = connections.audience();
        let asked = self.0.discoveries.asked(&definition.id, audience.key());
        if asked.is_some_and(|asked| asked >= question.since)
            && let Some(known) = self.0.discoveries.known_to(definition, audience.key())
        {
            return Ok(known);
        }
        // Callers that waited together fail together; one after the other they would add up their timeouts.
        if let Some(error) = self.0.discoveries.failure_since(&definition.id, wanted) {
            return Err(error);
        }
        let lease = connections.lease(self, definition, &context.cancel).await;
        // Callers that came while the server was starting are answered by this one question, too.
        let asked = Instant::now();
        self.0.discoveries.note_check(&definition.id, audience.key(), asked);
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
        // Beside a call, the call itself says how the server does.
        if outcome.is_ok() || !question.is_aside {
            self.note_outcome(definition, outcome.as_ref().err());
        }
        self.0.discoveries.note_outcome(&definition.id, outcome.as_ref().err());
        if outcome.is_err() {
            self.0.discoveries.note_failed_check(&definition.id, audience.key());
        }
        let discovery = Arc::new(outcome?);
        self.learn(definition, audience, &discovery, asked, question.cause);
        Ok(discovery)
    }

    /// Takes an answer into the catalog. One about a definition that was replaced meanwhile says nothing about the
    /// new one, neither to the catalog nor to the pins.
    fn learn(
        &self,
        definition: &Arc<Definition>,
        audience: &Audience,
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
            let news = if is_changed { News::Yes(before) } else { News::No };
            self.watch_definitions(capability, audience.key(), discovery, news);
            is_changed
        });
        if is_news {
            self.announce(HostEvent::ListsChanged { capability: definition.id.clone() });
        }
    }

    /// Asks in the background; a failed attempt keeps the last good list.
    fn ask_aside(&self, definition: Arc<Definition>, connections: Connections, question: Question) {
        let host = self.clone();
        self.0.list_checks.spawn(async move {
            let longest = RELIST_TIMEOUT.min(answer_time(&definition.backend));
            let context = CallContext::detached(longest);
            if let Err(error) = host.ask(&definition, &connections, &context, question).await {
                tracing::warn!(capability = %definition.id, %error, "the list could not be read again");
            }
        });
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

    /// Asks again in the background, whatever is known.
    pub(crate) fn relist(
        &self,
        definition: Arc<Definition>,
        connections: Connections,
        cause: ListCause,
    ) {
        let question = Question { since: Instant::now(), cause, is_aside: true };
        self.ask_aside(definition, connections, question);
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
            self.relist(definition.clone(), Connections::shared(audience), ListCause::Announced);
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
                    self.relist(definition, connections.clone(), ListCause::Checked);
                }
                continue;
            }
            if let Some(error) = self.0.discoveries.recent_failure(&definition.id) {
                // Nobody waits for it a second time; when it answers, the lists change.
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    self.relist(definition.clone(), connections.clone(), ListCause::Checked);
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

/// A question to a backend.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// An answer to a question that was asked since then will do.
    since: Instant,
    cause: ListCause,
    /// Asked in the background, beside a call.
    is_aside: bool,
}

impl Question {
    /// A question whose answer a caller waits for.
    fn awaited(since: Instant) -> Self {
        Self { since, cause: ListCause::Checked, is_aside: false }
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
