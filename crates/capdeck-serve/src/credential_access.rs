//! The access of a client with a token, as its session asks for it.

use std::{fmt, net::IpAddr, sync::Arc};

use capdeck_auth::inbound::{Access, AuthenticatedClient, Principal, Registry};
use capdeck_host::{AccessSource, CapsuleService, GrantService};
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use tokio::sync::broadcast::error::RecvError;

use crate::registry_grants::RegistryGrantService;

/// Asks the registry, which has the only cache of accesses.
pub(crate) struct CredentialAccess {
    pub(crate) registry: Registry,
    pub(crate) client: Arc<AuthenticatedClient>,
    /// Where the client connects from.
    pub(crate) address: Option<IpAddr>,
    /// What access is requested for.
    pub(crate) capsules: Option<Arc<dyn CapsuleService>>,
}

impl AccessSource for CredentialAccess {
    fn access(&self) -> Arc<Access> {
        let revoked = || Arc::new(Access::none(Principal::named(&self.client.principal)));
        self.registry.access(&self.client.credential).unwrap_or_else(revoked)
    }

    fn grant_desk(&self) -> Option<Arc<dyn GrantService>> {
        let (registry, client) = (self.registry.clone(), Arc::clone(&self.client));
        let capsules = self.capsules.clone()?;
        Some(Arc::new(RegistryGrantService::new(registry, client, self.address, capsules)))
    }

    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        Some(changes(&self.registry))
    }
}

/// Yields whenever something in the registry changes.
pub(crate) fn changes(registry: &Registry) -> BoxStream<'static, ()> {
    let following =
        stream::unfold(registry.changes(), async |mut changes| match changes.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => Some(((), changes)),
            Err(RecvError::Closed) => None,
        });
    following.boxed()
}

impl fmt::Debug for CredentialAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credential = &self.client.credential;
        formatter.debug_struct("CredentialAccess").field("credential", credential).finish()
    }
}
