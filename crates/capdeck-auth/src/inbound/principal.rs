//! Who holds grants.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Registry, RegistryError, collection::RegistryRecord, registry::RegistryTransaction,
    token::new_id,
};

/// A program, as one person uses it. It keeps its grants, and what it remembers, over sign-ins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalRecord {
    pub id: String,
    /// What it calls itself.
    pub name: String,
    pub client_id: Option<String>,
    /// The operator who signed in with it, if one did.
    pub operator: Option<String>,
    pub created_at: Timestamp,
}

/// For whom something is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantRecipient {
    /// Somebody who is known already.
    Principal { id: String },
    /// A client as this operator uses it: the same principal each time.
    Client { client_id: String, client_name: String, operator: String },
    /// Somebody new.
    New { name: String, client_id: Option<String> },
}

impl RegistryRecord for PrincipalRecord {
    const FILE: &'static str = "principals.json";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Registry {
    /// A principal by id.
    pub fn principal(&self, id: &str) -> Option<PrincipalRecord> {
        self.state().principals.get(id).cloned()
    }

    /// The principal that a client is when this operator uses it, if they met before.
    pub fn principal_of_client(&self, client_id: &str, operator: &str) -> Option<PrincipalRecord> {
        let state = self.state();
        let found = state.principals.values().find(|one| one.is_of(client_id, operator));
        found.cloned()
    }

    /// Whether this operator let a client in, and did not take all of it back.
    pub fn has_let_in(&self, operator: &str, client_id: &str) -> bool {
        let known = self.principal_of_client(client_id, operator);
        known.is_some_and(|one| !self.state().live_grants(&one.id, self.now()).is_empty())
    }

    /// Everybody that a client is known as: once for each operator who uses it, and for each time it signed up.
    pub fn principals_of_client(&self, client_id: &str) -> Vec<PrincipalRecord> {
        let state = self.state();
        let all = state.principals.values();
        all.filter(|one| one.client_id.as_deref() == Some(client_id)).cloned().collect()
    }
}

impl PrincipalRecord {
    fn is_of(&self, client_id: &str, operator: &str) -> bool {
        self.client_id.as_deref() == Some(client_id) && self.operator.as_deref() == Some(operator)
    }
}

impl RegistryTransaction<'_> {
    /// The principal that is meant, made if it is new.
    pub(super) fn principal(
        &mut self,
        holder: &GrantRecipient,
    ) -> Result<PrincipalRecord, RegistryError> {
        let (name, client_id, operator) = match holder {
            GrantRecipient::Principal { id } => {
                let found = self.state.principals.get(id).cloned();
                return found.ok_or_else(|| RegistryError::not_found("principal", id));
            }
            GrantRecipient::Client { client_id, client_name, operator } => {
                let known = self.state.principals.values();
                if let Some(found) = known.clone().find(|one| one.is_of(client_id, operator)) {
                    return Ok(found.clone());
                }
                (client_name, Some(client_id), Some(operator))
            }
            GrantRecipient::New { name, client_id } => (name, client_id.as_ref(), None),
        };
        let principal = PrincipalRecord {
            id: new_id("prn_")?,
            name: super::text::name("name", name)?,
            client_id: client_id.cloned(),
            operator: operator.cloned(),
            created_at: self.now,
        };
        self.state.principals.put(principal.clone());
        Ok(principal)
    }
}
