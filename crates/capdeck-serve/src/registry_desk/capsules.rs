//! Capsules that programs make and name.

use capdeck_host::{CapsuleFailure, CapsuleOperation};
use serde_json::{Value, json};

use super::{Outcome, RegistryDesk, refused::Refused};

impl RegistryDesk {
    /// Makes a capsule that belongs to whoever made it.
    pub(super) async fn create_capsule(
        &self,
        name: String,
        description: Option<String>,
    ) -> Outcome {
        self.manager()?;
        let create = CapsuleOperation::CreateCapsule { name, description, visibility: None };
        let made = self.capsules.ask(None, create).await.map_err(without_others)?;
        let id = made["id"].as_str().unwrap_or_default().to_owned();
        let principal = &self.standing.principal;
        let claimed = self.registry.claim_capsule(&self.caller(), principal, &id).await;
        if let Err(error) = claimed {
            // A capsule that is nobody's would only keep its name from everybody.
            let gone = self.capsules.ask(Some(&id), CapsuleOperation::DeleteCapsule).await;
            if let Err(failure) = gone {
                tracing::warn!(capsule = id, %failure, "a capsule that is nobody's was left behind");
            }
            return Err(Refused::by_registry(error));
        }
        Ok(json!({ "capsule": owned(made) }))
    }

    /// Renames or describes a capsule.
    pub(super) async fn update_capsule(
        &self,
        capsule: &str,
        name: Option<String>,
        description: Option<String>,
    ) -> Outcome {
        let id = self.capsules.owned(capsule, &*self.manager()?).await?;
        if name.is_none() && description.is_none() {
            return Err(Refused::invalid("name", "a new name, a new description or both"));
        }
        let update = CapsuleOperation::UpdateCapsule { name, description, visibility: None };
        let changed = self.capsules.ask(Some(&id), update).await.map_err(without_others)?;
        Ok(json!({ "capsule": owned(changed) }))
    }
}

fn owned(mut capsule: Value) -> Value {
    capsule["role"] = "owner".into();
    capsule
}

/// A name that is taken may be that of a capsule that the client may not know of, so nothing else of it is told.
fn without_others(failure: CapsuleFailure) -> Refused {
    Refused::There(match failure.code.as_str() {
        "exists" => CapsuleFailure::new("exists", "this name cannot be used here")
            .hint("choose another name"),
        _ => failure,
    })
}
