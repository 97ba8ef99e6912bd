//! The desk of the process that has the data folder.

mod audit;
mod follow;
mod memory;
mod reading;
mod registry;
mod shares;
mod signals;
mod storage_status;
mod transfer;
mod writing;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use capdeck_auth::inbound::{capsule_key, is_capsule_key};
use capdeck_capsule::{
    Access, Author, CapsuleInfo, CapsuleSession, CapsuleUpdate, Capsules, EntryUri, GitProject,
    Prefix, RegistryError, StoreError, StoreOptions,
};
use serde::Serialize;
use serde_json::{Map, Value};

use self::follow::Hub;
use super::{
    CapsuleCaller, CapsuleChanges, CapsuleDesk, CapsuleFailure, CapsuleOperation, CapsuleRequest,
    Reach, find_capsule, request::bare_name,
};
use crate::GrantedCapsule;

/// What an operation answers with.
type Answer = Result<Value, CapsuleFailure>;

/// Does every operation on the data folder. Cheap to clone; the folder is free again when the last clone is gone.
#[derive(Debug, Clone)]
pub struct LocalDesk {
    capsules: Capsules,
    hub: Arc<Hub>,
}

/// A caller with everything that its request needs to be judged.
struct Admitted {
    author: Author,
    /// Every capsule it reaches, with what it may do there.
    reached: Vec<(CapsuleInfo, Access)>,
    way: Way,
}

/// By what a caller was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is the person at this machine, or works for it.
    Machine,
    Share,
    Grant,
}

impl LocalDesk {
    /// Takes the data folder, which is made when it is not there. Fails with `in_use` when another process has it.
    pub async fn open(folder: &Path, options: StoreOptions) -> Result<Self, CapsuleFailure> {
        Ok(Self::over(Capsules::open(folder, options).await?))
    }

    /// A desk over a data folder that is open.
    pub fn over(capsules: Capsules) -> Self {
        Self { capsules, hub: Arc::default() }
    }

    fn admit(&self, caller: &CapsuleCaller) -> Admitted {
        match &caller.reach {
            Reach::All => {
                let own = |info| (info, Access::owner());
                let reached = self.capsules.list().into_iter().map(own).collect();
                Admitted { author: caller.author.clone(), reached, way: Way::Machine }
            }
            Reach::Share(id) => {
                let share = self.capsules.share(id);
                let author = match &share {
                    Some(share) => {
                        let author = caller.author.clone().principal(&share.principal);
                        author.principal_name(&format!("share {}", share.name))
                    }
                    None => caller.author.clone(),
                };
                let open = |share: capdeck_capsule::Share| {
                    Some((self.capsules.capsule_of(&share)?, share.access))
                };
                let reached = share.and_then(open).into_iter().collect();
                Admitted { author, reached, way: Way::Share }
            }
            Reach::Granted(granted) => {
                let reached = self.granted(granted);
                Admitted { author: caller.author.clone(), reached, way: Way::Grant }
            }
        }
    }

    /// The granted capsules that there are, each once.
    fn granted(&self, granted: &[GrantedCapsule]) -> Vec<(CapsuleInfo, Access)> {
        let all = self.capsules.list();
        let mut reached: Vec<(CapsuleInfo, Access)> = Vec::new();
        for one in granted {
            let is_meant = |info: &&CapsuleInfo| is_capsule_key(&one.capsule, &info.id, &info.uid);
            let Some(info) = all.iter().find(is_meant).cloned() else { continue };
            match reached.iter_mut().find(|(other, _)| other.id == info.id) {
                Some((_, access)) => *access = access.joined(&one.access),
                None => reached.push((info, one.access.clone())),
            }
        }
        reached
    }

    /// The capsule that a request is about, for its caller.
    async fn session(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<CapsuleSession, CapsuleFailure> {
        let admitted = self.admit(caller);
        let (info, access) = match (admitted.choose(capsule), capsule) {
            (Ok(chosen), _) => chosen,
            (Err(failure), Some(_)) if admitted.way != Way::Machine => {
                // No capsule has a line of this; the registry has.
                self.capsules.acting_for(admitted.author.clone()).note_out_of_reach();
                return Err(failure);
            }
            (Err(failure), _) => return Err(failure),
        };
        let (id, access) = (info.id.clone(), access.clone());
        let key = capsule_key(&id, &info.uid);
        self.hub.follow(&id, &key, &self.capsules.store(&id).await?);
        let session = self.capsules.session(&id, admitted.author, access).await?;
        Ok(match &caller.project {
            Some(project) => session.in_project(Arc::new(GitProject::at(project))),
            None => session,
        })
    }
}

impl Admitted {
    /// The capsule of this name, or the only one. What is out of reach does not exist.
    fn choose(&self, capsule: Option<&str>) -> Result<&(CapsuleInfo, Access), CapsuleFailure> {
        let Some(asked) = capsule else {
            return match self.reached.as_slice() {
                [only] => Ok(only),
                several => {
                    let choices: Vec<_> = several.iter().map(|(info, _)| info.clone()).collect();
                    Err(CapsuleFailure::capsule_required(&choices, self.way == Way::Machine))
                }
            };
        };
        // The host names a capsule by its key where another one may have taken its id since.
        let has_key =
            |(info, _): &&(CapsuleInfo, Access)| is_capsule_key(asked, &info.id, &info.uid);
        if let Some(found) = self.reached.iter().find(has_key) {
            return Ok(found);
        }
        match find_capsule(&self.reached, bare_name(asked), |(info, _)| (&info.id, &info.name)) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(RegistryError::NotFound { name: asked.to_owned() }.into()),
            Err(ambiguous) => Err(ambiguous.into()),
        }
    }

    /// Passes when the caller is the person at this machine.
    fn require_machine(&self, what: &str) -> Result<(), CapsuleFailure> {
        match self.way {
            Way::Machine => Ok(()),
            Way::Share => Err(CapsuleFailure::owner_of_machine_only("share", what)),
            Way::Grant => Err(CapsuleFailure::owner_of_machine_only("grant", what)),
        }
    }
}

#[async_trait]
impl CapsuleDesk for LocalDesk {
    fn may_have_capsules(&self) -> bool {
        !self.capsules.list().is_empty()
    }

    fn list_file(&self) -> Option<PathBuf> {
        None
    }

    async fn ask(&self, request: CapsuleRequest) -> Answer {
        use CapsuleOperation as Do;
        let CapsuleRequest { caller, capsule, operation } = request;
        let capsule = capsule.as_deref();
        match operation {
            Do::ListCapsules { with_counts } => self.list_capsules(&caller, with_counts).await,
            Do::CreateCapsule { name, description, visibility } => {
                let new = CapsuleUpdate { name: Some(name), description, visibility };
                self.create_capsule(&caller, new).await
            }
            Do::UpdateCapsule { name, description, visibility } => {
                let update = CapsuleUpdate { name, description, visibility };
                self.update_capsule(&caller, capsule, update).await
            }
            Do::DeleteCapsule => self.delete_capsule(&caller, capsule).await,
            Do::PurgeCapsule => self.purge_capsule(&caller, capsule).await,
            Do::Discover => Ok(self.discover()),
            Do::Shares => self.shares(&caller, capsule),
            Do::AddShare { name, role, uri_prefixes, denied_prefixes, expires_at } => {
                let scope = shares::scope(&uri_prefixes, &denied_prefixes)?;
                self.add_share(&caller, capsule, name, Access { role, scope }, expires_at).await
            }
            Do::RevokeShare { id } => self.revoke_share(&caller, &id).await,
            Do::OpenShare { token } => self.open_share(&caller, &token),
            Do::Export { path, form } => self.export(&caller, capsule, &path, form).await,
            Do::Import { path, form, existing, mode } => {
                self.import(&caller, capsule, &path, form, existing, mode).await
            }
            Do::Verify => self.verify(&caller, capsule).await,
            Do::AuditVerify => self.verify_audit(&caller, capsule).await,
            Do::AuditTail { limit } => {
                let filter = super::AuditFilter { limit, ..super::AuditFilter::default() };
                self.query_audit(&caller, capsule, filter).await
            }
            Do::AuditQuery(filter) => self.query_audit(&caller, capsule, filter).await,
            Do::AuditPrune { before } => self.prune_audit(&caller, capsule, before).await,
            Do::RegistryAuditPrune { before } => self.prune_registry_audit(&caller, before).await,
            Do::StorageStatus => Ok(self.storage_status(&caller).await),
            Do::Looked(looked) => self.note_look(&caller, looked).await,
            Do::NoteAccess(event) => self.note_access(&caller, event).await,
            Do::RegistryAuditVerify => self.verify_registry_audit(&caller).await,
            Do::RegistryAuditQuery(filter) => self.query_registry_audit(&caller, filter).await,
            inside => self.inside(&self.session(&caller, capsule).await?, &caller, inside).await,
        }
    }

    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure> {
        Ok(self.listen(caller))
    }

    async fn close(&self) {
        self.capsules.close().await;
    }
}

impl LocalDesk {
    /// Does what concerns the entries, signals and memory of one capsule.
    async fn inside(
        &self,
        session: &CapsuleSession,
        caller: &CapsuleCaller,
        operation: CapsuleOperation,
    ) -> Answer {
        use CapsuleOperation as Do;
        match operation {
            Do::Overview => reading::overview(session).await,
            Do::Read { uri, version, body } => reading::read(session, &uri, version, body).await,
            Do::List(query) => reading::list(session, query).await,
            Do::Search(query) => reading::search(session, query).await,
            Do::History { uri } => reading::history(session, &uri).await,
            Do::Diff { uri, from, to } => reading::diff(session, &uri, from, to).await,
            Do::Prompts => reading::prompts(session).await,
            Do::Prompt { name, arguments } => reading::prompt(session, &name, arguments).await,
            Do::Skills => reading::skills(session).await,
            Do::Skill { name } => reading::skill(session, &name).await,
            Do::ReadBlob { uri, version } => reading::read_blob(session, &uri, version).await,
            Do::Schemes => reading::schemes(session).await,
            Do::AddScheme { scheme } => writing::add_scheme(session, scheme).await,
            Do::RemoveScheme { name } => writing::remove_scheme(session, &name).await,
            Do::Write(write) => writing::write(session, caller, write).await,
            Do::Restore { uri, version, if_version } => {
                writing::restore(session, &uri, version, if_version).await
            }
            Do::Delete { uri, if_version } => writing::delete(session, &uri, if_version).await,
            Do::Deleted => writing::deleted(session).await,
            Do::Purge { uri } => writing::purge(session, &uri).await,
            Do::CollectBlobs => writing::collect_blobs(session).await,
            Do::SendSignal { kind, text, uri, to, data } => {
                signals::send(session, kind, text, uri, to, data).await
            }
            Do::PollSignals { after, kinds, limit } => {
                signals::poll(session, after, kinds, limit).await
            }
            Do::Acknowledge { signal } => signals::acknowledge(session, &signal).await,
            Do::MemoryGet { key } => memory::get(session, &key).await,
            Do::MemorySet { key, value } => memory::set(session, &key, &value).await,
            Do::MemoryDelete { key } => memory::delete(session, &key).await,
            Do::MemoryList => memory::list(session).await,
            Do::MemorySearch { query } => memory::search(session, &query).await,
            Do::Refused { tool } => audit::refused(session, &tool).await,
            other => Err(CapsuleFailure::invalid(format!("`{}` takes no capsule", other.name()))),
        }
    }
}

/// An answer about one capsule: its id, and what the operation gave.
fn answer(session: &CapsuleSession, given: &impl Serialize) -> Answer {
    let mut fields = Map::new();
    fields.insert("capsule".to_owned(), session.capsule().id.clone().into());
    match serde_json::to_value(given) {
        Ok(Value::Object(given)) => fields.extend(given),
        Ok(_) | Err(_) => {
            return Err(CapsuleFailure::new("internal", "the answer is no object"));
        }
    }
    Ok(Value::Object(fields))
}

/// Reads an address. A text that is none is recorded as a failed call.
async fn address(
    session: &CapsuleSession,
    action: &'static str,
    uri: &str,
) -> Result<EntryUri, CapsuleFailure> {
    refused_if_bad(session, action, EntryUri::parse(uri).map_err(StoreError::from)).await
}

/// Reads a prefix, if there is one.
async fn prefix(
    session: &CapsuleSession,
    action: &'static str,
    text: Option<&str>,
) -> Result<Option<Prefix>, CapsuleFailure> {
    let parsed = text.map(Prefix::parse).transpose().map_err(StoreError::from);
    refused_if_bad(session, action, parsed).await
}

/// Records input that did not get as far as the store.
async fn refused_if_bad<T>(
    session: &CapsuleSession,
    action: &'static str,
    parsed: Result<T, StoreError>,
) -> Result<T, CapsuleFailure> {
    match parsed {
        Ok(parsed) => Ok(parsed),
        Err(error) => {
            session.note_failure(action, &error).await?;
            Err(error.into())
        }
    }
}

#[cfg(test)]
mod tests;
