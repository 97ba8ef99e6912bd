//! The facts about a server, without the secrets it received.

use capdeck_catalog::ServerDetails;
use capdeck_mcp::client::ServerHello;

use super::McpSession;

impl McpSession {
    /// A server may repeat a secret in its handshake, and the facts are stored on disk.
    pub(super) fn scrubbed_facts(&self, hello: ServerHello) -> ServerDetails {
        let facts = facts(hello);
        let given = &self.parts.given;
        if given.is_empty() {
            return facts;
        }
        let text = serde_json::value::to_raw_value(&facts).map(|text| given.scrub(text));
        text.and_then(|text| serde_json::from_str(text.get())).unwrap_or_default()
    }
}

fn facts(hello: ServerHello) -> ServerDetails {
    ServerDetails {
        protocol_version: hello.revision.as_str().to_owned(),
        capabilities: hello.capabilities,
        server_info: hello.server_info,
        instructions: hello.instructions,
    }
}
