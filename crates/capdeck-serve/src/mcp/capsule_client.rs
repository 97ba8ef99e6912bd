//! A client of capsules, and the capsule of its endpoint.

use std::{path::PathBuf, sync::Arc};

use capdeck_host::{
    Author, CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleService, CapsuleServiceExt as _,
    CapsuleSummary, EntryNaming, EntryOffer, GrantDesk, GrantTools, Host, ListCapsulesRequest,
    Mount, Reach, SharedAccess, client_changes, find_capsule,
};
use capdeck_mcp::{
    Era,
    server::{ClientHello, SessionOwner},
};
use futures_util::{StreamExt as _, stream::BoxStream};

use crate::actor::Actor;

/// In the extensions of a request with a share token.
#[derive(Debug, Clone)]
pub(crate) struct ViaShare {
    pub(crate) share: String,
}

/// A capsule that the client can address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapsulePlace {
    pub id: String,
    /// The key in records.
    pub key: String,
    pub name: String,
}

pub(super) struct CapsuleClient {
    pub(super) service: Arc<dyn CapsuleService>,
    caller: CapsuleCaller,
    /// The client's grants, if it is neither the owner nor a share. Read with every request.
    access: Option<SharedAccess>,
    pub(super) mount: Mount,
    /// The id of the endpoint's capsule; absent where the client can have several.
    pub(super) capsule: Option<String>,
    pub(super) version: String,
}

impl CapsulePlace {
    /// The capsule with this id or name that the local person can access.
    pub async fn find(host: &Host, name: &str) -> Result<Option<Self>, CapsuleError> {
        Self::reached(host, name, Reach::All).await
    }

    /// The same for a client with limited reach. What is out of reach does not exist.
    pub(crate) async fn reached(
        host: &Host,
        name: &str,
        reach: Reach,
    ) -> Result<Option<Self>, CapsuleError> {
        let Some(service) = host.capsules().filter(|service| service.may_have_capsules()) else {
            return Ok(None);
        };
        let caller = CapsuleCaller::new(Author::client("capdeck"), reach);
        let listed = listed(service.as_ref(), &caller).await?;
        let places: Vec<Self> = listed.into_iter().map(Self::from).collect();
        let found = find_capsule(&places, name, |place| (&place.id, &place.name));
        // An ambiguous name does not resolve.
        Ok(found.ok().flatten().cloned())
    }
}

impl From<CapsuleSummary> for CapsulePlace {
    fn from(summary: CapsuleSummary) -> Self {
        let key = summary.info.key();
        Self { key, id: summary.info.id, name: summary.info.name }
    }
}

impl CapsuleClient {
    /// The client of a handshake. Only its name is self-reported.
    pub(super) fn new(host: &Host, service: Arc<dyn CapsuleService>, hello: &ClientHello) -> Self {
        let text =
            |key: &str| -> Option<String> { serde_json::from_str(hello.info.get(key)?.get()).ok() };
        let author = Author::client(&text("name").unwrap_or_default());
        let author = match text("version") {
            Some(version) => author.version(&version),
            None => author,
        };
        let access = hello.extensions.get::<SharedAccess>().cloned();
        let author = match &access {
            Some(source) => author.principal(source.access().principal.as_str()),
            None => author,
        };
        let sender = hello.extensions.get::<SessionOwner>();
        let sender = sender.map_or("", |sender| &*sender.0);
        let author = match hello.extensions.get::<Actor>().and_then(|one| one.name(sender)) {
            Some(name) => author.principal_name(&name),
            None => author,
        };
        let reach = reach(&hello.extensions);
        let version = host.settings().version.clone();
        let caller = CapsuleCaller::new(author, reach);
        let mount = match hello.revision.era() {
            Era::Legacy => Mount::default(),
            Era::Modern => Mount::forgetful(),
        };
        Self { service, caller, access, mount, capsule: None, version }
    }

    pub(super) fn caller(&self) -> CapsuleCaller {
        let caller = self.caller.clone();
        match &self.access {
            Some(source) => CapsuleCaller { reach: granted(source), ..caller },
            None => caller,
        }
    }

    pub(super) fn grant_tools(&self) -> GrantTools {
        self.access.as_ref().map(|source| source.access().grant_tools).unwrap_or_default()
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
    pub(super) fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        self.access.as_ref()?.grant_desk()
    }

    pub(super) fn bound(mut self, place: &CapsulePlace) -> Self {
        self.mount = Mount::bound(&place.id, &place.name);
        self.capsule = Some(place.id.clone());
        self
    }

    pub(super) fn in_project(mut self, project: Option<PathBuf>) -> Self {
        self.caller = self.caller.in_project(project);
        self
    }

    /// The entries under the names of the capsule. Clients with several capsules get qualified names.
    pub(super) fn entries<'a>(&'a self, mounted: Option<&'a str>) -> EntryOffer<'a> {
        let naming = match self.may_have_several() {
            true => EntryNaming::Deck { mounted },
            false => EntryNaming::Own(self.capsule.as_deref()),
        };
        EntryOffer { service: self.service.as_ref(), caller: self.caller(), naming }
    }

    pub(super) async fn changes(&self) -> Result<CapsuleChanges, CapsuleError> {
        client_changes(self.service.as_ref(), self.caller(), self.access.clone()).await
    }

    pub(super) async fn reached(&self) -> Result<Vec<CapsuleSummary>, CapsuleError> {
        let mut listed = listed(self.service.as_ref(), &self.caller()).await?;
        if let Some(id) = &self.capsule {
            listed.retain(|capsule| capsule.info.id == *id);
        }
        Ok(listed)
    }
}

pub(crate) fn reach(extensions: &http::Extensions) -> Reach {
    match (extensions.get::<ViaShare>(), extensions.get::<SharedAccess>()) {
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
