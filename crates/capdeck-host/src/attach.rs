//! Adds another host's capabilities to this deck and follows their changes.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{CallError, ClientProfile, RemoteHost, Tagged};
use capdeck_catalog::Capability;
use capdeck_definition::{Layer, RemoteDeck, Shadowing};

use crate::{Host, audience::Audience, connections::Connections, discover::Hurry};

/// How long the other host may hold a request until something changes.
const WAIT: Duration = Duration::from_secs(25);

/// First and longest pause while the other host cannot be reached.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

/// Another host whose deck is part of this one.
#[derive(Debug)]
pub struct Attachment {
    remote: RemoteHost,
    key_variable: Option<String>,
}

impl Attachment {
    pub fn new(remote: RemoteHost, key_variable: Option<String>) -> Self {
        Self { remote, key_variable }
    }

    fn deck(&self, tagged: &Tagged) -> RemoteDeck {
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
    pub async fn attach(&self, attachment: Attachment) -> Result<(), CallError> {
        let first = attachment.remote.manifest(None, Duration::ZERO).await?;
        let mut tag = None;
        if let Some(tagged) = first {
            self.lay_in(attachment.deck(&tagged));
            tag = tagged.tag;
        }
        let host = self.downgrade();
        let stop = self.0.stop.clone();
        tokio::spawn(async move {
            let following = async {
                let mut pause = PAUSES.0;
                loop {
                    match attachment.remote.manifest(tag.as_deref(), WAIT).await {
                        Ok(news) => {
                            pause = PAUSES.0;
                            let Some(tagged) = news else { continue };
                            let Some(state) = host.upgrade() else { return };
                            let host = Host(state);
                            host.lay_in(attachment.deck(&tagged));
                            host.learn_attached();
                            tag = tagged.tag;
                        }
                        Err(error) => {
                            if pause == PAUSES.0 {
                                tracing::warn!(%error, "cannot follow the attached host; retrying");
                            }
                            tokio::time::sleep(pause).await;
                            pause = (pause * 2).min(PAUSES.1);
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

    /// Discovers the new tools, so that clients are notified without asking.
    fn learn_attached(&self) {
        let catalog = self.catalog();
        let is_new = |one: &&Arc<Capability>| {
            one.definition.source.layer == Layer::Remote && one.discovery.is_none()
        };
        let new: Vec<_> =
            catalog.capabilities().filter(|one| one.is_usable()).filter(is_new).cloned().collect();
        let host = self.clone();
        tokio::spawn(async move {
            let nobody = Connections::shared(Audience::new(ClientProfile::default()));
            let asking = host.discover_unknown(new.into_iter(), &nobody, Hurry::OwnListOnly);
            for (id, error) in asking.await {
                tracing::warn!(capability = %id, %error, "the attached capability could not be listed");
            }
        });
    }

    fn lay_in(&self, remote: RemoteDeck) {
        self.0.attached.store(Some(Arc::new(remote)));
        for collision in self.reload_attached() {
            let id = &collision.id;
            match collision.shadowing {
                Shadowing::Forbid => {
                    tracing::warn!(%id, "the attached host's capability replaces the local one");
                }
                Shadowing::Allow => {
                    tracing::info!(%id, "the local capability replaces the attached host's");
                }
                Shadowing::Namespace => {
                    tracing::info!(%id, "both the local and the attached capability are offered, under names of their own");
                }
            }
        }
    }
}
