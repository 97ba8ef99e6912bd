//! Grants that a test gives and takes back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;

use capdeck_access::{Access, DeckAccess, DeckGrant, GrantTools, Scopes};
use capdeck_auth::inbound::RequestStatus;
use capdeck_definition::Exposure;
use capdeck_host::{
    AccessOutcome, AccessRequest, AccessResponse, AccessSource, CapsuleError, CapsuleErrorCode,
    CapsuleGrant, ClientProfile, GrantService, Host, NoCaller, Principal, Session,
    SessionContinuity, SessionScope, SessionSettings, SharedAccess, TaskForm, ViewPolicy,
};
use parking_lot::Mutex;

/// What one principal was granted, and what it asked for.
#[derive(Debug, Default)]
pub(crate) struct Book {
    granted: Mutex<Granted>,
    /// Whether there is a person to ask.
    asks: AtomicBool,
    wishes: Mutex<Vec<AccessRequest>>,
}

/// What a principal may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted {
    pub(crate) deck: Vec<DeckGrant>,
    pub(crate) may_call: bool,
    pub(crate) capsules: Vec<CapsuleGrant>,
    pub(crate) may_manage: bool,
}

#[derive(Debug)]
struct Page(Arc<Book>);

impl Book {
    pub(crate) fn of(granted: Granted) -> Arc<Self> {
        Arc::new(Self { granted: Mutex::new(granted), ..Self::default() })
    }

    /// From now on this, or nothing at all.
    pub(crate) fn set(&self, granted: Option<Granted>) {
        *self.granted.lock() = granted.unwrap_or_default();
    }

    /// The same with a person to ask for more.
    pub(crate) fn asking(self: Arc<Self>) -> Arc<Self> {
        self.asks.store(true, Ordering::Relaxed);
        self
    }

    /// Everything that was wished for.
    pub(crate) fn wishes(&self) -> Vec<AccessRequest> {
        self.wishes.lock().clone()
    }

    pub(crate) fn source(self: &Arc<Self>) -> SharedAccess {
        Arc::new(Page(self.clone()))
    }
}

impl AccessSource for Page {
    fn access(&self) -> Arc<Access> {
        let Granted { deck, may_call, capsules, may_manage } = self.0.granted.lock().clone();
        let grant_tools = match (self.0.asks.load(Ordering::Relaxed), may_manage) {
            (false, _) => GrantTools::None,
            (true, false) => GrantTools::Request,
            (true, true) => GrantTools::Manage,
        };
        let has_capsules = may_manage || !capsules.is_empty();
        Arc::new(Access {
            principal: Principal::named("prn_1"),
            scopes: Scopes::all(),
            deck: Arc::new(DeckAccess::new(&deck, has_capsules, grant_tools)),
            may_call,
            capsules,
            grant_tools,
        })
    }

    fn grant_service(&self) -> Option<Arc<dyn GrantService>> {
        self.0.asks.load(Ordering::Relaxed).then(|| self.0.clone() as Arc<dyn GrantService>)
    }
}

#[async_trait]
impl GrantService for Book {
    async fn run(&self, wish: AccessRequest) -> Result<AccessResponse, CapsuleError> {
        if let AccessRequest::RequestAccess { capsule, .. } = &wish
            && capsule == "secret"
        {
            return Err(CapsuleError::new(
                CapsuleErrorCode::NotFound,
                "there is no capsule `secret`",
            ));
        }
        self.wishes.lock().push(wish);
        Ok(AccessResponse::Outcome(Box::new(AccessOutcome {
            request_id: "grq_1".to_owned(),
            status: RequestStatus::Pending,
            note: None,
            connection_id: None,
            granted: None,
            expires_at: None,
            missing_scopes: Scopes::default(),
        })))
    }

    async fn record_invalid_request(&self) {}
}

/// One grant of the deck, with calls.
pub(crate) fn granted(capabilities: &[&str], tools: &[&str], denied: &[&str]) -> Granted {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let grant = DeckGrant {
        capabilities: texts(capabilities),
        tools: texts(tools),
        denied_tools: texts(denied),
        modes: Vec::new(),
    };
    Granted { deck: vec![grant], may_call: true, ..Granted::default() }
}

/// A session of the deck for the holder.
pub(crate) fn guest(host: &Host, book: &Arc<Book>, exposure: Exposure) -> Arc<Session> {
    guest_at(host, book, SessionScope::Deck(ViewPolicy::offering(Some(exposure))))
}

/// A session of the holder.
pub(crate) fn guest_at(host: &Host, book: &Arc<Book>, scope: SessionScope) -> Arc<Session> {
    host.session(SessionSettings {
        scope,
        client_name: "guest".to_owned(),
        principal: Principal::named("prn_1"),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Connection,
        access: Some(book.source()),
        shares_files: false,
    })
}
