//! One client of the host: its scope, its connections and how it is reached.

use std::sync::{Arc, Weak};

use capdeck_backend::{CallerHandle, ClientProfile, NoCaller};
use capdeck_catalog::{Catalog, CatalogPart, RawMembers};
use capdeck_definition::CapabilityId;
use futures_util::stream::BoxStream;

use crate::{
    Access, Host, Principal, SharedAccess, TaskForm, View, ViewPolicy,
    artifacts::KnownArtifacts,
    audience::ClientAudience,
    capsules::CapsuleMount,
    code_mode,
    forwarded_capabilities::forwarded_capabilities,
    host::DeckClient,
    on_demand::ActiveSkills,
    pool::{ConnectionPool, PoolOwner},
    process_turns::end_unused,
    session_connections::{ConnectedClient, NotificationMode, OwnConnections, SessionConnections},
    subscriptions::unsubscribe_all,
};

const SERVER_REQUEST_CAPABILITIES: [&str; 3] = ["sampling", "elicitation", "roots"];

/// The settings of a session.
pub struct SessionSettings {
    pub scope: SessionScope,
    /// Who sends the client's requests.
    pub principal: Principal,
    /// Name the client reports for itself, for the audit trail and for servers it mirrors.
    pub client_name: String,
    /// The client's own MCP identity and capabilities. Servers get those that the session forwards.
    pub client: ClientProfile,
    /// Receives what servers send outside a call.
    pub listener: Arc<dyn CallerHandle>,
    /// The form of tasks that the client supports.
    pub tasks: TaskForm,
    /// What identifies the client when it comes back.
    pub continuity: SessionContinuity,
    /// The client's grants. `None` for the person at this machine, who needs none.
    pub access: Option<SharedAccess>,
    /// True for a client that runs on this machine, and so can open the files of artifacts.
    pub shares_files: bool,
}

impl SessionSettings {
    /// A session of the person at this machine.
    pub fn local(scope: SessionScope, client: ClientProfile) -> Self {
        Self {
            scope,
            principal: Principal::local(),
            client_name: "capdeck".to_owned(),
            client,
            listener: Arc::new(NoCaller),
            tasks: TaskForm::Awaited,
            continuity: SessionContinuity::Connection,
            access: None,
            shares_files: true,
        }
    }
}

/// What identifies a client when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionContinuity {
    /// Its connection, from handshake to end: the session is the client.
    Connection,
    /// Its principal: its requests are self-contained.
    Requests,
}

/// The part of the deck of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionScope {
    /// The part of the deck that agents see.
    Deck(ViewPolicy),
    /// One capability with its own names and URIs.
    Transparent(CapabilityId),
    /// The person's command line: everything usable, in any exposure.
    Operator,
}

/// One client of the host. Ends its own connections when closed.
pub struct Session {
    pub(crate) me: Weak<Session>,
    pub(crate) host: Host,
    pub(crate) id: Arc<str>,
    pub(crate) principal: Principal,
    pub(crate) client_name: String,
    pub(crate) scope: SessionScope,
    pub(crate) connections: SessionConnections,
    pub(crate) tasks: TaskForm,
    pub(crate) continuity: SessionContinuity,
    /// `None` for those who need no grants.
    pub(crate) access: Option<SharedAccess>,
    pub(crate) shares_files: bool,
    /// Empty for clients with self-contained requests.
    pub(crate) set_up: ActiveSkills,
    pub(crate) known_artifacts: KnownArtifacts,
    pub(crate) mount: CapsuleMount,
}

impl Host {
    /// Opens a session. Connects to nothing.
    pub fn session(&self, settings: SessionSettings) -> Arc<Session> {
        let SessionSettings {
            scope,
            principal,
            client_name,
            mut client,
            listener,
            tasks,
            continuity,
            access,
            shares_files,
        } = settings;
        client.capabilities = forwarded_capabilities(&scope, tasks, &client.capabilities);
        let id: Arc<str> = uuid::Uuid::now_v7().to_string().into();
        let audience = ClientAudience::new(client);
        let transparent = matches!(scope, SessionScope::Transparent(_));
        let askable = SERVER_REQUEST_CAPABILITIES.iter().any(|key| audience.declares(key));
        // Servers of an attached host may distinguish clients, so each client has its own
        // connection there.
        let attached = self.0.attached.load().is_some();
        let own = (transparent || askable || attached).then(|| {
            let client = ClientProfile::clone(audience.client());
            let turns = self.0.process_turns.clone();
            let owner = PoolOwner { session: id.clone(), turns };
            let connector = self.0.connector.clone();
            let pool = ConnectionPool::new(connector, client, Some(owner), self.catalog());
            let pool = Arc::new(pool);
            self.register_pool(&pool);
            let notices = match transparent {
                true => NotificationMode::PassOn(tasks),
                false => NotificationMode::Follow,
            };
            let is_legacy = continuity == SessionContinuity::Connection;
            let session = id.clone();
            let client = Arc::new(ConnectedClient { session, is_legacy, listener, notices });
            OwnConnections { pool, client }
        });
        Arc::new_cyclic(|me| Session {
            me: me.clone(),
            host: self.clone(),
            id,
            principal,
            client_name,
            scope,
            connections: SessionConnections::new(self.clone(), audience, own),
            tasks,
            continuity,
            access,
            shares_files,
            set_up: ActiveSkills::default(),
            known_artifacts: KnownArtifacts::default(),
            mount: match continuity {
                SessionContinuity::Connection => CapsuleMount::default(),
                SessionContinuity::Requests => CapsuleMount::forgetful(),
            },
        })
    }
}

impl Session {
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The unique id of this session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who sends the client's requests.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The capsule that this client mounted.
    pub fn mounted_capsule(&self) -> Option<String> {
        self.mount.mounted()
    }

    /// The catalog in force for this client, without denied and blocked tools.
    pub fn catalog(&self) -> Arc<Catalog> {
        let (names, access) = (self.names(), self.access());
        self.as_client(&names, access.as_ref()).current_catalog(self.part())
    }

    /// Read again for each request.
    pub(crate) fn access(&self) -> Option<Arc<Access>> {
        self.access.as_ref().map(|source| source.access())
    }

    pub(crate) fn as_client<'a>(
        &'a self,
        names: &'a [&'a str],
        access: Option<&Arc<Access>>,
    ) -> DeckClient<'a> {
        let access = access.map(|access| Arc::clone(&access.deck));
        DeckClient { host: &self.host, audience: self.connections.audience().key(), names, access }
    }

    /// Yields whenever this client's grants may have changed, where that is known.
    pub fn grant_changes(&self) -> Option<BoxStream<'static, ()>> {
        self.access.as_ref()?.changes()
    }

    pub(crate) fn part(&self) -> CatalogPart {
        match &self.scope {
            SessionScope::Deck(policy) => policy.part(),
            SessionScope::Transparent(_) | SessionScope::Operator => CatalogPart::Everything,
        }
    }

    /// Names in rules: the client's own, and its principal's.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.client_name, self.principal.as_str()]
    }

    /// The current view of this client.
    pub fn view(&self) -> Arc<View> {
        self.snapshot().view()
    }

    /// True when other sessions use the same connection to this capability.
    pub fn shares_connection(&self, id: &str) -> bool {
        let catalog = self.host.catalog();
        catalog.get(id).is_none_or(|one| self.connections.shares(&one.definition))
    }

    /// Notifies the session's own servers, for example that the client's roots changed.
    pub async fn notify_servers(&self, method: &str, params: Option<RawMembers>) {
        if let Some(own) = self.connections.own.as_ref() {
            own.pool.notify(method, params.as_ref()).await;
        }
    }

    /// Ends the processes of a client that gives no sign of life. They start again when it does.
    pub fn end_unused_processes(&self) {
        if let Some(own) = &self.connections.own {
            end_unused(&self.host, &own.pool);
        }
    }

    /// Ends the session's own connections and their processes. A server with a task that outlives
    /// the session lives as long as the task.
    pub async fn close(&self) {
        unsubscribe_all(self);
        code_mode::close_sessions(self);
        let Some(own) = self.connections.own.as_ref() else { return };
        if self.host.0.tasks.needed_until(&self.id).is_none() {
            own.pool.close().await;
            return;
        }
        let (host, pool, id) = (self.host.clone(), own.pool.clone(), self.id.clone());
        tokio::spawn(async move {
            while let Some(end) = host.0.tasks.needed_until(&id) {
                tokio::select! {
                    () = tokio::time::sleep_until(end.into()) => {}
                    () = host.0.stop.cancelled() => break,
                }
            }
            pool.close().await;
        });
    }
}
