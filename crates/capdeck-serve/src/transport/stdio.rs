//! MCP on standard input and output.

use std::io;

use capdeck_host::{Host, Scope};

use crate::mcp::McpService;

/// Serves one client on stdin and stdout until stdin ends, then ends every connection of the host.
pub async fn serve_stdio(host: Host, scope: Scope) -> io::Result<()> {
    let service = McpService::new(host.clone(), scope);
    let outcome =
        capdeck_mcp::server::serve_stdio(tokio::io::stdin(), tokio::io::stdout(), service).await;
    host.close().await;
    outcome
}
