//! Signs in to a capability's service.

use std::sync::Arc;

use capdeck_backend::{CallError, SignIn};

use crate::deck_snapshot::DeckSnapshot;

/// The sign-in of a capability, behind the same gate as its calls.
pub fn sign_in(deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<SignIn>, CallError> {
    let capability = deck.capability(id)?;
    let described = capability.discovery.as_ref().map(|known| known.scopes.as_slice());
    let connector = &deck.session().host.0.connector;
    connector.sign_in(&capability.definition, described.unwrap_or_default())
}
