//! Capsules as a whole: which there are, and making, changing and deleting them.

use capdeck_capsule::{Access, CapsuleUpdate, Store as _, Visibility};
use serde_json::{Map, Value, json};

use super::{Admitted, Answer, LocalDesk, Way};
use crate::capsules::{CapsuleCaller, CapsuleFailure};

impl LocalDesk {
    /// Every capsule that the caller reaches, with what it may do there.
    pub(super) async fn list_capsules(&self, caller: &CapsuleCaller, with_counts: bool) -> Answer {
        let mut listed = Vec::new();
        let Admitted { reached, way, .. } = self.admit(caller);
        for (info, access) in reached {
            let mut fields = Map::new();
            for part in [json!(info), json!(access)] {
                if let Value::Object(part) = part {
                    fields.extend(part);
                }
            }
            if with_counts {
                // One that cannot be opened costs only its own count.
                let (key, value) = match self.count_entries(&info.id, &access).await {
                    Ok(entries) => ("entries", entries.into()),
                    Err(failure) => {
                        tracing::warn!(capsule = info.id, %failure, "a capsule cannot be opened");
                        ("problem", problem_for(way, failure).into())
                    }
                };
                fields.insert(key.to_owned(), value);
            }
            listed.push(fields);
        }
        Ok(json!({ "capsules": listed }))
    }

    async fn count_entries(&self, id: &str, access: &Access) -> Result<usize, CapsuleFailure> {
        let counts = self.capsules.store(id).await?.counts(&access.scope).await?;
        Ok(counts.iter().map(|scheme| scheme.entries).sum())
    }

    pub(super) async fn create_capsule(
        &self,
        caller: &CapsuleCaller,
        new: CapsuleUpdate,
    ) -> Answer {
        self.admit(caller).require_machine("make capsules")?;
        let capsules = self.capsules.acting_for(caller.author.clone());
        let info = capsules.create_among(new, caller.names.clone()).await?;
        self.hub.capsules_changed();
        Ok(json!(info))
    }

    pub(super) async fn update_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        update: CapsuleUpdate,
    ) -> Answer {
        let admitted = self.admit(caller);
        let id = &admitted.choose(capsule)?.0.id;
        admitted.require_machine("change a capsule")?;
        let capsules = self.capsules.acting_for(caller.author.clone());
        let info = capsules.update_among(id, update, caller.names.clone()).await?;
        self.hub.capsules_changed();
        Ok(json!(info))
    }

    pub(super) async fn delete_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Answer {
        let admitted = self.admit(caller);
        let id = &admitted.choose(capsule)?.0.id;
        admitted.require_machine("delete a capsule")?;
        let info = self.capsules.acting_for(caller.author.clone()).delete(id).await?;
        self.hub.capsules_changed();
        Ok(json!(info))
    }

    /// A capsule that is there goes; of one that went before, what was kept of it.
    pub(super) async fn purge_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Answer {
        let admitted = self.admit(caller);
        let capsules = self.capsules.acting_for(caller.author.clone());
        let is_machine = admitted.require_machine("purge a capsule");
        match (admitted.choose(capsule), capsule) {
            (Ok((info, _)), _) => {
                is_machine?;
                let mut told = json!(capsules.purge(&info.id).await?);
                told["purged"] = 1.into();
                self.hub.capsules_changed();
                Ok(told)
            }
            (Err(failure), Some(id)) if failure.code == "not_found" && is_machine.is_ok() => {
                Ok(json!({ "id": id, "purged": capsules.purge_deleted(id).await? }))
            }
            (Err(failure), _) => Err(failure),
        }
    }

    /// What anyone may learn of capsules that want to be found, and nothing else of them.
    pub(super) fn discover(&self) -> Value {
        let all = self.capsules.list();
        let found = all.iter().filter(|info| info.visibility == Visibility::Discoverable);
        let shown = found.map(|info| json!({ "name": info.name, "description": info.description }));
        json!({ "capsules": shown.collect::<Vec<_>>() })
    }
}

/// Why a capsule cannot be opened. The reason may name what a guest does not reach, so only the machine's owner gets it.
pub(super) fn problem_for(way: Way, failure: CapsuleFailure) -> String {
    match way {
        Way::Machine => failure.message,
        Way::Share | Way::Grant => "a part of it cannot be read now".to_owned(),
    }
}
