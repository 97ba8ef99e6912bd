//! Config files, with the entries of other clients.

use super::{Row, check, config};

const JSON: [Row; 24] = [
    ("nothing", "{}", "-"),
    ("version", r#"{"version": 1}"#, "-"),
    ("another version", r#"{"version": 2}"#, "- | E:unknown-value"),
    (
        "a full entry",
        r#"{"mcpServers": {"a": {"name": "A", "description": "A server to try.", "command": "x"}}}"#,
        "a mcp",
    ),
    (
        "an entry of another client",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}"#,
        "a mcp",
    ),
    (
        "a remote entry of another client",
        r#"{"mcpServers": {"a": {"type": "streamable-http", "url": "https://a.example"}}}"#,
        "a mcp",
    ),
    (
        "a bearer header of another client",
        r#"{"mcpServers": {"a": {"url": "https://a.example", "headers": {"Authorization": "Bearer ${env:T}"}}}}"#,
        "a mcp",
    ),
    (
        "a name that is no id",
        r#"{"mcpServers": {"My Server": {"command": "x"}}}"#,
        "My-Server mcp | W:renamed-id",
    ),
    (
        "switched off elsewhere",
        r#"{"mcpServers": {"a": {"command": "x", "enabled": false}}}"#,
        "a mcp off",
    ),
    (
        "a key of one client",
        r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["b"]}}}"#,
        "a mcp | W:ignored-key",
    ),
    (
        "an unknown transport",
        r#"{"mcpServers": {"a": {"type": "carrier", "command": "x"}}}"#,
        "- | E:unknown-value",
    ),
    (
        "passed variables in an entry",
        r#"{"mcpServers": {"a": {"command": "gh", "passEnv": ["GH_TOKEN"]}}}"#,
        "a mcp",
    ),
    (
        "passed variables of the deck",
        r#"{"options": {"passEnv": ["AWS_*"]}, "mcpServers": {"a": {"command": "x"}}}"#,
        "a mcp",
    ),
    ("passed variables that are empty", r#"{"options": {"passEnv": [""]}}"#, "- | E:empty-value"),
    (
        "the network of the deck",
        r#"{"options": {"network": "private"}, "httpApis": {"a": {"name": "A", "description": "An API to try.", "baseUrl": "https://10.0.0.1", "auth": {"type": "none"}, "actions": {"b": {"method": "GET", "path": "/"}}}}}"#,
        "a http",
    ),
    ("a network that does not exist", r#"{"options": {"network": "home"}}"#, "- | E:unknown-value"),
    (
        "the same id twice",
        r#"{"mcpServers": {"a": {"command": "x"}}, "cliTools": {"a": {"name": "A", "description": "A tool to try.", "actions": {"b": {"command": "x"}}}}}"#,
        "- | E:duplicate-id",
    ),
    (
        "one bad entry of two",
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": 5}}}"#,
        "a mcp | E:wrong-type",
    ),
    (
        "what Caplets keeps elsewhere",
        r#"{"telemetry": false, "storage": {"type": "sqlite"}, "completion": {"cacheTtlMs": 1}}"#,
        "-",
    ),
    (
        "limits that disagree",
        r#"{"defaultSearchLimit": 40, "maxSearchLimit": 10}"#,
        "- | E:out-of-range",
    ),
    ("too many results", r#"{"maxSearchLimit": 51}"#, "- | E:out-of-range"),
    ("a list", "[]", "- | E:wrong-type"),
    ("a comment", "{\n// no\n}", "- | E:invalid-json"),
    ("half a file", r#"{"mcpServers": {"#, "- | E:invalid-json"),
];

const YAML: [Row; 8] = [
    ("empty", "", "-"),
    ("a server", "mcpServers:\n  a:\n    command: x\n", "a mcp"),
    ("a policy", "policy:\n  - ask: {capability: a}\n", "-"),
    (
        "a policy of two minds",
        "policy:\n  - ask: {capability: a}\n    deny: {capability: a}\n",
        "- | E:conflicting-keys",
    ),
    ("a view", "views: {small: {capabilities: ['git*']}}", "-"),
    ("a view with a bad name", "views: {'a b': {}}", "- | E:bad-id"),
    ("an alias", "a: &x {}\nb: *x\n", "- | E:unknown-key E:unknown-key"),
    ("a number for a text", "mcpServers: {a: {command: 1}}", "- | E:wrong-type"),
];

#[test]
fn json() {
    check(&JSON, |text| config("/deck/config.json", text));
}

#[test]
fn yaml() {
    check(&YAML, |text| config("/deck/config.yaml", text));
}
