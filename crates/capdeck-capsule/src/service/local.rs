//! The capsule service of the process that has the data folder.

pub(super) mod audit;
mod follow;
pub(super) mod registry;
pub(super) mod transfer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

use self::follow::ChangeBroadcaster;
use super::{
    CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleGrant, CapsuleOperation, CapsuleRequest,
    CapsuleResponse, CapsuleResult, CapsuleService, Reach, bare_name, find_capsule,
};
use crate::{
    CapsuleAccess, CapsuleAuthor, CapsuleHandle, CapsuleInfo, CapsuleRegistry, GitProject, Share,
    StoreError, StoreOptions,
};

/// Does every operation on the data folder. Cheap to clone; the folder is free again when the last clone is gone.
#[derive(Debug, Clone)]
pub struct LocalCapsuleService {
    capsules: CapsuleRegistry,
    broadcaster: Arc<ChangeBroadcaster>,
}

/// A caller with the capsules that it reaches now.
struct ResolvedCaller<'a> {
    author: CapsuleAuthor,
    /// Every capsule it reaches, with what it may do there.
    reached: Vec<(CapsuleInfo, CapsuleAccess)>,
    /// Where that comes from.
    reach: &'a Reach,
}

impl LocalCapsuleService {
    /// Takes the data folder, which is made when it does not exist. Fails with `in_use` when another process has it.
    pub async fn open(folder: &Path, options: StoreOptions) -> CapsuleResult<Self> {
        Ok(Self::over(CapsuleRegistry::open(folder, options).await?))
    }

    /// The service of a data folder that is open.
    pub fn over(capsules: CapsuleRegistry) -> Self {
        Self { capsules, broadcaster: Arc::default() }
    }

    fn resolve<'a>(&self, caller: &'a CapsuleCaller) -> ResolvedCaller<'a> {
        let (mut author, reach) = (caller.author.clone(), &caller.reach);
        let reached = match reach {
            Reach::All => {
                let own = |info| (info, CapsuleAccess::owner());
                self.capsules.list().into_iter().map(own).collect()
            }
            Reach::Share(id) => {
                let share = self.capsules.share(id);
                if let Some(share) = &share {
                    author = author.principal(&share.principal);
                    author = author.principal_name(&format!("share {}", share.name));
                }
                let open = |share: Share| Some((self.capsules.capsule_of(&share)?, share.access));
                share.and_then(open).into_iter().collect()
            }
            Reach::Granted(granted) => self.granted(granted),
        };
        ResolvedCaller { author, reached, reach }
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
}

/// One request while it is worked on.
pub(super) struct ServiceCall<'a> {
    service: &'a LocalCapsuleService,
    caller: &'a CapsuleCaller,
    /// What the capsule is called; absent: the only one that the caller reaches.
    capsule: Option<&'a str>,
}

impl<'a> ServiceCall<'a> {
    fn resolve(&self) -> ResolvedCaller<'a> {
        self.service.resolve(self.caller)
    }

    /// Passes when the caller is the person at this machine.
    fn require_machine(&self, what: &str) -> CapsuleResult<()> {
        self.resolve().require_machine(what)
    }

    /// The id of the capsule, for something that only the person at this machine may do.
    fn own_capsule(&self, what: &str) -> CapsuleResult<String> {
        let resolved = self.resolve();
        let id = resolved.choose(self.capsule)?.0.id.clone();
        resolved.require_machine(what)?;
        Ok(id)
    }

    /// The capsules, with the caller named for what is done to them.
    fn capsules(&self) -> CapsuleRegistry {
        let capsules = self.service.capsules.acting_for(self.caller.author.clone());
        capsules.knowing(self.caller.names.clone())
    }

    /// What changed capsules or shares as a whole, for subscribers to hear of it.
    fn changed<T>(&self, done: T) -> T {
        self.service.broadcaster.capsules_changed();
        done
    }

    pub(super) async fn session(&self) -> CapsuleResult<CapsuleHandle> {
        let (service, resolved) = (self.service, self.resolve());
        let (info, access) = match (resolved.choose(self.capsule), self.capsule) {
            (Ok(chosen), _) => chosen,
            (Err(error), Some(_)) if *resolved.reach != Reach::All => {
                // No capsule has a line of this; the registry has.
                service.capsules.acting_for(resolved.author.clone()).record_unreachable_capsule();
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        };
        let (id, access) = (info.id.clone(), access.clone());
        let session = service.capsules.handle(&id, resolved.author, access).await?;
        service.broadcaster.follow(session.capsule(), session.entries.store.as_ref());
        Ok(match &self.caller.project {
            Some(project) => session.in_project(Arc::new(GitProject::at(project))),
            None => session,
        })
    }
}

impl ResolvedCaller<'_> {
    /// The capsule of this name, or the only one. What is out of reach does not exist.
    fn choose(&self, capsule: Option<&str>) -> CapsuleResult<&(CapsuleInfo, CapsuleAccess)> {
        let Some(asked) = capsule else {
            return match self.reached.as_slice() {
                [only] => Ok(only),
                several => {
                    let choices = several.iter().map(|(info, _)| info);
                    let may_create = *self.reach == Reach::All;
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
    fn require_machine(&self, what: &str) -> CapsuleResult<()> {
        match self.reach {
            Reach::All => Ok(()),
            Reach::Share(_) => Err(CapsuleError::owner_of_machine_only("share", what)),
            Reach::Granted(_) => Err(CapsuleError::owner_of_machine_only("grant", what)),
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
    ) -> CapsuleResult<CapsuleResponse> {
        let CapsuleRequest { caller, capsule, operation } = request;
        let call = ServiceCall { service: self, caller: &caller, capsule: capsule.as_deref() };
        operation.run(&call).await
    }

    async fn changes(&self, caller: CapsuleCaller) -> CapsuleResult<CapsuleChanges> {
        Ok(self.listen(caller))
    }

    async fn close(&self) {
        self.capsules.close().await;
    }
}

fn id_of(session: &CapsuleHandle) -> String {
    session.capsule().id.clone()
}

#[cfg(test)]
mod tests;
