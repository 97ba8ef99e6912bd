//! One client of the host: what it may see, whose connections it uses, how it can be reached.

use std::sync::{Arc, Weak};

use capdeck_backend::{CallContext, CallError, ClientProfile, ErrorCode, Listener};
use capdeck_catalog::{Capability, Catalog, Discovery, Part, RawObject};
use capdeck_definition::{Backend, CapabilityId, Definition, Exposure};
use futures_util::stream::BoxStream;
use serde_json::value::RawValue;

use crate::{
    Admission, Granted, Host, Principal, TaskForm, View, ViewPolicy,
    admission::{Allowed, KeptAllowance},
    audience::Audience,
    audit::subject,
    capsules::Mount,
    connections::{Connections, Notices, OwnConnections},
    deck_snapshot::DeckSnapshot,
    discover::Hurry,
    forwarded_capabilities::forwarded_capabilities,
    handed_out::HandedOut,
    on_demand::SetUp,
    pool::{ConnectionPool, Lease},
    questions::Questions,
    tasks::is_task_request,
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
    /// What the client was granted. `None`: everything is its own, as it is for the person at this machine.
    pub admission: Option<Admission>,
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
    /// Asked with every request.
    pub(crate) admission: Option<Admission>,
    allowed: KeptAllowance,
    /// What the client set up. Nothing is remembered of clients whose requests stand alone.
    pub(crate) set_up: SetUp,
    pub(crate) handed_out: HandedOut,
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
            admission,
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
            admission,
            allowed: KeptAllowance::default(),
            set_up: SetUp::default(),
            handed_out: HandedOut::default(),
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
        self.host.screened_for(audience, &self.names(), self.part(), self.allowed())
    }

    /// What this client was granted, where it needs grants. Asked anew each time.
    pub(crate) fn granted(&self) -> Option<Arc<Granted>> {
        self.admission.as_ref().map(Admission::granted)
    }

    /// The same as far as it is about the deck.
    pub(crate) fn allowed(&self) -> Option<Allowed> {
        self.admission.as_ref().map(|admission| self.allowed.of(admission))
    }

    /// Yields whenever this client may have been granted something else, where that can be told.
    pub fn grant_changes(&self) -> Option<BoxStream<'static, ()>> {
        self.admission.as_ref()?.changes()
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

    /// What this client sees, after asking directly offered backends that never answered.
    pub async fn discovered_view(&self) -> Arc<View> {
        let view = self.view();
        let audience = self.connections.audience().key();
        let unknown = |one: &&Arc<Capability>| !self.host.knows_offer(one, audience);
        let waiting: Vec<_> = view.direct().iter().filter(unknown).cloned().collect();
        self.check_connected(view.direct());
        if waiting.is_empty() {
            return view;
        }
        self.ask_for_lists(waiting).await;
        self.view()
    }

    /// What this client sees, after asking those that may have resources and prompts, members of sets among them. A set
    /// that is served alone shows its members' under the deck's names.
    pub async fn discovered_offers(&self) -> Arc<View> {
        let view = || match &self.scope {
            Scope::Transparent(id) => {
                Arc::new(View::alone(self.catalog(), id.as_str(), Exposure::Direct))
            }
            Scope::Deck(_) | Scope::Operator => self.view(),
        };
        let known = view();
        let audience = self.connections.audience().key();
        let unknown = |one: &&Arc<Capability>| {
            // Only servers have resources and prompts.
            matches!(one.definition.backend, Backend::Mcp(_))
                && !self.host.knows_offer(one, audience)
        };
        let waiting: Vec<_> = known.offering().iter().filter(unknown).cloned().collect();
        self.check_connected(known.offering());
        if waiting.is_empty() {
            return known;
        }
        self.ask_for_lists(waiting).await;
        view()
    }

    /// Reads lists again in the background that are due, of those that are connected anyway. A list is no reason to
    /// connect.
    fn check_connected(&self, capabilities: &[Arc<Capability>]) {
        for definition in capabilities.iter().map(|one| &one.definition) {
            if let Some(lease) = self.connections.lease_open(&self.host, definition) {
                self.host.check_list_when_due(definition, &self.connections, &lease);
            }
        }
    }

    async fn ask_for_lists(&self, waiting: Vec<Arc<Capability>>) {
        let asking = waiting.into_iter();
        let failures =
            self.host.discover_unknown(asking, &self.connections, Hurry::OwnListOnly).await;
        for (id, error) in failures {
            tracing::warn!(capability = %id, %error, "the capability could not be listed");
        }
    }

    /// True when this client may know that the capability exists.
    pub(crate) fn may_see(&self, capability: &Capability) -> bool {
        self.snapshot().may_see(capability)
    }

    /// The capability of this id, if this client may use it.
    pub fn capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        self.snapshot().capability(id)
    }

    /// The same for what is no tool: resources, prompts and requests of the client's own.
    pub(crate) fn whole_capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        let deck = self.snapshot();
        let capability = listed_whole(&deck, id)?;
        deck.require_use(id)?;
        Ok(capability)
    }

    /// Asks the backend what it offers; what comes back is what this client may know of it.
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        let discovery = self.host.discover(definition, &self.connections, context).await?;
        let deck = self.snapshot();
        if deck.catalog().is_open() {
            return Ok(discovery);
        }
        let capability = deck.capability(definition.id.as_str())?;
        Ok(capability.discovery.clone().unwrap_or_default())
    }

    pub(crate) async fn lease(
        &self,
        capability: &Capability,
        context: &CallContext,
    ) -> Result<Lease, CallError> {
        let definition = &capability.definition;
        let lease = self.connections.lease(&self.host, definition, &context.cancel).await?;
        self.host.check_list_when_due(definition, &self.connections, &lease);
        Ok(lease)
    }

    /// Sends an MCP request of the client's to one server, as it is. Questions of the server's come back as its own
    /// answer where the client takes that.
    pub async fn forward(
        &self,
        id: &str,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        match subject(method, params.as_ref()) {
            Some(about) => {
                let sending = self.send(id, method, params, context);
                self.audited(method, id, &about, sending).await
            }
            None => self.send(id, method, params, context).await,
        }
    }

    pub(crate) async fn send(
        &self,
        id: &str,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let capability = match method {
            // Lists are looked at; whoever has some of the tools has their list and their tasks, too.
            "tools/list" => self.capability(id)?,
            "resources/list" | "resources/templates/list" | "prompts/list" => {
                listed_whole(&self.snapshot(), id)?
            }
            _ if is_task_request(method) => self.capability(id)?,
            _ => self.whole_capability(id)?,
        };
        let (_, context) = Questions::watch(context, self.connections.audience());
        let lease = self.lease(&capability, &context).await?;
        lease.request(method, params, &context).await
    }

    /// Passes a notification of the client's on to one server, if it is connected.
    pub async fn forward_notification(&self, id: &str, method: &str, params: Option<RawObject>) {
        let Ok(capability) = self.whole_capability(id) else { return };
        let context = CallContext::detached(std::time::Duration::from_secs(10));
        if let Ok(lease) = self.lease(&capability, &context).await {
            lease.notify(method, params).await;
        }
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
        self.close_code_sessions();
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

/// The capability of this id, for lists of what is no tool.
fn listed_whole(deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<Capability>, CallError> {
    let capability = deck.capability(id)?;
    if capability.tools_only {
        let message = format!("only tools of `{id}` may be used here");
        return Err(CallError::new(ErrorCode::ResourceNotFound, message));
    }
    Ok(capability)
}
