//! Grants that a test gives and takes back.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    Admission, AdmissionSource, ClientProfile, Continuity, DeckGrant, Granted, Host, NoListener,
    Principal, Scope, Session, SessionSettings, TaskForm, ViewPolicy,
};
use parking_lot::Mutex;

/// What one principal was granted.
#[derive(Debug)]
pub(crate) struct Book(Mutex<Option<Arc<Granted>>>);

#[derive(Debug)]
struct Page(Arc<Book>);

impl Book {
    pub(crate) fn of(granted: Granted) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Arc::new(granted)))))
    }

    /// From now on this, or nothing at all.
    pub(crate) fn set(&self, granted: Option<Granted>) {
        *self.0.lock() = granted.map(Arc::new);
    }

    pub(crate) fn admission(self: &Arc<Self>) -> Admission {
        Admission::new(Page(self.clone()))
    }
}

impl AdmissionSource for Page {
    fn granted(&self) -> Option<Arc<Granted>> {
        self.0.0.lock().clone()
    }

    fn principal(&self) -> &str {
        "prn_1"
    }

    fn credential(&self) -> &str {
        "crd_1"
    }
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
