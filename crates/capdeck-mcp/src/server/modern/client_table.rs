//! Sessions of clients without a handshake: requests with the same sender description share one.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::sender::RequestSender;
use crate::{
    RawObject, RpcError,
    raw::canonical_object,
    server::{
        ClientHello, ClientPeer, ServerSession, SessionFactory, SessionLimit, SessionOwner,
        close_session, conversation::MAX_IN_FLIGHT, guarded, peer::PeerRoute,
    },
};

/// Bounds the wait for the server's name after a session has answered.
const SERVER_INFO_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct ClientTable {
    clients: Mutex<HashMap<ClientTableKey, Arc<ClientTableEntry>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClientTableKey {
    principal: SessionOwner,
    introduction: [u8; 32],
}

pub(super) struct ClientTableEntry {
    key: ClientTableKey,
    session: OnceCell<Arc<dyn ServerSession>>,
    activity: Mutex<ClientActivity>,
    /// `serverInfo`, as the session last returned it.
    server_info: Mutex<Option<Arc<RawValue>>>,
    pub(super) ended: CancellationToken,
    /// Set when the session was notified.
    closed: AtomicBool,
}

struct ClientActivity {
    requests: usize,
    since: Instant,
}

pub(super) struct ClientActivityGuard(pub(super) Arc<ClientTableEntry>);

impl ClientTable {
    /// Returns the client of a request with one more request. Beyond the cap the one idle longest is returned to be
    /// ended; beyond the limit of its principal, one of the same principal.
    pub(super) fn enter(
        &self,
        principal: &SessionOwner,
        sender: &RequestSender,
        cap: usize,
        limit: Option<SessionLimit>,
    ) -> Result<(ClientActivityGuard, Option<Arc<ClientTableEntry>>), RpcError> {
        let mut introduction = Sha256::new();
        introduction.update(canonical_object(&sender.info));
        introduction.update([0]);
        introduction.update(canonical_object(&sender.capabilities));
        introduction.update(sender.revision.as_str());
        let introduction = introduction.finalize().into();
        let key = ClientTableKey { principal: principal.clone(), introduction };
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(&key) {
            return ClientActivityGuard::new(client).map(|busy| (busy, None));
        }
        let own = || clients.values().filter(|other| other.key.principal == *principal);
        let victim = match limit {
            Some(SessionLimit(most)) if own().count() >= most => {
                Some(idlest(own()).ok_or_else(|| RpcError::too_many_sessions(most))?)
            }
            _ if clients.len() >= cap => {
                let full = || RpcError::new(RpcError::REFUSED, "too many clients; try again later");
                Some(idlest(clients.values()).ok_or_else(full)?)
            }
            _ => None,
        };
        let evicted = victim.and_then(|key| clients.remove(&key));
        let client = Arc::new(ClientTableEntry {
            key: key.clone(),
            session: OnceCell::new(),
            activity: Mutex::new(ClientActivity { requests: 0, since: Instant::now() }),
            server_info: Mutex::default(),
            ended: CancellationToken::new(),
            closed: AtomicBool::new(false),
        });
        clients.insert(key, Arc::clone(&client));
        ClientActivityGuard::new(&client).map(|busy| (busy, evicted))
    }

    fn forget(&self, client: &Arc<ClientTableEntry>) {
        let mut clients = self.clients.lock();
        if clients.get(&client.key).is_some_and(|known| Arc::ptr_eq(known, client)) {
            clients.remove(&client.key);
        }
    }

    pub(super) fn sweep(&self, idle_limit: Duration) -> Vec<Arc<ClientTableEntry>> {
        let stale = |client: &Arc<ClientTableEntry>| {
            client.idle_for().is_some_and(|idle| idle >= idle_limit)
        };
        let mut clients = self.clients.lock();
        clients.extract_if(|_, client| stale(client)).map(|(_, client)| client).collect()
    }

    pub(super) fn sessions_idle_for(&self, rest: Duration) -> Vec<Arc<dyn ServerSession>> {
        let clients = self.clients.lock();
        let idle =
            |client: &&Arc<ClientTableEntry>| client.idle_for().is_some_and(|idle| idle >= rest);
        let idle = clients.values().filter(idle);
        idle.filter_map(|client| client.session.get().cloned()).collect()
    }

    pub(super) fn count(&self) -> (usize, usize) {
        let clients = self.clients.lock();
        (clients.len(), clients.values().map(|client| client.activity.lock().requests).sum())
    }

    pub(super) fn drain(&self) -> Vec<Arc<ClientTableEntry>> {
        self.clients.lock().drain().map(|(_, client)| client).collect()
    }

    /// Returns the client's session; the first caller opens it.
    pub(super) async fn session(
        &self,
        client: &Arc<ClientTableEntry>,
        service: &Arc<dyn SessionFactory>,
        sender: &RequestSender,
        extensions: http::Extensions,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        let open = || async {
            let hello = ClientHello {
                requested: sender.revision.as_str().to_owned(),
                revision: sender.revision,
                info: sender.info.clone(),
                capabilities: (*sender.capabilities).clone(),
                extensions,
            };
            guarded(service.open(hello, ClientPeer(PeerRoute::Unreachable)), || {
                "a fault in this server prevented the session from opening".to_owned()
            })
            .await
        };
        match client.session.get_or_try_init(open).await {
            Ok(session) => {
                if client.ended.is_cancelled() {
                    client.end().await;
                }
                Ok(Arc::clone(session))
            }
            Err(error) => {
                self.forget(client);
                Err(error)
            }
        }
    }
}

/// Returns the client idle longest; `None` while all are busy.
fn idlest<'c>(clients: impl Iterator<Item = &'c Arc<ClientTableEntry>>) -> Option<ClientTableKey> {
    let idle = clients.filter_map(|client| Some((client.idle_for()?, client)));
    idle.max_by_key(|(idle, _)| *idle).map(|(_, client)| client.key.clone())
}

impl ClientTableEntry {
    /// Returns the idle time; `None` while the client is busy.
    fn idle_for(&self) -> Option<Duration> {
        let activity = self.activity.lock();
        (activity.requests == 0).then(|| activity.since.elapsed())
    }

    pub(super) async fn describe(&self) -> Result<RawObject, RpcError> {
        let fault = || "a fault in this server prevented its description".to_owned();
        let session = self.session.get().ok_or_else(|| RpcError::internal(fault()))?;
        let described = guarded(session.describe(), fault).await?;
        *self.server_info.lock() = described.get("serverInfo").cloned().map(Arc::from);
        Ok(described)
    }

    /// Returns the server's name; requested once.
    pub(super) async fn server_info(&self) -> Option<Arc<RawValue>> {
        let known = self.server_info.lock().clone();
        if known.is_none() {
            tokio::time::timeout(SERVER_INFO_TIMEOUT, self.describe()).await.ok()?.ok()?;
            return self.server_info.lock().clone();
        }
        known
    }

    /// Cancels running requests and notifies the session. Later calls do nothing.
    pub(super) async fn end(&self) {
        self.ended.cancel();
        let Some(session) = self.session.get() else { return };
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        close_session(&**session).await;
    }
}

impl ClientActivityGuard {
    fn new(client: &Arc<ClientTableEntry>) -> Result<Self, RpcError> {
        let mut activity = client.activity.lock();
        if activity.requests >= MAX_IN_FLIGHT {
            return Err(RpcError::internal(format!(
                "{MAX_IN_FLIGHT} requests are unanswered; wait for some of them"
            )));
        }
        activity.requests += 1;
        Ok(Self(Arc::clone(client)))
    }
}

impl Drop for ClientActivityGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity.lock();
        activity.requests -= 1;
        activity.since = Instant::now();
    }
}
