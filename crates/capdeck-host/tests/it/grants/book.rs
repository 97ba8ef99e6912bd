//! Grants that a test gives and takes back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;

use capdeck_definition::Exposure;
use capdeck_host::{
    Admission, AdmissionSource, CapsuleError, CapsuleErrorCode, ClientProfile, Continuity,
    DeckGrant, GrantDesk, GrantWish, Granted, Host, NoListener, Principal, Scope, Session,
    SessionSettings, TaskForm, ViewPolicy,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What one principal was granted, and what it asked for.
#[derive(Debug, Default)]
pub(crate) struct Book {
    granted: Mutex<Option<Arc<Granted>>>,
    /// Whether there is somebody to ask.
    asks: AtomicBool,
    wishes: Mutex<Vec<GrantWish>>,
}

#[derive(Debug)]
struct Page(Arc<Book>);

impl Book {
    pub(crate) fn of(granted: Granted) -> Arc<Self> {
        Arc::new(Self { granted: Mutex::new(Some(Arc::new(granted))), ..Self::default() })
    }

    /// From now on this, or nothing at all.
    pub(crate) fn set(&self, granted: Option<Granted>) {
        *self.granted.lock() = granted.map(Arc::new);
    }

    /// The same with somebody to ask for more.
    pub(crate) fn asking(self: Arc<Self>) -> Arc<Self> {
        self.asks.store(true, Ordering::Relaxed);
        self
    }

    /// Everything that was wished for.
    pub(crate) fn wishes(&self) -> Vec<GrantWish> {
        self.wishes.lock().clone()
    }

    pub(crate) fn admission(self: &Arc<Self>) -> Admission {
        Admission::new(Page(self.clone()))
    }
}

impl AdmissionSource for Page {
    fn granted(&self) -> Option<Arc<Granted>> {
        self.0.granted.lock().clone()
    }

    fn principal(&self) -> &str {
        "prn_1"
    }

    fn credential(&self) -> &str {
        "crd_1"
    }

    fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        self.0.asks.load(Ordering::Relaxed).then(|| self.0.clone() as Arc<dyn GrantDesk>)
    }
}

#[async_trait]
impl GrantDesk for Book {
    async fn ask(&self, wish: GrantWish) -> Result<Value, CapsuleError> {
        if let GrantWish::RequestAccess { capsule, .. } = &wish
            && capsule == "secret"
        {
            return Err(CapsuleError::new(
                CapsuleErrorCode::NotFound,
                "there is no capsule `secret`",
            ));
        }
        self.wishes.lock().push(wish);
        Ok(json!({ "request_id": "grq_1", "status": "pending" }))
    }

    async fn note_unfit(&self) {}
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
    guest_at(host, book, Scope::Deck(ViewPolicy::offering(Some(exposure))))
}

/// A session of the holder.
pub(crate) fn guest_at(host: &Host, book: &Arc<Book>, scope: Scope) -> Arc<Session> {
    host.session(SessionSettings {
        scope,
        client_name: "guest".to_owned(),
        principal: Principal::named("prn_1"),
        client: ClientProfile::default(),
        listener: Arc::new(NoListener),
        tasks: TaskForm::Awaited,
        continuity: Continuity::Connection,
        admission: Some(book.admission()),
    })
}
