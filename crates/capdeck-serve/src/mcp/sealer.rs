//! The sealer for state that modern clients store for the host.

use capdeck_host::{Host, Scope, ViewPolicy};
use capdeck_mcp::Sealer;

/// Uses the host's persistent key, so that a question survives a restart. Endpoints cannot open each other's state.
pub(crate) fn sealer(host: &Host, scope: &Scope) -> Sealer {
    let sealer = match host.seal_key() {
        Ok(key) => Sealer::new(&key),
        Err(error) => {
            tracing::warn!(%error, "the host has no persistent key; open questions end with the process");
            Sealer::random()
        }
    };
    match scope {
        Scope::Deck(ViewPolicy { view: Some(name), .. }) => sealer.scoped(format!("view {name}")),
        Scope::Deck(_) | Scope::Operator => sealer.scoped("deck"),
        Scope::Transparent(id) => sealer.scoped(format!("server {id}")),
    }
}
