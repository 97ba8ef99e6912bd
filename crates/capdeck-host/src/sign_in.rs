//! Signing in to what a capability reaches.

use std::sync::Arc;

use capdeck_backend::{CallError, SignIn};

use crate::Session;

impl Session {
    /// The sign-in of a capability, behind the same gate as its calls.
    pub fn sign_in(&self, id: &str) -> Result<Arc<SignIn>, CallError> {
        let capability = self.capability(id)?;
        let described = capability.discovery.as_ref().map(|known| known.scopes.as_slice());
        self.host.0.connector.sign_in(&capability.definition, described.unwrap_or_default())
    }
}
