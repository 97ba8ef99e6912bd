//! What seals the texts that modern clients keep for the host.

use capdeck_host::{Host, Scope, ViewPolicy};
use capdeck_mcp::Sealer;

/// A sealer with the host's own key, so that a question outlives a restart. Endpoints do not open each other's texts.
pub(crate) fn sealer(host: &Host, scope: &Scope) -> Sealer {
    let sealer = match host.seal_key() {
        Ok(key) => Sealer::new(&key),
        Err(error) => {
            tracing::warn!(%error, "the host has no lasting key; open questions end with it");
            Sealer::random()
        }
    };
    match scope {
        Scope::Deck(ViewPolicy { view: Some(name), .. }) => sealer.scoped(format!("view {name}")),
        Scope::Deck(_) | Scope::Operator => sealer.scoped("deck"),
        Scope::Transparent(id) => sealer.scoped(format!("server {id}")),
    }
}
