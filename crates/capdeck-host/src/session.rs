//! One client of the host: what it may see, whose connections it uses, how it can be reached.

use std::sync::{Arc, Weak};

use capdeck_access::DeckAccess;
use capdeck_backend::{ClientProfile, Listener};
use capdeck_catalog::{Catalog, Part, RawObject};
use capdeck_definition::CapabilityId;
use futures_util::stream::BoxStream;

use crate::{
    Access, Host, Principal, SharedAccess, TaskForm, View, ViewPolicy,
    artifacts::KnownArtifacts,
    audience::Audience,
    capsules::Mount,
    code_mode,
    connections::{Connections, Notices, OwnConnections},
    forwarded_capabilities::forwarded_capabilities,
    on_demand::SetUp,
    pool::ConnectionPool,
};

/// Client capabilities that let a server ask the client something in the middle of a call.
const ASKABLE: [&str; 3] = ["sampling", "elicitation", "roots"];

/// What a session is opened with.
pub struct SessionSettings {
    pub scope: Scope,
    /// Who is behind the client.
    pub principal: Principal,
    /// What the client calls itself, for the audit trail and for servers it speaks to directly.
    pub client_name: String,
    /// The client's own MCP identity and capabilities. Servers hear of those that the session routes.
    pub client: ClientProfile,
    /// How servers reach the client outside a call.
    pub listener: Arc<dyn Listener>,
    /// In which form the client knows tasks.
    pub tasks: TaskForm,
    /// By what the client is known when it comes back.
    pub continuity: Continuity,
    /// What the client was granted. `None`: everything, as for the person at this machine.
    pub access: Option<SharedAccess>,
}

/// By what a client is known when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuity {
    /// Its connection, from handshake to end: the session is the client.
    Connection,
    /// Its requests stand alone, so that only its principal is sure to be the same.
    Requests,
}

/// Which part of the deck a session is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// What agents see of the whole deck.
    Deck(ViewPolicy),
    /// One capability as it is: its own names, its own URIs.
    Transparent(CapabilityId),
    /// The person's own command line: everything usable, whatever its exposure.
    Operator,
}

/// One client of the host. Ends its own connections when closed.
pub struct Session {
    /// Itself, for work that outlives the call that began it.
    pub(crate) me: Weak<Session>,
    pub(crate) host: Host,
    pub(crate) id: Arc<str>,
    pub(crate) principal: Principal,
    pub(crate) client_name: String,
    pub(crate) scope: Scope,
    pub(crate) connections: Connections,
    pub(crate) tasks: TaskForm,
    pub(crate) continuity: Continuity,
    /// `None` for those who need no grants.
    pub(crate) access: Option<SharedAccess>,
    /// What the client set up. Nothing is remembered of clients whose requests stand alone.
    pub(crate) set_up: SetUp,
    /// The artifacts that the client was sent.
    pub(crate) known_artifacts: KnownArtifacts,
    /// The capsule that calls mean when they name none.
    pub(crate) mount: Mount,
}

impl Host {
    /// Opens a session. Nothing is connected yet.
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
        } = settings;
        client.capabilities = forwarded_capabilities(&scope, tasks, &client.capabilities);
        let id: Arc<str> = uuid::Uuid::now_v7().to_string().into();
        let audience = Audience::new(client);
        let transparent = matches!(scope, Scope::Transparent(_));
        let askable = ASKABLE.iter().any(|key| audience.declares(key));
        // Servers of an attached host may keep their clients apart, so each client is a client of its own there.
        let attached = self.0.attached.load().is_some();
        let own = (transparent || askable || attached).then(|| {
            let client = ClientProfile::clone(audience.client());
            let pool = ConnectionPool::new(self.0.connector.clone(), client, self.catalog());
            let pool = Arc::new(pool);
            self.adopt(&pool);
            OwnConnections {
                pool,
                session: id.clone(),
                client: listener,
                notices: if transparent { Notices::PassOn(tasks) } else { Notices::Follow },
            }
        });
        Arc::new_cyclic(|me| Session {
            me: me.clone(),
            host: self.clone(),
            id,
            principal,
            client_name,
            scope,
            connections: Connections::new(audience, own),
            tasks,
            continuity,
            access,
            set_up: SetUp::default(),
            known_artifacts: KnownArtifacts::default(),
            mount: match continuity {
                Continuity::Connection => Mount::default(),
                Continuity::Requests => Mount::forgetful(),
            },
        })
    }
}

impl Session {
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Names this session among all that the host ever had.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who is behind the client.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The catalog in force, as servers offer it to this client. What is denied to it or held does not exist here.
    pub fn catalog(&self) -> Arc<Catalog> {
        let audience = self.connections.audience().key();
        self.host.screened_for(audience, &self.names(), self.part(), self.deck_access())
    }

    /// What this client may use now, where it needs grants.
    pub(crate) fn access(&self) -> Option<Arc<Access>> {
        self.access.as_ref().map(|source| source.access())
    }

    fn deck_access(&self) -> Option<Arc<DeckAccess>> {
        self.access().map(|access| Arc::clone(&access.deck))
    }

    /// Yields whenever this client may have been granted something else, where that can be told.
    pub fn grant_changes(&self) -> Option<BoxStream<'static, ()>> {
        self.access.as_ref()?.changes()
    }

    /// Which part of the deck this client is given.
    pub(crate) fn part(&self) -> Part {
        match &self.scope {
            Scope::Deck(policy) => policy.part(),
            Scope::Transparent(_) | Scope::Operator => Part::Everything,
        }
    }

    /// What rules may call the client: its own name, and that of who is behind it.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.client_name, self.principal.as_str()]
    }

    /// What this client sees now.
    pub fn view(&self) -> Arc<View> {
        self.snapshot().view()
    }

    /// True when this capability is reached through a connection that other sessions use, too.
    pub fn shares_connection(&self, id: &str) -> bool {
        let catalog = self.host.catalog();
        catalog.get(id).is_none_or(|one| self.connections.shares(&self.host, &one.definition))
    }

    /// Tells the session's own servers what the client said to all of them, such as that its roots changed.
    pub async fn tell_servers(&self, method: &str, params: Option<RawObject>) {
        if let Some(own) = self.connections.own() {
            own.pool.notify(method, params.as_ref()).await;
        }
    }

    /// Ends the session's own connections and the processes behind them. A server that works on a task which outlives
    /// the session lives as long as the task.
    pub async fn close(&self) {
        self.unsubscribe_all();
        code_mode::close_sessions(self);
        let Some(own) = self.connections.own() else { return };
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
