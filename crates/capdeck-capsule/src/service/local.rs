//! The capsule service of the process that has the data folder.

mod audit;
mod follow;
mod reading;
mod registry;
mod shares;
mod transfer;
mod writing;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

use self::follow::Hub;
use super::{
    CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleGrant, CapsuleOperation, CapsuleRequest,
    CapsuleResponse, CapsuleService, Reach, bare_name, find_capsule,
};
use crate::{
    CapsuleAccess, CapsuleAuthor, CapsuleHandle, CapsuleInfo, CapsuleRegistry, EntryUri,
    GitProject, Share, StoreError, StoreOptions, UriPrefix,
};

/// Does every operation on the data folder. Cheap to clone; the folder is free again when the last clone is gone.
#[derive(Debug, Clone)]
pub struct LocalCapsuleService {
    capsules: CapsuleRegistry,
    hub: Arc<Hub>,
}

/// A caller with the capsules that it reaches now.
struct ResolvedCaller {
    author: CapsuleAuthor,
    /// Every capsule it reaches, with what it may do there.
    reached: Vec<(CapsuleInfo, CapsuleAccess)>,
    source: ReachSource,
}

/// Where a caller's reach comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReachSource {
    /// It is the person at this machine, or works for it.
    Machine,
    Share,
    Grant,
}

impl LocalCapsuleService {
    /// Takes the data folder, which is made when it does not exist. Fails with `in_use` when another process has it.
    pub async fn open(folder: &Path, options: StoreOptions) -> Result<Self, CapsuleError> {
        Ok(Self::over(CapsuleRegistry::open(folder, options).await?))
    }

    /// The service of a data folder that is open.
    pub fn over(capsules: CapsuleRegistry) -> Self {
        Self { capsules, hub: Arc::default() }
    }

    /// The capsules, with the caller named for what is done to them.
    fn acting_for(&self, caller: &CapsuleCaller) -> CapsuleRegistry {
        self.capsules.acting_for(caller.author.clone()).knowing(caller.names.clone())
    }

    fn resolve(&self, caller: &CapsuleCaller) -> ResolvedCaller {
        match &caller.reach {
            Reach::All => {
                let own = |info| (info, CapsuleAccess::owner());
                let reached = self.capsules.list().into_iter().map(own).collect();
                let source = ReachSource::Machine;
                ResolvedCaller { author: caller.author.clone(), reached, source }
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
                let open = |share: Share| Some((self.capsules.capsule_of(&share)?, share.access));
                let reached = share.and_then(open).into_iter().collect();
                ResolvedCaller { author, reached, source: ReachSource::Share }
            }
            Reach::Granted(granted) => {
                let reached = self.granted(granted);
                let source = ReachSource::Grant;
                ResolvedCaller { author: caller.author.clone(), reached, source }
            }
        }
    }

    /// The granted capsules that there are, each once.
    fn granted(&self, granted: &[CapsuleGrant]) -> Vec<(CapsuleInfo, CapsuleAccess)> {
        let all = self.capsules.list();
        let mut reached: Vec<(CapsuleInfo, CapsuleAccess)> = Vec::new();
        for one in granted {
            let Some(info) = all.iter().find(|info| info.has_key(&one.capsule)) else { continue };
            match reached.iter_mut().find(|(other, _)| other.id == info.id) {
                Some((_, access)) => *access = access.joined(&one.access),
                None => reached.push((info.clone(), one.access.clone())),
            }
        }
        reached
    }

    /// The capsule that a request is about, for its caller.
    async fn session(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<CapsuleHandle, CapsuleError> {
        let resolved = self.resolve(caller);
        let (info, access) = match (resolved.choose(capsule), capsule) {
            (Ok(chosen), _) => chosen,
            (Err(error), Some(_)) if resolved.source != ReachSource::Machine => {
                // No capsule has a line of this; the registry has.
                self.capsules.acting_for(resolved.author.clone()).record_unreachable_capsule();
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        };
        let (id, access) = (info.id.clone(), access.clone());
        self.hub.follow(&id, &info.key(), &self.capsules.store(&id).await?);
        let session = self.capsules.handle(&id, resolved.author, access).await?;
        Ok(match &caller.project {
            Some(project) => session.in_project(Arc::new(GitProject::at(project))),
            None => session,
        })
    }
}

impl ResolvedCaller {
    /// The capsule of this name, or the only one. What is out of reach does not exist.
    fn choose(&self, capsule: Option<&str>) -> Result<&(CapsuleInfo, CapsuleAccess), CapsuleError> {
        let Some(asked) = capsule else {
            return match self.reached.as_slice() {
                [only] => Ok(only),
                several => {
                    let choices = several.iter().map(|(info, _)| info);
                    let may_create = self.source == ReachSource::Machine;
                    Err(CapsuleError::capsule_required(choices, may_create))
                }
            };
        };
        // The host names a capsule by its key where another one may have taken its id since.
        if let Some(found) = self.reached.iter().find(|(info, _)| info.has_key(asked)) {
            return Ok(found);
        }
        match find_capsule(&self.reached, bare_name(asked), |(info, _)| (&info.id, &info.name)) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(StoreError::CapsuleNotFound { name: asked.to_owned() }.into()),
            Err(ambiguous) => Err(ambiguous.into()),
        }
    }

    /// Passes when the caller is the person at this machine.
    fn require_machine(&self, what: &str) -> Result<(), CapsuleError> {
        match self.source {
            ReachSource::Machine => Ok(()),
            ReachSource::Share => Err(CapsuleError::owner_of_machine_only("share", what)),
            ReachSource::Grant => Err(CapsuleError::owner_of_machine_only("grant", what)),
        }
    }
}

#[async_trait]
impl CapsuleService for LocalCapsuleService {
    fn may_have_capsules(&self) -> bool {
        !self.capsules.list().is_empty()
    }

    fn list_file(&self) -> Option<PathBuf> {
        None
    }

    async fn dispatch(
        &self,
        request: CapsuleRequest<CapsuleOperation>,
    ) -> Result<CapsuleResponse, CapsuleError> {
        use CapsuleOperation as Op;
        use CapsuleResponse as Done;
        let CapsuleRequest { caller, capsule, operation } = request;
        let (caller, capsule) = (&caller, capsule.as_deref());
        let session = || self.session(caller, capsule);
        Ok(match operation {
            Op::ListCapsules(op) => Done::ListCapsules(self.list_capsules(caller, op).await),
            Op::CreateCapsule(op) => Done::CreateCapsule(self.create_capsule(caller, op).await?),
            Op::UpdateCapsule(op) => {
                Done::UpdateCapsule(self.update_capsule(caller, capsule, op).await?)
            }
            Op::DeleteCapsule(_) => {
                Done::DeleteCapsule(self.delete_capsule(caller, capsule).await?)
            }
            Op::PurgeCapsule(_) => Done::PurgeCapsule(self.purge_capsule(caller, capsule).await?),
            Op::Discover(_) => Done::Discover(self.discover()),
            Op::StorageStatus(_) => Done::StorageStatus(self.storage_status(caller).await),
            Op::Overview(_) => Done::Overview(reading::overview(&session().await?).await?),
            Op::Read(op) => Done::Read(reading::read(&session().await?, op).await?),
            Op::List(op) => Done::List(reading::list(&session().await?, op).await?),
            Op::Search(op) => Done::Search(reading::search(&session().await?, op).await?),
            Op::History(op) => Done::History(reading::history(&session().await?, op).await?),
            Op::Diff(op) => Done::Diff(reading::diff(&session().await?, op).await?),
            Op::Prompts(_) => Done::Prompts(reading::prompts(&session().await?).await?),
            Op::Prompt(op) => Done::Prompt(reading::prompt(&session().await?, op).await?),
            Op::Skills(_) => Done::Skills(reading::skills(&session().await?).await?),
            Op::Skill(op) => Done::Skill(reading::skill(&session().await?, op).await?),
            Op::ReadBlob(op) => Done::ReadBlob(reading::read_blob(&session().await?, op).await?),
            Op::Schemes(_) => Done::Schemes(reading::schemes(&session().await?).await?),
            Op::AddScheme(op) => Done::AddScheme(writing::add_scheme(&session().await?, op).await?),
            Op::RemoveScheme(op) => {
                Done::RemoveScheme(writing::remove_scheme(&session().await?, op).await?)
            }
            Op::Write(op) => Done::Write(writing::write(&session().await?, caller, op).await?),
            Op::Restore(op) => Done::Restore(writing::restore(&session().await?, op).await?),
            Op::Delete(op) => Done::Delete(writing::delete(&session().await?, op).await?),
            Op::Deleted(_) => Done::Deleted(reading::deleted(&session().await?).await?),
            Op::Purge(op) => Done::Purge(writing::purge(&session().await?, op).await?),
            Op::CollectBlobs(_) => {
                Done::CollectBlobs(writing::collect_blobs(&session().await?).await?)
            }
            Op::SendSignal(op) => {
                Done::SendSignal(writing::send_signal(&session().await?, op).await?)
            }
            Op::PollSignals(op) => {
                Done::PollSignals(reading::poll_signals(&session().await?, op).await?)
            }
            Op::Acknowledge(op) => {
                Done::Acknowledge(writing::acknowledge(&session().await?, op).await?)
            }
            Op::MemoryGet(op) => Done::MemoryGet(reading::memory_get(&session().await?, op).await?),
            Op::MemorySet(op) => Done::MemorySet(writing::memory_set(&session().await?, op).await?),
            Op::MemoryDelete(op) => {
                Done::MemoryDelete(writing::memory_delete(&session().await?, op).await?)
            }
            Op::MemoryList(_) => Done::MemoryList(reading::memory_list(&session().await?).await?),
            Op::MemorySearch(op) => {
                Done::MemorySearch(reading::memory_search(&session().await?, op).await?)
            }
            Op::Shares(_) => Done::Shares(self.shares(caller, capsule)?),
            Op::AddShare(op) => Done::AddShare(self.add_share(caller, capsule, op).await?),
            Op::RevokeShare(op) => Done::RevokeShare(self.revoke_share(caller, op).await?),
            Op::OpenShare(op) => Done::OpenShare(self.open_share(caller, &op.token)?),
            Op::NoteRefusal(op) => Done::NoteRefusal(audit::refusal(&session().await?, op).await?),
            Op::NoteLook(op) => Done::NoteLook(self.note_look(caller, op).await?),
            Op::NoteAccess(op) => Done::NoteAccess(self.note_access(caller, op).await?),
            Op::Verify(_) => Done::Verify(self.verify(caller, capsule).await?),
            Op::Export(op) => Done::Export(self.export(caller, capsule, op).await?),
            Op::Import(op) => Done::Import(self.import(caller, capsule, op).await?),
            Op::AuditVerify(_) => Done::AuditVerify(self.verify_audit(caller, capsule).await?),
            Op::AuditQuery(op) => Done::AuditQuery(self.query_audit(caller, capsule, op).await?),
            Op::AuditPrune(op) => Done::AuditPrune(self.prune_audit(caller, capsule, op).await?),
            Op::RegistryAuditVerify(_) => {
                Done::RegistryAuditVerify(self.verify_registry_audit(caller).await?)
            }
            Op::RegistryAuditQuery(op) => {
                Done::RegistryAuditQuery(self.query_registry_audit(caller, op.0).await?)
            }
            Op::RegistryAuditPrune(op) => {
                Done::RegistryAuditPrune(self.prune_registry_audit(caller, op).await?)
            }
        })
    }

    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleError> {
        Ok(self.listen(caller))
    }

    async fn close(&self) {
        self.capsules.close().await;
    }
}

/// The id of the capsule that a response is about.
fn id_of(session: &CapsuleHandle) -> String {
    session.capsule().id.clone()
}

/// Reads an address. A text that is none is recorded as a failed call.
async fn address(
    session: &CapsuleHandle,
    action: &'static str,
    uri: &str,
) -> Result<EntryUri, CapsuleError> {
    checked(session, action, EntryUri::parse(uri).map_err(StoreError::from)).await
}

/// Reads a prefix, if there is one.
async fn prefix(
    session: &CapsuleHandle,
    action: &'static str,
    text: Option<&str>,
) -> Result<Option<UriPrefix>, CapsuleError> {
    let parsed = text.map(UriPrefix::parse).transpose().map_err(StoreError::from);
    checked(session, action, parsed).await
}

/// Records input that did not get as far as the store.
async fn checked<T>(
    session: &CapsuleHandle,
    action: &'static str,
    parsed: Result<T, StoreError>,
) -> Result<T, CapsuleError> {
    match parsed {
        Ok(parsed) => Ok(parsed),
        Err(error) => {
            session.note_failure(action, &error)?;
            Err(error.into())
        }
    }
}

#[cfg(test)]
mod tests;
