//! Capability files of CAPA.

use super::{Row, capability_file, check};

const YAML: [Row; 27] = [
    ("a command server", "servers: [{id: a, type: mcp, def: {cmd: npx, args: [x]}}]", "a mcp"),
    (
        "a remote server",
        "servers: [{id: a, type: mcp, def: {url: 'https://a.example/mcp'}}]",
        "a mcp",
    ),
    (
        "command and url: the command wins",
        "servers: [{id: a, type: mcp, def: {cmd: x, url: 'https://a.example'}}]",
        "a mcp | W:conflicting-keys",
    ),
    (
        "a whole command line is split later",
        "servers: [{id: a, type: mcp, def: {cmd: npx -y x}}]",
        "a mcp",
    ),
    ("neither command nor url", "servers: [{id: a, type: mcp, def: {}}]", "- | E:missing-key"),
    (
        "the same server twice",
        "servers: [{id: a, type: mcp, def: {cmd: x}}, {id: a, type: mcp, def: {cmd: y}}]",
        "a mcp | E:duplicate-id",
    ),
    (
        "a command tool",
        "tools: [{id: t, type: command, def: {run: {cmd: 'ls {dir}', args: [{name: dir, type: string}]}}}]",
        "commands cli",
    ),
    (
        "a command tool in a group",
        "tools: [{id: t, type: command, group: g, def: {run: {cmd: ls}}}]",
        "g cli",
    ),
    (
        "an open quote",
        "tools: [{id: t, type: command, def: {run: {cmd: \"ls 'x\"}}}]",
        "- | E:bad-command",
    ),
    (
        "an argument of an unknown type",
        "tools: [{id: t, type: command, def: {run: {cmd: ls, args: [{name: a, type: strng}]}}}]",
        "- | E:unknown-value",
    ),
    (
        "a tool of a server",
        "servers: [{id: a, type: mcp, def: {cmd: x}}]\ntools: [{id: t, type: mcp, def: {server: '@a', tool: echo}}]",
        "a mcp",
    ),
    (
        "a tool of no server",
        "tools: [{id: t, type: mcp, def: {server: '@b', tool: echo}}]",
        "- | E:unknown-reference",
    ),
    (
        "a skill that requires a tool",
        "servers: [{id: a, type: mcp, def: {cmd: x}}]\ntools: [{id: t, type: mcp, def: {server: a, tool: echo}}]\nskills: [{id: s, type: inline, def: {content: x, requires: ['@a.t']}}]",
        "a mcp",
    ),
    (
        "a skill that requires what is not there",
        "skills: [{id: s, type: inline, def: {content: x, requires: [nothing]}}]",
        "- | W:unknown-reference",
    ),
    ("a skill without its text", "skills: [{id: s, type: inline, def: {}}]", "- | E:missing-key"),
    (
        "an unsafe skill id",
        "skills: [{id: ../s, type: inline, def: {content: x}}]",
        "- | E:unsafe-id",
    ),
    ("an unknown exposure", "options: {toolExposure: loud}", "- | E:unknown-value"),
    (
        "passed variables",
        "options: {passEnv: [GH_TOKEN]}\nservers: [{id: a, type: mcp, def: {cmd: x}}]",
        "a mcp",
    ),
    ("an unknown key", "colour: red", "- | W:unknown-key"),
    ("a list where a mapping is wanted", "servers: {a: {}}", "- | E:wrong-type"),
    ("a mapping per item only", "servers: [x]", "- | E:wrong-type"),
    ("null sections", "servers: null\ntools: null\nskills: null", "-"),
    ("an empty file", "", "- | E:wrong-type"),
    ("a list", "- a", "- | E:wrong-type"),
    ("an unknown hook event", "hooks: [{id: h, on: sometime, command: x}]", "- | W:unknown-value"),
    (
        "two hooks of one id",
        "hooks: [{id: h, on: stop, command: x}, {id: h, on: stop, command: y}]",
        "- | W:duplicate-id",
    ),
    (
        "secrets from elsewhere",
        "servers: [{id: a, type: mcp, def: {cmd: x, env: {T: {fromEnv: TOKEN}}}}]",
        "a mcp",
    ),
];

#[test]
fn yaml() {
    check(&YAML, |text| capability_file("/project/capabilities.yaml", text));
}

#[test]
fn json() {
    let rows: [Row; 3] = [
        ("a server", r#"{"servers": [{"id": "a", "type": "mcp", "def": {"cmd": "x"}}]}"#, "a mcp"),
        ("half a file", r#"{"servers": ["#, "- | E:invalid-json"),
        ("nothing", "{}", "-"),
    ];
    check(&rows, |text| capability_file("/project/capabilities.json", text));
}
