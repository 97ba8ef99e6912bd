//! Adds another host's capabilities to this deck and follows their changes.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{CallError, ClientProfile, RemoteHost, TaggedManifest};
use capdeck_catalog::Capability;
use capdeck_definition::{RemoteDeck, ShadowingMode, SourceLayer};

use crate::{
    Host,
    audience::ClientAudience,
    discover::{DiscoveryPurpose, MissingList},
    session_connections::SessionConnections,
};

/// How long the other host may hold a request until something changes.
const LONG_POLL_TIMEOUT: Duration = Duration::from_secs(25);

/// First and longest pause while the other host cannot be reached.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

/// Another host whose deck is part of this one.
#[derive(Debug)]
pub struct HostAttachment {
    remote: RemoteHost,
    key_variable: Option<String>,
}

impl HostAttachment {
    pub fn new(remote: RemoteHost, key_variable: Option<String>) -> Self {
        Self { remote, key_variable }
    }

    fn deck(&self, tagged: &TaggedManifest) -> RemoteDeck {
        RemoteDeck {
            origin: self.remote.origin().to_owned(),
            key_variable: self.key_variable.clone(),
            capabilities: tagged.manifest.capabilities.clone(),
        }
    }

    /// Adds the other host's deck to this one and follows it. Fails when the other host cannot be
    /// reached now; later failures leave the known deck in place.
    pub async fn attach_to(self, host: &Host) -> Result<(), CallError> {
        let first = self.remote.manifest(None, Duration::ZERO).await?;
        let mut tag = None;
        if let Some(tagged) = first {
            store(host, self.deck(&tagged));
            tag = tagged.tag;
        }
        let stop = host.0.stop.clone();
        let host = Arc::downgrade(&host.0);
        tokio::spawn(async move {
            let following = async {
                let mut pause = RETRY_DELAYS.0;
                loop {
                    match self.remote.manifest(tag.as_deref(), LONG_POLL_TIMEOUT).await {
                        Ok(news) => {
                            pause = RETRY_DELAYS.0;
                            let Some(tagged) = news else { continue };
                            let Some(state) = host.upgrade() else { return };
                            let host = Host(state);
                            store(&host, self.deck(&tagged));
                            discover_new(&host);
                            tag = tagged.tag;
                        }
                        Err(error) => {
                            if pause == RETRY_DELAYS.0 {
                                tracing::warn!(%error, "cannot follow the attached host; retrying");
                            }
                            tokio::time::sleep(pause).await;
                            pause = (pause * 2).min(RETRY_DELAYS.1);
                        }
                    }
                }
            };
            stop.run_until_cancelled(following).await;
        });
        Ok(())
    }
}

/// Discovers the new tools, so that clients are notified without asking.
fn discover_new(host: &Host) {
    let catalog = host.catalog();
    let is_new = |one: &&Arc<Capability>| {
        one.definition.source.layer == SourceLayer::Remote && one.discovery.is_none()
    };
    let new: Vec<_> =
        catalog.capabilities().filter(|one| one.is_usable()).filter(is_new).cloned().collect();
    let host = host.clone();
    tokio::spawn(async move {
        let audience = ClientAudience::new(ClientProfile::default());
        let connections = SessionConnections::shared(&host, audience);
        let asking = connections.discover_unknown(new.into_iter(), DiscoveryPurpose::Listing);
        for MissingList { id, error, .. } in asking.await {
            tracing::warn!(capability = %id, %error, "the attached capability could not be listed");
        }
    });
}

fn store(host: &Host, remote: RemoteDeck) {
    host.0.attached.store(Some(Arc::new(remote)));
    for collision in host.reload() {
        let id = &collision.id;
        match collision.shadowing {
            ShadowingMode::Forbid => {
                tracing::warn!(%id, "the attached host's capability replaces the local one");
            }
            ShadowingMode::Allow => {
                tracing::info!(%id, "the local capability replaces the attached host's");
            }
            ShadowingMode::Namespace => {
                tracing::info!(%id, "both the local and the attached capability are offered, under names of their own");
            }
        }
    }
}
