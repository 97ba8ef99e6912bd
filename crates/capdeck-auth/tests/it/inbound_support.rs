//! A registry in a folder of its own, with a clock that a test moves.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use capdeck_auth::inbound::{
    ApprovalTerms, AuditSink, DecisionMaker, EventCaller, GrantRecipient, GrantRequest,
    GrantTarget, NewRequest, OperatorRole, Registry, RegistryEvent, RegistryOptions,
    RequestDecision, RequestSource, Role, Scopes,
};
use capdeck_storage::WallClock;
use jiff::Timestamp;
use parking_lot::Mutex;

/// A registry, its clock and its audit.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) registry: Registry,
    pub(crate) time: Arc<AtomicI64>,
    pub(crate) audit: Arc<Lines>,
}

/// What was recorded.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<Vec<RegistryEvent>>);

impl AuditSink for Lines {
    fn record(&self, event: &RegistryEvent) {
        self.0.lock().push(event.clone());
    }
}

impl Lines {
    /// What was recorded since the last time: actions, with the word for what went wrong.
    pub(crate) fn take(&self) -> Vec<String> {
        self.take_events()
            .into_iter()
            .map(|event| match event.error_code {
                Some(code) => format!("{} {code}", event.action),
                None => event.action.to_owned(),
            })
            .collect()
    }

    pub(crate) fn take_events(&self) -> Vec<RegistryEvent> {
        std::mem::take(&mut *self.0.lock())
    }
}

pub(crate) fn fixture() -> Fixture {
    fixture_with(RegistryOptions::default())
}

pub(crate) fn fixture_with(options: RegistryOptions) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let (time, audit) = (Arc::new(AtomicI64::new(1_800_000_000_000)), Arc::default());
    let registry = open(folder.path().join("registry"), &time, &audit, options).unwrap();
    Fixture { folder, registry, time, audit }
}

/// Opens a registry with this clock and this audit.
pub(crate) fn open(
    folder: PathBuf,
    time: &Arc<AtomicI64>,
    audit: &Arc<Lines>,
    options: RegistryOptions,
) -> Result<Registry, capdeck_auth::inbound::OpenRegistryError> {
    let time = Arc::clone(time);
    let clock = WallClock::from_fn(move || {
        Timestamp::from_millisecond(time.load(Ordering::SeqCst)).unwrap()
    });
    let audit: Option<Arc<dyn AuditSink>> = Some(Arc::<Lines>::clone(audit));
    Registry::open(folder, RegistryOptions { clock, audit, ..options })
}

impl Fixture {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("registry")
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.time.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.time.load(Ordering::SeqCst)).unwrap()
    }

    /// Closes the registry and opens it again.
    pub(crate) fn reopen(self) -> Self {
        let Self { folder, registry, time, audit } = self;
        drop(registry);
        let registry =
            open(folder.path().join("registry"), &time, &audit, RegistryOptions::default())
                .unwrap();
        Self { folder, registry, time, audit }
    }

    /// Files a request of a client of Ann's.
    pub(crate) async fn file(&self, target: GrantTarget, scopes: &str) -> GrantRequest {
        self.registry
            .grants()
            .file_request(&caller("opr_ann"), request(target, scopes))
            .await
            .unwrap()
    }

    /// Files a request and approves it as it is.
    pub(crate) async fn grant(&self, target: GrantTarget, scopes: &str) -> GrantRequest {
        self.pass(Duration::from_millis(1));
        let request = self.file(target, scopes).await;
        let approve = RequestDecision::Approve(ApprovalTerms::default());
        self.registry
            .grants()
            .decide(&caller("admin"), &admin(), &request.id, approve)
            .await
            .unwrap()
    }
}

pub(crate) fn caller(id: &str) -> EventCaller {
    EventCaller::new(id, Some([192, 0, 2, 1].into()))
}

pub(crate) fn admin() -> DecisionMaker {
    operator("admin", OperatorRole::Admin)
}

pub(crate) fn operator(id: &str, role: OperatorRole) -> DecisionMaker {
    DecisionMaker::Operator { id: id.to_owned(), role, readable: Vec::new() }
}

pub(crate) fn scopes(text: &str) -> Scopes {
    Scopes::parse(text).unwrap()
}

pub(crate) fn reader(capsule: &str) -> GrantTarget {
    GrantTarget::capsule(capsule, Role::Reader)
}

/// A request for a client that Ann uses.
pub(crate) fn request(target: GrantTarget, scopes: &str) -> NewRequest {
    NewRequest {
        source: RequestSource::Oauth,
        holder: GrantRecipient::Client {
            client_id: "cli_1".to_owned(),
            client_name: "Editor".to_owned(),
            operator: "opr_ann".to_owned(),
        },
        requested_by: "opr_ann".to_owned(),
        target,
        scopes: self::scopes(scopes),
        reason: None,
        wanted_until: None,
    }
}
