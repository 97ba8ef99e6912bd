//! A client of capsules, and the capsule of its endpoint.

use std::{path::PathBuf, sync::Arc};

use capdeck_auth::inbound::capsule_key;
use capdeck_host::{
    Author, CapsuleCaller, CapsuleChanges, CapsuleDesk, CapsuleFailure, CapsuleOperation,
    EntryNaming, EntryOffer, GrantDesk, GrantTools, Host, Mount, Reach, SharedAccess, find_capsule,
};
use capdeck_mcp::{
    Era,
    server::{ClientHello, SessionOwner},
};
use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::Value;

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
    pub(super) desk: Arc<dyn CapsuleDesk>,
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
    pub async fn find(host: &Host, name: &str) -> Result<Option<Self>, CapsuleFailure> {
        Self::reached(host, name, Reach::All).await
    }

    /// The same for a client with limited reach. What is out of reach does not exist.
    pub(crate) async fn reached(
        host: &Host,
        name: &str,
        reach: Reach,
    ) -> Result<Option<Self>, CapsuleFailure> {
        let Some(desk) = host.capsules().filter(|desk| desk.may_have_capsules()) else {
            return Ok(None);
        };
        let caller = CapsuleCaller::new(Author::client("capdeck"), reach);
        let listed = listed(desk.as_ref(), &caller).await?;
        let places: Vec<Self> = listed.iter().filter_map(Self::of).collect();
        let found = find_capsule(&places, name, |place| (&place.id, &place.name));
        // An ambiguous name does not resolve.
        Ok(found.ok().flatten().cloned())
    }

    fn of(listed: &Value) -> Option<Self> {
        let text = |key: &str| Some(listed.get(key)?.as_str()?.to_owned());
        let id = text("id")?;
        Some(Self { key: capsule_key(&id, &text("uid")?), id, name: text("name")? })
    }
}

impl CapsuleClient {
    /// The client of a handshake. Only its name is self-reported.
    pub(super) fn new(host: &Host, desk: Arc<dyn CapsuleDesk>, hello: &ClientHello) -> Self {
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
        Self { desk, caller, access, mount, capsule: None, version }
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
        EntryOffer { desk: self.desk.as_ref(), caller: self.caller(), naming }
    }

    pub(super) async fn changes(&self) -> Result<CapsuleChanges, CapsuleFailure> {
        CapsuleChanges::for_client(self.desk.as_ref(), self.caller(), self.access.clone()).await
    }

    pub(super) async fn reached(&self) -> Result<Vec<Value>, CapsuleFailure> {
        let mut listed = listed(self.desk.as_ref(), &self.caller()).await?;
        if let Some(id) = &self.capsule {
            listed.retain(|capsule| capsule["id"] == id.as_str());
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
    desk: &dyn CapsuleDesk,
    caller: &CapsuleCaller,
) -> Result<Vec<Value>, CapsuleFailure> {
    let list = CapsuleOperation::ListCapsules { with_counts: false };
    let mut answer = desk.ask(caller.request(None, list)).await?;
    Ok(match answer["capsules"].take() {
        Value::Array(capsules) => capsules,
        _ => Vec::new(),
    })
}
