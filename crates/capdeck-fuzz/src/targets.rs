//! The targets, one per parser of foreign bytes.

mod agent_config;
mod archive;
mod definitions;
mod described;
mod echo_service;
mod http_answer;
mod http_headers;
mod http_request;
mod http_server;
mod json_rpc;
mod mcp_client;
mod request_state;
mod split_reader;
mod sse;
mod tool_definition;

use crate::TargetInfo;

/// Every target.
pub const TARGETS: &[TargetInfo] = &[
    TargetInfo {
        name: "caplet",
        about: "Caplet files: frontmatter and Markdown",
        short_run: 1_000,
        open: definitions::caplet,
    },
    TargetInfo {
        name: "config",
        about: "config files of a deck, JSON and YAML",
        short_run: 600,
        open: definitions::config,
    },
    TargetInfo {
        name: "capabilities",
        about: "capabilities.yaml and capabilities.json of a project",
        short_run: 600,
        open: definitions::capabilities,
    },
    TargetInfo {
        name: "cmp",
        about: "manifest.json and capability.json of a CMP tool",
        short_run: 1_000,
        open: definitions::cmp,
    },
    TargetInfo {
        name: "openapi",
        about: "OpenAPI descriptions",
        short_run: 300,
        open: described::openapi,
    },
    TargetInfo {
        name: "graphql",
        about: "GraphQL schemas: SDL and introspection answers",
        short_run: 300,
        open: described::graphql,
    },
    TargetInfo {
        name: "google-discovery",
        about: "Google Discovery documents",
        short_run: 300,
        open: described::google_discovery,
    },
    TargetInfo {
        name: "tool-definition",
        about: "tools as an MCP server lists them",
        short_run: 2_000,
        open: tool_definition::tool_definition,
    },
    TargetInfo {
        name: "json-rpc",
        about: "JSON-RPC lines of a client",
        short_run: 1_500,
        open: json_rpc::json_rpc,
    },
    TargetInfo { name: "sse", about: "server-sent events", short_run: 8_000, open: sse::sse },
    TargetInfo {
        name: "request-state",
        about: "a sealed `requestState` that comes back",
        short_run: 800,
        open: request_state::request_state,
    },
    TargetInfo {
        name: "mcp-client",
        about: "JSON-RPC lines of a server",
        short_run: 600,
        open: mcp_client::mcp_client,
    },
    TargetInfo {
        name: "http-headers",
        about: "headers of requests to an MCP endpoint, and challenges of servers",
        short_run: 1_500,
        open: http_headers::http_headers,
    },
    TargetInfo {
        name: "capsule-archive",
        about: "archives of capsules",
        short_run: 150,
        open: archive::capsule_archive,
    },
    TargetInfo {
        name: "http-server",
        about: "raw requests to the host's own HTTP server",
        short_run: 300,
        open: http_server::http_server,
    },
    TargetInfo {
        name: "agent-config",
        about: "configuration files of agents, edited and taken back",
        short_run: 150,
        open: agent_config::agent_config,
    },
];
