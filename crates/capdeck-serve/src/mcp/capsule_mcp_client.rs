//! A client of capsules, and the capsule of its endpoint.

use std::{path::PathBuf, sync::Arc};

use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleMount, CapsuleService,
    CapsuleServiceExt as _, CapsuleSummary, EntryCatalog, EntryNaming, GrantService, GrantTools,
    Host, ListCapsulesRequest, Reach, SharedAccess, client_changes, find_capsule,
};
use capdeck_mcp::{
    Era,
    server::{ClientHello, SessionOwner},
};
use futures_util::{StreamExt as _, stream::BoxStream};

use crate::request_actor::RequestActor;

/// In the extensions of a request with a share token.
#[derive(Debug, Clone)]
pub(crate) struct ShareAccess {
    pub(crate) share: String,
}

/// A capsule that the client can address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapsuleReference {
    pub id: String,
    /// The key in records.
    pub key: String,
    pub name: String,
}

pub(super) struct CapsuleMcpClient {
    pub(super) service: Arc<dyn CapsuleService>,
    caller: CapsuleCaller,
    /// The client's grants, if it is neither the owner nor a share. Read with every request.
    access: Option<SharedAccess>,
    pub(super) mount: CapsuleMount,
    /// The id of the endpoint's capsule; absent where the client can have several.
    pub(super) capsule: Option<String>,
    pub(super) version: String,
}

impl CapsuleReference {
    /// The capsule with this id or name that the local person can access.
    pub async fn find(host: &Host, name: &str) -> Result<Option<Self>, CapsuleError> {
        Self::find_within(host, name, Reach::All).await
    }

    /// The same for a client with limited reach. What is out of reach does not exist.
    pub(crate) async fn find_within(
        host: &Host,
        name: &str,
        reach: Reach,
    ) -> Result<Option<Self>, CapsuleError> {
        let Some(service) = host.capsules().filter(|service| service.may_have_capsules()) else {
            return Ok(None);
        };
        let caller = CapsuleCaller::new(CapsuleAuthor::client("capdeck"), reach);
        let listed = listed(service.as_ref(), &caller).await?;
        let places: Vec<Self> = listed.into_iter().map(Self::from).collect();
        let found = find_capsule(&places, name, |place| (&place.id, &place.name));
        // An ambiguous name does not resolve.
        Ok(found.ok().flatten().cloned())
    }
}

impl From<CapsuleSummary> for CapsuleReference {
    fn from(summary: CapsuleSummary) -> Self {
        let key = summary.info.key();
        Self { key, id: summary.info.id, name: summary.info.name }
    }
}

impl CapsuleMcpClient {
    /// The client of a handshake. Only its name is self-reported.
    pub(super) fn new(host: &Host, service: Arc<dyn CapsuleService>, hello: &ClientHello) -> Self {
        let text = |key: &str| -> String {
            let text = hello.info.get(key).and_then(|text| serde_json::from_str(text.get()).ok());
            text.unwrap_or_default()
        };
        let access = hello.extensions.get::<SharedAccess>().cloned();
        let principal = access.as_ref().map(|source| source.access().principal.clone());
        let sender = hello.extensions.get::<SessionOwner>().map_or("", |sender| &*sender.0);
        let actor = hello.extensions.get::<RequestActor>();
        let author = CapsuleAuthor::client(&text("name"))
            .version(&text("version"))
            .principal(principal.as_ref().map_or("", |principal| principal.as_str()))
            .principal_name(&actor.and_then(|one| one.name(sender)).unwrap_or_default());
        let reach = reach(&hello.extensions);
        let version = host.settings().version.clone();
        let caller = CapsuleCaller::new(author, reach);
        let mount = match hello.revision.era() {
            Era::Legacy => CapsuleMount::default(),
            Era::Modern => CapsuleMount::forgetful(),
        };
        Self { service, caller, access, mount, capsule: None, version }
    }

    /// The client with its grants of now.
    pub(super) fn caller(&self) -> CapsuleCaller {
        self.caller_and_tools().0
    }

    pub(super) fn grant_tools(&self) -> GrantTools {
        self.caller_and_tools().1
    }

    /// Both by one reading of the access, for requests that need both.
    pub(super) fn caller_and_tools(&self) -> (CapsuleCaller, GrantTools) {
        let caller = self.caller.clone();
        let Some(source) = &self.access else { return (caller, GrantTools::default()) };
        let access = source.access();
        let reach = Reach::Granted(access.capsules.clone());
        (CapsuleCaller { reach, ..caller }, access.grant_tools)
    }

    /// True for a client with its own grants outside the endpoints of single capsules. Its capsules and tools can change during
    /// the session.
    pub(super) fn may_have_several(&self) -> bool {
        self.access.is_some() && !self.mount.is_bound()
    }

    /// Yields whenever the client's tools change.
    pub(super) fn tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        let source = self.access.clone().filter(|_| self.may_have_several())?;
        let changes = source.changes()?;
        let mut known = source.access().grant_tools;
        let others = changes.filter_map(move |()| {
            let before = std::mem::replace(&mut known, source.access().grant_tools);
            std::future::ready((before != known).then_some(()))
        });
        Some(others.boxed())
    }

    /// Handles access requests of this client.
    pub(super) fn grant_service(&self) -> Option<Arc<dyn GrantService>> {
        self.access.as_ref()?.grant_service()
    }

    pub(super) fn bound_to(mut self, place: &CapsuleReference) -> Self {
        self.mount = CapsuleMount::bound(&place.id, &place.name);
        self.capsule = Some(place.id.clone());
        self
    }

    pub(super) fn in_project(mut self, project: Option<PathBuf>) -> Self {
        self.caller = self.caller.in_project(project);
        self
    }

    /// The entries under the names of the capsule. Clients with several capsules get qualified names.
    pub(super) fn entries<'a>(&'a self, mounted: Option<&'a str>) -> EntryCatalog<'a> {
        let naming = match self.may_have_several() {
            true => EntryNaming::Deck { mounted },
            false => EntryNaming::Own(self.capsule.as_deref()),
        };
        EntryCatalog { service: self.service.as_ref(), caller: self.caller(), naming }
    }

    pub(super) async fn changes(&self) -> Result<CapsuleChanges, CapsuleError> {
        client_changes(self.service.as_ref(), self.caller(), self.access.clone()).await
    }

    pub(super) async fn list_reachable(&self) -> Result<Vec<CapsuleSummary>, CapsuleError> {
        let mut listed = listed(self.service.as_ref(), &self.caller()).await?;
        if let Some(id) = &self.capsule {
            listed.retain(|capsule| capsule.info.id == *id);
        }
        Ok(listed)
    }
}

pub(crate) fn reach(extensions: &http::Extensions) -> Reach {
    match (extensions.get::<ShareAccess>(), extensions.get::<SharedAccess>()) {
        (Some(via), _) => Reach::Share(via.share.clone()),
        (None, Some(source)) => granted(source),
        (None, None) => Reach::All,
    }
}

fn granted(source: &SharedAccess) -> Reach {
    Reach::Granted(source.access().capsules.clone())
}

async fn listed(
    service: &dyn CapsuleService,
    caller: &CapsuleCaller,
) -> Result<Vec<CapsuleSummary>, CapsuleError> {
    let list = caller.request(None, ListCapsulesRequest::default());
    Ok(service.ask(list).await?.capsules)
}
