//! `mcpServer`: a Model Context Protocol server, local or remote.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{is_default, number};
use crate::{BackendAuth, ChaosConfig, Glob, capability_file::ServerToolFilter};

const CALL_TIMEOUT_MS: u64 = 60_000;
const TOOL_CACHE_TTL_MS: u64 = 30_000;

/// An MCP server, started by `command` or reached at `url`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// Downstream transport. Defaults to stdio with `command`, to http with `url`.
    pub transport: Option<McpTransport>,
    /// Which protocol era to speak. `auto` asks the server once and remembers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol_era: ProtocolEra,
    /// Program to start for a stdio server.
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of the started program.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Environment variables of the host that the program gets too, if they are set; `*` and `?` are wildcards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<Glob>,
    #[schemars(length(min = 1))]
    pub cwd: Option<String>,
    #[schemars(length(min = 1))]
    pub url: Option<String>,
    pub auth: Option<BackendAuth>,
    /// How long its start may take. Absent: 10 seconds, or as long as a launcher such as `npx` needs to install it, 90
    /// seconds at least.
    #[schemars(range(min = 1))]
    pub startup_timeout_ms: Option<u64>,
    #[serde(default = "number::<CALL_TIMEOUT_MS>")]
    #[schemars(range(min = 1))]
    pub call_timeout_ms: u64,
    /// How long a tool list stays fresh. 0 asks again every time.
    #[serde(default = "number::<TOOL_CACHE_TTL_MS>")]
    pub tool_cache_ttl_ms: u64,
    /// Stop the server after this long without a call. Absent means it stays.
    #[schemars(range(min = 1))]
    pub idle_timeout_ms: Option<u64>,
    /// How many processes of it run for single clients at once; further clients wait for one. 1 gives all clients the
    /// same process, and it cannot ask them anything outside their calls. 32 when left out.
    #[schemars(range(min = 1, max = 1024))]
    pub max_processes: Option<u32>,
    /// Which of its tools are offered. All of them when left out.
    pub tools: Option<ToolFilter>,
    /// Faults to inject between the host and the server, for trying out what happens then.
    pub chaos: Option<ChaosConfig>,
}

/// A choice among the tools of a server, by the server's own names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct ToolFilter {
    /// These and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exactly: Option<Vec<String>>,
    /// None of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

impl ToolFilter {
    /// The choice as a capability file makes it.
    pub fn to_expose(&self) -> ServerToolFilter {
        match &self.exactly {
            None => ServerToolFilter::Except(self.except.clone()),
            Some(names) => {
                let offered = names.iter().filter(|name| !self.except.contains(name));
                ServerToolFilter::Exactly(offered.cloned().collect())
            }
        }
    }
}

/// How bytes reach an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    Stdio,
    Http,
    Sse,
}

/// Which era of the protocol a server is spoken to in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolEra {
    #[default]
    Auto,
    /// Handshake and session: revisions up to 2025-11-25.
    Legacy,
    /// Requests without a session: revision 2026-07-28.
    Modern,
}

impl Default for McpServer {
    /// A server of which nothing is said yet, neither how it is started nor where it is.
    fn default() -> Self {
        Self {
            transport: None,
            protocol_era: ProtocolEra::Auto,
            command: None,
            args: Vec::new(),
            env: IndexMap::new(),
            pass_env: Vec::new(),
            cwd: None,
            url: None,
            auth: None,
            startup_timeout_ms: None,
            call_timeout_ms: CALL_TIMEOUT_MS,
            tool_cache_ttl_ms: TOOL_CACHE_TTL_MS,
            idle_timeout_ms: None,
            max_processes: None,
            tools: None,
            chaos: None,
        }
    }
}

impl McpServer {
    /// A server at this address, with everything else as if its file left it out.
    pub fn at(url: String) -> Self {
        Self { url: Some(url), ..Self::default() }
    }

    /// The transport in force: the declared one, else what `command` or `url` implies.
    pub fn effective_transport(&self) -> McpTransport {
        self.transport.unwrap_or(if self.command.is_some() {
            McpTransport::Stdio
        } else {
            McpTransport::Http
        })
    }
}
