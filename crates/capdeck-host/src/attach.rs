//! Adds another host's capabilities to this deck and follows their changes.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{CallError, ClientProfile, RemoteHost, TaggedManifest};
use capdeck_catalog::Capability;
use capdeck_definition::{RemoteDeck, ShadowingMode, SourceLayer};

use crate::{
    Host, audience::ClientAudience, discover::ListPreference,
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
}

impl Host {
    /// Adds the other host's deck and follows it. Fails when the other host cannot be reached now;
    /// later failures leave the known deck in place.
    pub async fn attach(&self, attachment: HostAttachment) -> Result<(), CallError> {
        let first = attachment.remote.manifest(None, Duration::ZERO).await?;
        let mut tag = None;
        if let Some(tagged) = first {
            store(self, attachment.deck(&tagged));
            tag = tagged.tag;
        }
        let host = self.downgrade();
        let stop = self.0.stop.clone();
        tokio::spawn(async move {
            let following = async {
                let mut pause = RETRY_DELAYS.0;
                loop {
                    match attachment.remote.manifest(tag.as_deref(), LONG_POLL_TIMEOUT).await {
                        Ok(news) => {
                            pause = RETRY_DELAYS.0;
                            let Some(tagged) = news else { continue };
                            let Some(state) = host.upgrade() else { return };
                            let host = Host(state);
                            store(&host, attachment.deck(&tagged));
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
            tokio::select! {
                () = following => {}
                () = stop.cancelled() => {}
            }
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
        let nobody = SessionConnections::shared(&host, audience);
        let asking = nobody.discover_unknown(new.into_iter(), ListPreference::OwnListOnly);
        for (id, error) in asking.await {
            tracing::warn!(capability = %id, %error, "the attached capability could not be listed");
        }
    });
}

fn store(host: &Host, remote: RemoteDeck) {
    host.0.attached.store(Some(Arc::new(remote)));
    for collision in host.reload_attached() {
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
