//! Who a client of capsules is, as the host knows it, and which capsule it is about.

use std::{path::PathBuf, sync::Arc};

use capdeck_host::{
    Admission, Author, CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleService,
    CapsuleServiceExt as _, CapsuleSummary, EntryNaming, EntryOffer, GrantDesk, GrantTools, Host,
    ListCapsulesRequest, Mount, Reach, client_changes, find_capsule,
};
use capdeck_mcp::{Era, server::ClientHello};
use futures_util::{StreamExt as _, stream::BoxStream};

use crate::actor::Actor;

/// Left in the extensions of a request that came with the token of a share.
#[derive(Debug, Clone)]
pub(crate) struct ViaShare {
    /// The id of the share.
    pub(crate) share: String,
}

/// One capsule that somebody may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapsulePlace {
    pub id: String,
    /// What records about it name.
    pub key: String,
    pub name: String,
}

/// A client of the capsule service.
pub(super) struct CapsuleClient {
    pub(super) service: Arc<dyn CapsuleService>,
    caller: CapsuleCaller,
    /// What the client was granted, where it is neither the owner nor a share. Asked with every request.
    admission: Option<Admission>,
    pub(super) mount: Mount,
    /// The id of the endpoint's capsule; absent where the client may have several.
    pub(super) capsule: Option<String>,
    /// The host's version.
    pub(super) version: String,
}

impl CapsulePlace {
    /// The capsule of this id or name, if there is one that the person at this machine can ask for.
    pub async fn find(host: &Host, name: &str) -> Result<Option<Self>, CapsuleError> {
        Self::reached(host, name, Reach::All).await
    }

    /// The same for whoever reaches only a part. What is out of reach does not exist.
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
        // Which of several is meant is not for an address to guess.
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
    /// The client that says hello. Its name is its own word, all the rest is not.
    pub(super) fn new(host: &Host, service: Arc<dyn CapsuleService>, hello: &ClientHello) -> Self {
        let text =
            |key: &str| -> Option<String> { serde_json::from_str(hello.info.get(key)?.get()).ok() };
        let author = Author::client(&text("name").unwrap_or_default());
        let author = match text("version") {
            Some(version) => author.version(&version),
            None => author,
        };
        let admission = hello.extensions.get::<Admission>().cloned();
        let author = match &admission {
            Some(admission) => author.principal(admission.principal()),
            None => author,
        };
        let sender = hello.extensions.get::<capdeck_mcp::server::Principal>();
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
        Self { service, caller, admission, mount, capsule: None, version }
    }

    /// The client with what it reaches now.
    pub(super) fn caller(&self) -> CapsuleCaller {
        let caller = self.caller.clone();
        match &self.admission {
            Some(admission) => CapsuleCaller { reach: granted(admission), ..caller },
            None => caller,
        }
    }

    /// Which tools for asking and deciding about access the client has.
    pub(super) fn grant_tools(&self) -> GrantTools {
        self.admission.as_ref().map(Admission::grant_tools).unwrap_or_default()
    }

    /// Whether the client is one with grants of its own, beside the endpoints of single capsules. Its capsules may become
    /// others while it works, and so may its tools.
    pub(super) fn may_have_several(&self) -> bool {
        self.admission.is_some() && !self.mount.is_bound()
    }

    /// Yields whenever the client's tools are others than they were.
    pub(super) fn tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        let admission = self.admission.clone().filter(|_| self.may_have_several())?;
        let changes = admission.changes()?;
        let mut known = admission.grant_tools();
        let others = changes.filter_map(move |()| {
            let before = std::mem::replace(&mut known, admission.grant_tools());
            std::future::ready((before != known).then_some(()))
        });
        Some(others.boxed())
    }

    /// Where the client asks for more access.
    pub(super) fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        self.admission.as_ref()?.grant_desk()
    }

    /// The same at the endpoint of one capsule.
    pub(super) fn bound(mut self, place: &CapsulePlace) -> Self {
        self.mount = Mount::bound(&place.id, &place.name);
        self.capsule = Some(place.id.clone());
        self
    }

    /// The same, working in a project.
    pub(super) fn in_project(mut self, project: Option<PathBuf>) -> Self {
        self.caller = self.caller.in_project(project);
        self
    }

    /// The entries of its capsule by the capsule's own names. Whoever may have several has names that say whose they are.
    pub(super) fn entries<'a>(&'a self, mounted: Option<&'a str>) -> EntryOffer<'a> {
        let naming = match self.may_have_several() {
            true => EntryNaming::Deck { mounted },
            false => EntryNaming::Own(self.capsule.as_deref()),
        };
        EntryOffer { service: self.service.as_ref(), caller: self.caller(), naming }
    }

    /// What changes within its reach from now on.
    pub(super) async fn changes(&self) -> Result<CapsuleChanges, CapsuleError> {
        client_changes(self.service.as_ref(), self.caller(), self.admission.clone()).await
    }

    /// What the client may know of its capsule, or of all that it reaches.
    pub(super) async fn reached(&self) -> Result<Vec<CapsuleSummary>, CapsuleError> {
        let mut listed = listed(self.service.as_ref(), &self.caller()).await?;
        if let Some(id) = &self.capsule {
            listed.retain(|capsule| capsule.info.id == *id);
        }
        Ok(listed)
    }
}

/// Which capsules the sender of a request reaches.
pub(crate) fn reach(extensions: &http::Extensions) -> Reach {
    match (extensions.get::<ViaShare>(), extensions.get::<Admission>()) {
        (Some(via), _) => Reach::Share(via.share.clone()),
        (None, Some(admission)) => granted(admission),
        (None, None) => Reach::All,
    }
}

fn granted(admission: &Admission) -> Reach {
    Reach::Granted(admission.granted().capsules.clone())
}

async fn listed(
    service: &dyn CapsuleService,
    caller: &CapsuleCaller,
) -> Result<Vec<CapsuleSummary>, CapsuleError> {
    let list = caller.request(None, ListCapsulesRequest::default());
    Ok(service.ask(list).await?.capsules)
}
