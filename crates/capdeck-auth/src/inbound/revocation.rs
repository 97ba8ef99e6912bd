//! A client gives its tokens back (RFC 7009).

use super::{
    ClientProof, Credential, EventCaller, Registry, RegistryError,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    token::{TokenHash, TokenKind},
};
use crate::Secret;

impl Registry {
    /// Ends the connection that a token is of, whichever of its tokens it is. A token that opens nothing, or is another
    /// client's, changes nothing and is no error: nobody learns which it was.
    pub async fn revoke_token(
        &self,
        caller: &EventCaller,
        client: ClientProof,
        token: Secret,
    ) -> Result<(), RegistryError> {
        let subject =
            EventSubject { client_id: Some(client.client_id.clone()), ..EventSubject::default() };
        let event = AuditEvent::new("credential.revoke", caller, subject);
        self.change(event, move |draft| {
            let client = draft.proven_client(&client)?;
            let found = draft.connection_with(token.expose());
            let is_own = |one: &Credential| one.client_id.as_ref() == Some(&client.id);
            let Some(credential) = found.filter(is_own).filter(|one| one.revoked_at.is_none())
            else {
                return Ok(());
            };
            draft.event.subject.id = Some(credential.id.clone());
            draft.event.subject.principal = Some(credential.principal.clone());
            draft.volatile.renewals.lock().remove(&credential.id);
            draft.state.credentials.put(credential.revoked(draft.now));
            Ok(())
        })
        .await
    }
}

impl RegistryTransaction<'_> {
    /// The connection that a token opens, or renews.
    fn connection_with(&self, token: &str) -> Option<Credential> {
        let hash = TokenHash::of(token);
        if let Some(known) = self.state.tokens.get(&hash).filter(|known| known.hash.is(&hash)) {
            return self.state.credentials.get(&known.client.credential).cloned();
        }
        let bytes = TokenKind::Refresh.bytes(token)?;
        let found = self.connection_of(&TokenHash::of_bytes(bytes.first_chunk::<16>()?))?;
        let is_current = found.refresh.as_ref().is_some_and(|kept| kept.current.is(&hash));
        is_current.then_some(found)
    }
}
