//! Clients go: those that are removed, and those that registered and never came back.

use super::{PrincipalRecord, RegistryError, event::AuditEvent, registry::RegistryTransaction};

impl RegistryTransaction<'_> {
    /// Ends everything that the principals of a client hold.
    pub(super) fn end_client(&mut self, client_id: &str) {
        self.end_principals(|one| one.client_id.as_deref() == Some(client_id));
    }

    /// Ends everything that some principals hold: grants, connections, and what they ask for.
    pub(super) fn end_principals(&mut self, is_meant: impl Fn(&PrincipalRecord) -> bool) {
        let now = self.now;
        let meant = self.state.principals.values().filter(|one| is_meant(one));
        for principal in meant.map(|one| one.id.clone()).collect::<Vec<_>>() {
            for mut grant in self.state.live_grants(&principal, now) {
                grant.revoked_at = Some(now);
                let event = AuditEvent::new("grant.revoke", &self.event.caller, grant.subject());
                self.consequences.push(event);
                self.state.grants.put(grant);
            }
            let requests = self.state.requests.values();
            let waiting: Vec<_> = requests
                .filter(|one| one.principal == principal && one.is_pending(now))
                .cloned()
                .collect();
            for request in waiting {
                let decided_by = self.event.caller.id.clone();
                self.deny(request, decided_by, None);
            }
            self.end_connections_without_grants(&principal);
        }
    }

    /// Makes room for one more client: when there are too many, those go that registered first and hold nothing.
    pub(super) fn make_room_for_client(&mut self) -> Result<(), RegistryError> {
        let limit = self.options.limits.clients;
        if self.state.clients.len() < limit {
            return Ok(());
        }
        let holds = |id: &str| {
            self.state.principals.values().any(|one| one.client_id.as_deref() == Some(id))
        };
        // A client has some time to send a person here before another one may push it out.
        let settled = self.now.checked_sub(self.options.lifetimes.code * 2);
        let unused = self.state.clients.values().filter(|client| {
            !holds(&client.id) && settled.as_ref().is_ok_and(|settled| client.created_at < *settled)
        });
        let oldest = unused.min_by_key(|client| client.created_at).map(|client| client.id.clone());
        let id = oldest.ok_or(RegistryError::Full { what: "clients", limit })?;
        self.state.clients.edit().remove(&id);
        Ok(())
    }
}
