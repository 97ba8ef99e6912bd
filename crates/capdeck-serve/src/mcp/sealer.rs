//! The sealer for state that modern clients store for the host.

use capdeck_host::{Host, SessionScope, ViewPolicy};
use capdeck_mcp::TextSealer;

/// Uses the host's persistent key, so that a question survives a restart. Endpoints cannot open each other's state.
pub(crate) fn sealer(host: &Host, scope: &SessionScope) -> TextSealer {
    let sealer = match host.seal_key() {
        Ok(key) => TextSealer::new(&key),
        Err(error) => {
            tracing::warn!(%error, "the host has no persistent key; open questions end with the process");
            TextSealer::random()
        }
    };
    match scope {
        SessionScope::Deck(ViewPolicy { view: Some(name), .. }) => {
            sealer.scoped(format!("view {name}"))
        }
        SessionScope::Deck(_) | SessionScope::Operator => sealer.scoped("deck"),
        SessionScope::Transparent(id) => sealer.scoped(format!("server {id}")),
    }
}
