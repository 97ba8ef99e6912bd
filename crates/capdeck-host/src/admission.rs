//! What the one behind a session was granted, where not everything is theirs.
//!
//! The host asks with every request and remembers nothing, so that what is taken back is gone with the next one. It
//! knows no tokens: whoever opens the session brings a source that does.

use std::{fmt, sync::Arc};

use capdeck_capsule::service::GrantedCapsule;
use capdeck_catalog::{Allowance, DeckGrant};
use futures_util::stream::BoxStream;
use parking_lot::Mutex;

use crate::GrantDesk;

/// The way to what a client was granted. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Admission(Arc<dyn AdmissionSource>);

/// Knows what one holder may use.
pub trait AdmissionSource: fmt::Debug + Send + Sync {
    /// What the holder may use now; `None`: nothing any more. Asked with every request, often more than once, so it
    /// answers from memory, and with the same `Arc` until something changes.
    fn granted(&self) -> Option<Arc<Granted>>;

    /// The stable name of the holder: who wrote what, whose memory and whose tasks.
    fn principal(&self) -> &str;

    /// Names what the holder came with among everything that lets somebody in, and is no secret. Sessions are not
    /// shared between two of them, even of one holder: each may be good for something else.
    fn credential(&self) -> &str;

    /// Where the holder asks for more, and decides about others if it may.
    fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        None
    }

    /// Yields whenever the answer may have become another one, where that can be told.
    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }
}

/// Everything that somebody may use at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// Of the deck. Empty: nothing of it.
    pub deck: Vec<DeckGrant>,
    /// False: the deck may be looked at, but nothing in it called or read.
    pub may_call: bool,
    /// Capsules, each with what may be done there.
    pub capsules: Vec<GrantedCapsule>,
    /// Whether grants may be asked for and decided on here.
    pub may_manage: bool,
}

impl Granted {
    /// What may be known of the deck. Capsules are there for those who have one, or may decide who gets one.
    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(&self.deck, !self.capsules.is_empty() || self.may_manage)
    }
}

/// What a holder may know of the deck, with the tools that it asks for more with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Allowed {
    pub(crate) allowance: Arc<Allowance>,
    pub(crate) tools: GrantTools,
}

/// Which tools for asking and deciding about access a holder has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GrantTools {
    #[default]
    None,
    /// It may ask for access.
    Request,
    /// It may also decide about that of others.
    Manage,
}

/// What a holder may know, made once from the grants it stands for.
#[derive(Debug, Default)]
pub(crate) struct KeptAllowance(Mutex<Option<(Arc<Granted>, Allowed)>>);

impl KeptAllowance {
    /// What may be known with this admission now.
    pub(crate) fn of(&self, admission: &Admission) -> Allowed {
        let granted = admission.granted();
        let mut kept = self.0.lock();
        match &*kept {
            Some((made_from, allowed)) if Arc::ptr_eq(made_from, &granted) => allowed.clone(),
            _ => {
                let allowed = admission.allowed();
                *kept = Some((granted, allowed.clone()));
                allowed
            }
        }
    }
}

impl Admission {
    /// An admission that asks this source.
    pub fn new(source: impl AdmissionSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// What the holder may use now. Nothing, when everything was taken back.
    pub fn granted(&self) -> Arc<Granted> {
        self.0.granted().unwrap_or_default()
    }

    /// What may be known of the deck now.
    pub(crate) fn allowed(&self) -> Allowed {
        let allowance = Arc::new(self.granted().allowance());
        Allowed { allowance, tools: self.grant_tools() }
    }

    /// The stable name of the holder.
    pub fn principal(&self) -> &str {
        self.0.principal()
    }

    /// Names what the holder came with.
    pub fn credential(&self) -> &str {
        self.0.credential()
    }

    /// Where the holder asks for more.
    pub fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        self.0.grant_desk()
    }

    /// Which tools for asking and deciding the holder has.
    pub fn grant_tools(&self) -> GrantTools {
        match self.grant_desk() {
            None => GrantTools::None,
            Some(_) if self.granted().may_manage => GrantTools::Manage,
            Some(_) => GrantTools::Request,
        }
    }

    /// Whether the holder may use anything at all.
    pub fn is_in_force(&self) -> bool {
        self.0.granted().is_some()
    }

    /// Yields whenever the grants may be other ones, where that can be told.
    pub fn changes(&self) -> Option<BoxStream<'static, ()>> {
        self.0.changes()
    }
}
