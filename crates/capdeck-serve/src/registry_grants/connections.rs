//! Who uses the capsules of a program that manages, and how it takes that back.
//!
//! A connection here is what the interface for programs calls one as well: one grant. Taking back a grant leaves its holder
//! everything else; one that has nothing left is out.

use capdeck_auth::inbound::{ApprovalMode, Grant, GrantQuery, PageRequest, RegistryError};
use serde_json::{Value, json};

use super::{GrantResult, RegistryGrantService, refused::GrantRefusal, shown};

/// How many grants of one capsule are looked at.
const MAX_GRANTS: usize = 200;

impl RegistryGrantService {
    /// Grants that the connection may take back.
    pub(super) async fn list_connections(&self) -> GrantResult {
        let access = self.manage_access()?;
        if self.registry.approval().policy().mode != ApprovalMode::Supervisor {
            let reason = "only operators decide about access here";
            return Err(GrantRefusal::Here(RegistryError::Forbidden { reason }));
        }
        let mut capsules: Vec<&str> =
            access.capsules.iter().map(|one| one.capsule.as_str()).collect();
        capsules.sort_unstable();
        capsules.dedup();
        let (decider, mut connections, mut has_more) = (self.decider(), Vec::<Value>::new(), false);
        for capsule in capsules {
            let about = GrantQuery {
                capsule: Some(capsule.to_owned()),
                live_only: true,
                ..GrantQuery::default()
            };
            let page = PageRequest { cursor: None, limit: Some(MAX_GRANTS) };
            let found =
                self.registry.grants().list(&about, &page).map_err(GrantRefusal::by_registry)?;
            has_more |= found.next_cursor.is_some();
            let is_theirs = |grant: &&Grant| {
                grant.principal != self.client.principal
                    && self.registry.grants().may_take_back(&decider, grant)
            };
            let shown = |grant: &Grant| shown::connection(&self.registry, grant);
            connections.extend(found.items.iter().filter(is_theirs).map(shown));
        }
        self.record_audit("connection.list", None).await;
        let mut answer = json!({ "connections": connections });
        if has_more {
            answer["has_more"] = true.into();
        }
        Ok(answer)
    }

    /// Takes one of them back, from the next request on.
    pub(super) async fn revoke_connection(&self, id: &str) -> GrantResult {
        self.manage_access()?;
        let revoked = self.registry.grants().revoke(&self.caller(), &self.decider(), id).await;
        let grant = revoked.map_err(GrantRefusal::by_registry)?;
        Ok(json!({ "connection_id": grant.id, "status": "revoked" }))
    }
}
