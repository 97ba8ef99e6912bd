//! Asks backends for their lists and updates the catalog. Lists are cached on disk, so a start
//! needs no connection; `docs/design/047-when-lists-are-read-again.md` describes when they are read
//! again.

mod unknown;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ClientProfile, ErrorCode};
use capdeck_catalog::{Capability, Discovery};
use capdeck_definition::{Backend, CapabilityId, Definition};

pub(crate) use self::unknown::DiscoveryPurpose;
pub use self::unknown::MissingList;
use crate::{
    Host, HostEvent, audience::ClientAudience, discovery_table::ListCheck, pool::ConnectionLease,
    session_connections::SessionConnections, start_wait::StartWait,
};

const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long closing a host waits for lists that are being read. Without it a host that lives for
/// one call, as that of a command does, would never learn of a change.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Max age of the list of a backend in use, unless its definition sets a longer one.
const MAX_LIST_AGE: Duration = Duration::from_hours(1);

const DEFAULT_ANSWER_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListCause {
    Announced,
    Checked,
}

impl SessionConnections {
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        self.discover_list(definition, context, DiscoveryRequest::awaited(Instant::now())).await
    }

    /// Makes sure that the list in the catalog came from this connection and is not too old.
    pub(crate) async fn require_current_list(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let Some(max_age) = max_list_age(&definition.backend) else { return Ok(()) };
        let lease = self.lease_unchecked(definition, context).await;
        let lease =
            lease.inspect_err(|error| self.host.0.health.note_outcome(definition, Some(error)))?;
        let since = match self.asked(definition) {
            Some(asked) if asked >= lease.opened() && asked.elapsed() < max_age => return Ok(()),
            Some(asked) if asked >= lease.opened() => Instant::now(),
            _ => lease.opened(),
        };
        let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
        let timeout = Some(longest.min(RELIST_TIMEOUT));
        let context = CallContext { timeout, ..context.clone() };
        self.discover_list(definition, &context, DiscoveryRequest::awaited(since)).await.map(drop)
    }

    /// Reads the list again in the background if this connection gave none, or not for long. Cheap
    /// otherwise.
    pub(crate) fn check_list_when_due(
        &self,
        definition: &Arc<Definition>,
        lease: &ConnectionLease,
    ) {
        let Some(max_age) = max_list_age(&definition.backend) else { return };
        let (discoveries, audience) = (&self.host.0.discoveries, self.audience().key());
        // A server of both eras has a connection for each client of the legacy one beside the
        // shared connection. A new one is no reason to ask again what is known.
        let is_of_many = !self.shares(definition) && self.host.0.eras.is_modern(definition);
        let opened = (!is_of_many).then(|| lease.opened());
        let due = discoveries.claim_check(&definition.id, audience, opened, max_age);
        if let Some(since) = due {
            let question = DiscoveryRequest { is_aside: true, ..DiscoveryRequest::awaited(since) };
            self.discover_in_background(definition.clone(), question);
        }
    }

    async fn discover_list(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
        question: DiscoveryRequest,
    ) -> Result<Arc<Discovery>, CallError> {
        let started = Instant::now();
        let (id, discoveries) = (&definition.id, &self.host.0.discoveries);
        let wait = StartWait::new(&self.host.0.connector, definition, context);
        let _turn = tokio::select! {
            biased;
            turn = discoveries.take_turn(definition, context) => turn?,
            error = wait.ended() => return Err(error),
        };
        // An answer to an earlier question could miss the change that this caller is about.
        let audience = self.audience();
        if self.asked(definition).is_some_and(|asked| asked >= question.since)
            && let Some(known) = discoveries.known_to(definition, audience.key())
        {
            return Ok(known);
        }
        // Callers that waited together fail together; one after the other they would add up their
        // timeouts.
        if let Some(error) = discoveries.failure_since(id, started) {
            return Err(error);
        }
        let lease = self.lease_unchecked(definition, context).await;
        // This question also answers callers that arrived while the server was starting.
        let asked = Instant::now();
        discoveries.note_check(id, audience.key(), ListCheck { at: asked, has_failed: false });
        let outcome = match lease {
            Ok(lease) => {
                // All pages together get the timeout of one call.
                let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
                tokio::time::timeout(longest, lease.discover(context))
                    .await
                    .unwrap_or_else(|_elapsed| Err(list_timeout_error(id, longest)))
            }
            Err(error) => Err(error),
        };
        // The start goes on, and says nothing about the server yet.
        if let Err(error) = &outcome
            && error.code == ErrorCode::ServerStarting
        {
            return Err(error.clone());
        }
        // Beside a call, the call itself reports the server's health: the list of a server that
        // fails every call must not end its count.
        let health = &self.host.0.health;
        if !question.is_aside || (outcome.is_ok() && !health.is_failing(definition)) {
            health.note_outcome(definition, outcome.as_ref().err());
        }
        discoveries.note_outcome(id, outcome.as_ref().err());
        if outcome.is_err() {
            let check = ListCheck { at: Instant::now(), has_failed: true };
            discoveries.note_check(id, audience.key(), check);
        }
        let discovery = Arc::new(outcome?);
        self.store_discovery(definition, &discovery, asked, question.cause);
        Ok(discovery)
    }

    /// Updates the catalog. An answer about a replaced definition changes neither the catalog nor
    /// the pins.
    fn store_discovery(
        &self,
        definition: &Arc<Definition>,
        discovery: &Arc<Discovery>,
        asked: Instant,
        cause: ListCause,
    ) {
        let (host, audience) = (&self.host, self.audience());
        let discoveries = &host.0.discoveries;
        let mut is_news = false;
        host.rebuild_after(|catalog| {
            let capability = catalog.get(definition.id.as_str());
            let Some(capability) = capability
                .filter(|capability| capability.definition.fingerprint == definition.fingerprint)
            else {
                return false;
            };
            let before = discoveries.last_answer(definition, audience.key());
            let is_changed = discoveries.learn(definition, audience, discovery, asked);
            is_news = is_changed && before.is_some() && cause == ListCause::Checked;
            let before = before.as_deref();
            host.pins().watch(capability, audience.key(), discovery, is_changed, before);
            is_changed
        });
        if is_news {
            host.announce(HostEvent::ListsChanged { capability: definition.id.clone() });
        }
    }

    fn discover_in_background(&self, definition: Arc<Definition>, question: DiscoveryRequest) {
        let connections = self.clone();
        self.host.0.list_checks.spawn(async move {
            let longest = RELIST_TIMEOUT.min(answer_time(&definition.backend));
            let context = CallContext::detached(longest);
            if let Err(error) = connections.discover_list(&definition, &context, question).await {
                tracing::warn!(capability = %definition.id, %error, "the list could not be read again");
            }
        });
    }

    fn asked(&self, definition: &Definition) -> Option<Instant> {
        self.host.0.discoveries.asked(&definition.id, self.audience().key())
    }

    pub(crate) fn discovery_is_old(&self, definition: &Definition) -> bool {
        let Some(longest) = time_to_live(&definition.backend) else { return false };
        self.asked(definition).is_none_or(|asked| asked.elapsed() >= longest)
    }

    pub(crate) fn has_discovery(&self, capability: &Capability) -> bool {
        let (definition, audience) = (&capability.definition, self.audience().key());
        if audience.is_bare() || !matches!(definition.backend, Backend::Mcp(_)) {
            return capability.discovery.is_some();
        }
        self.host.0.discoveries.known_to(definition, audience).is_some()
    }

    pub(crate) fn relist(&self, definition: Arc<Definition>, cause: ListCause) {
        let question = DiscoveryRequest { since: Instant::now(), cause, is_aside: true };
        self.discover_in_background(definition, question);
    }
}

pub(crate) async fn finish_list_checks(host: &Host) {
    host.0.list_checks.close();
    drop(tokio::time::timeout(CHECK_TIMEOUT, host.0.list_checks.wait()).await);
}

/// Reads the list of a shared server again, for each audience that has one.
pub(crate) fn relist_for_everyone(host: &Host, definition: &Arc<Definition>) {
    let mut audiences = host.0.discoveries.audiences(&definition.id);
    if !host.0.eras.is_modern(definition) {
        // A legacy server announces changes to other audiences on their own connections.
        audiences.retain(|audience| audience.key().is_bare());
    }
    if audiences.is_empty() {
        audiences.push(ClientAudience::new(ClientProfile::default()));
    }
    for audience in audiences {
        let connections = SessionConnections::shared(host, audience);
        connections.relist(definition.clone(), ListCause::Announced);
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

fn list_timeout_error(id: &CapabilityId, after: Duration) -> CallError {
    CallError::new(
        ErrorCode::ToolCallTimeout,
        format!("`{id}` did not finish listing within {} ms", after.as_millis()),
    )
    .hint("try again, or raise the timeout in its definition")
}

/// How long a list counts as new. `None` for backends whose tools are part of the definition.
fn time_to_live(backend: &Backend) -> Option<Duration> {
    let milliseconds = match backend {
        Backend::Mcp(server) => server.tool_cache_ttl_ms,
        Backend::OpenApi(api) => api.import.operation_cache_ttl_ms,
        Backend::GoogleDiscovery(api) => api.import.operation_cache_ttl_ms,
        Backend::GraphQl(api) => api.operation_cache_ttl_ms,
        Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return None,
    };
    Some(Duration::from_millis(milliseconds))
}

/// The age at which the list of a backend in use is read again; zero reads it at every use. `None`
/// for backends whose tools are part of the definition.
fn max_list_age(backend: &Backend) -> Option<Duration> {
    let new = time_to_live(backend)?;
    Some(if new.is_zero() { new } else { new.max(MAX_LIST_AGE) })
}

pub(crate) fn answer_time(backend: &Backend) -> Duration {
    let milliseconds = match backend {
        Backend::Mcp(server) => server.call_timeout_ms,
        Backend::OpenApi(api) => api.import.requests.request_timeout_ms,
        Backend::GoogleDiscovery(api) => api.import.requests.request_timeout_ms,
        Backend::GraphQl(api) => api.requests.request_timeout_ms,
        Backend::Http(api) => api.requests.request_timeout_ms,
        Backend::Cli(_) | Backend::Cmp(_) | Backend::Caplets(_) | Backend::Capsules => {
            return DEFAULT_ANSWER_TIME;
        }
    };
    Duration::from_millis(milliseconds)
}
