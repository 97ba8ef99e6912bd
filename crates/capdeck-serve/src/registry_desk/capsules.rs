//! Capsules that programs make and name.

use capdeck_auth::inbound::capsule_key;
use capdeck_host::CapsuleOperation;
use serde_json::{Value, json};

use super::{Outcome, RegistryDesk, refused::Refused};

impl RegistryDesk {
    /// Makes a capsule that belongs to whoever made it.
    pub(super) async fn create_capsule(
        &self,
        name: String,
        description: Option<String>,
    ) -> Outcome {
        let access = self.manager()?;
        let create = CapsuleOperation::CreateCapsule { name, description, visibility: None };
        let made = self.capsules.ask_for_name(None, create, &access).await;
        let made = made.map_err(Refused::There)?;
        let text = |field: &str| made[field].as_str().unwrap_or_default();
        let key = capsule_key(text("id"), text("uid"));
        let principal = &self.client.principal;
        let claimed = self.registry.claim_capsule(&self.caller(), principal, &key).await;
        if let Err(error) = claimed {
            let gone = self.capsules.ask(Some(&key), CapsuleOperation::PurgeCapsule).await;
            if let Err(failure) = gone {
                tracing::error!(capsule = key, %failure, "cannot remove a capsule that was not finished");
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
        let access = self.manager()?;
        let key = self.capsules.owned(capsule, &access).await?.key();
        if name.is_none() && description.is_none() {
            return Err(Refused::invalid("name", "a new name, a new description or both"));
        }
        let update = CapsuleOperation::UpdateCapsule { name, description, visibility: None };
        let changed = self.capsules.ask_for_name(Some(&key), update, &access).await;
        let changed = changed.map_err(Refused::There)?;
        Ok(json!({ "capsule": owned(changed) }))
    }
}

fn owned(mut capsule: Value) -> Value {
    if let Value::Object(fields) = &mut capsule {
        fields.shift_remove("uid");
        fields.insert("role".to_owned(), "owner".into());
    }
    capsule
}
