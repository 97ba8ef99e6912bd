//! Caplet files.

use super::{Row, caplet, check, front};

/// Frontmatter after a name and a description.
const FRONTMATTER: [Row; 66] = [
    ("stdio server", "mcpServer: {command: npx, args: [-y, x]}", "one mcp"),
    ("remote server", "mcpServer: {url: 'https://a.example/mcp'}", "one mcp"),
    ("sse server", "mcpServer: {transport: sse, url: 'https://a.example/sse'}", "one mcp"),
    ("loopback over http", "mcpServer: {url: 'http://localhost:1/mcp'}", "one mcp"),
    ("plain http elsewhere", "mcpServer: {url: 'http://a.example/mcp'}", "- | E:insecure-url"),
    (
        "command and url",
        "mcpServer: {command: x, url: 'https://a.example'}",
        "- | E:conflicting-keys",
    ),
    ("neither command nor url", "mcpServer: {args: [x]}", "- | E:missing-key"),
    (
        "stdio without command",
        "mcpServer: {transport: stdio, url: 'https://a.example'}",
        "- | E:conflicting-keys",
    ),
    ("unknown transport", "mcpServer: {transport: pipe, command: x}", "- | E:unknown-value"),
    ("a reference in a url", "mcpServer: {url: '${BASE}/mcp'}", "one mcp"),
    (
        "a vault reference",
        "mcpServer: {url: 'https://a.example', auth: {type: bearer, token: $vault:TOKEN}}",
        "one mcp",
    ),
    ("disabled", "mcpServer: {command: x, disabled: true}", "one mcp off"),
    ("zero timeout", "mcpServer: {command: x, callTimeoutMs: 0}", "- | E:out-of-range"),
    ("no caching", "mcpServer: {command: x, toolCacheTtlMs: 0}", "one mcp"),
    ("passed variables", "mcpServer: {command: x, passEnv: [GH_TOKEN, 'AWS_*']}", "one mcp"),
    (
        "passed variables that are no list",
        "mcpServer: {command: x, passEnv: GH_TOKEN}",
        "- | E:wrong-type",
    ),
    ("a command line for a program", "mcpServer: {command: npx -y x}", "one mcp | W:command-line"),
    ("a program with a blank in its path", "mcpServer: {command: '/My Apps/serve'}", "one mcp"),
    (
        "plural servers",
        "mcpServers: {a: {command: x}, b: {url: 'https://b.example'}}",
        "one__a mcp, one__b mcp",
    ),
    ("one bad child", "mcpServers: {a: {command: x}, b: {}}", "one__a mcp | E:missing-key"),
    ("no children", "mcpServers: {}", "- | E:empty-value"),
    ("a child with a bad id", "mcpServers: {'a b': {command: x}}", "- | E:bad-id"),
    (
        "singular and plural",
        "mcpServer: {command: x}\nmcpServers: {a: {command: y}}",
        "- | E:several-backends",
    ),
    (
        "two singulars",
        "mcpServer: {command: x}\nhttpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: /}}}",
        "- | E:several-backends",
    ),
    ("no backend", "tags: [a]", "- | E:missing-backend"),
    ("unknown key", "mcpServer: {command: x}\ncolour: red", "- | E:unknown-key"),
    ("mistyped key", "mcpServer: {comand: x}", "- | E:unknown-key"),
    ("old hints", "useWhen: often\navoidWhen: rarely\nmcpServer: {command: x}", "one mcp"),
    ("blank hint", "useWhen: ' '\nmcpServer: {command: x}", "one mcp | W:empty-value"),
    ("exposure", "exposure: direct_and_code_mode\nmcpServer: {command: x}", "one mcp"),
    ("unknown exposure", "exposure: loud\nmcpServer: {command: x}", "- | E:unknown-value"),
    (
        "binding that is not required",
        "projectBinding: {required: false}\nmcpServer: {command: x}",
        "one mcp",
    ),
    (
        "repeated feature",
        "runtime: {features: [docker, docker]}\nmcpServer: {command: x}",
        "- | E:duplicate-item",
    ),
    (
        "shared auth of a singular",
        "auth: {type: none}\nmcpServer: {url: 'https://a.example'}",
        "- | E:misplaced-auth",
    ),
    (
        "shared auth of children",
        "auth: {type: bearer, token: t}\nmcpServers: {a: {url: 'https://a.example'}}",
        "one__a mcp",
    ),
    (
        "setup with steps",
        "setup: {verify: [{label: ok, command: x}]}\nmcpServer: {command: x}",
        "one mcp",
    ),
    ("setup without steps", "setup: {}\nmcpServer: {command: x}", "- | E:empty-value"),
    (
        "setup with a command line",
        "setup: {verify: [{label: ok, command: x --version}]}\nmcpServer: {command: x}",
        "one mcp | W:command-line",
    ),
    (
        "icon on a private host",
        "catalog: {icon: 'https://localhost/a.png'}\nmcpServer: {command: x}",
        "- | E:bad-icon",
    ),
    ("cli action", "cliTools: {actions: {a: {command: ls, args: [-la]}}}", "one cli"),
    (
        "cli action with an argument",
        "cliTools: {actions: {a: {command: ls, args: [$input.dir], inputSchema: {properties: {dir: {type: string}}}}}}",
        "one cli",
    ),
    (
        "an argument that no schema has",
        "cliTools: {actions: {a: {command: ls, args: [$input.dir], inputSchema: {properties: {path: {type: string}}}}}}",
        "one cli | W:unknown-input",
    ),
    (
        "an argument without any schema",
        "cliTools: {actions: {a: {command: ls, args: [$input.dir]}}}",
        "one cli | W:unknown-input",
    ),
    (
        "an open schema",
        "cliTools: {actions: {a: {command: ls, args: [$input.dir], inputSchema: {type: object, additionalProperties: true}}}}",
        "one cli",
    ),
    (
        "an argument inside another",
        "cliTools: {actions: {a: {command: ls, args: [$input.a.b], inputSchema: {properties: {a: {type: object, properties: {c: {}}}}}}}}",
        "one cli | W:unknown-input",
    ),
    (
        "a bare reference",
        "cliTools: {actions: {a: {command: ls, args: [$input]}}}",
        "one cli | W:bare-input",
    ),
    (
        "a command line as command",
        "cliTools: {actions: {a: {command: ls -la}}}",
        "one cli | W:command-line",
    ),
    (
        "a mistyped type",
        "cliTools: {actions: {a: {command: ls, inputSchema: {properties: {a: {type: strng}}}}}}",
        "one cli | W:unknown-type",
    ),
    (
        "a type deep inside",
        "cliTools: {actions: {a: {command: ls, inputSchema: {properties: {a: {type: array, items: {anyOf: [{type: string}, {type: text}]}}}}}}}",
        "one cli | W:unknown-type",
    ),
    (
        "a property called type",
        "cliTools: {actions: {a: {command: ls, inputSchema: {properties: {type: {type: string}}}}}}",
        "one cli",
    ),
    (
        "a list of types",
        "cliTools: {actions: {a: {command: ls, inputSchema: {properties: {a: {type: [string, 'null']}}}}}}",
        "one cli",
    ),
    (
        "arguments that are no object",
        "cliTools: {actions: {a: {command: ls, inputSchema: {type: array}}}}",
        "one cli | W:wrong-type",
    ),
    ("plural cli", "cliTools: {git: {actions: {a: {command: git}}}}", "one__git cli"),
    (
        "http action",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: /a}}}",
        "one http",
    ),
    (
        "missing auth counts as public",
        "httpApi: {baseUrl: 'https://a.example', actions: {a: {method: GET, path: /a}}}",
        "one http | W:missing-auth",
    ),
    (
        "a placeholder that no schema has",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: '/a/{id}', inputSchema: {properties: {ids: {type: string}}}}}}",
        "one http | W:unknown-input",
    ),
    (
        "a placeholder with its schema",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: '/a/{id}', inputSchema: {properties: {id: {type: string}}}}}}",
        "one http",
    ),
    (
        "body of a GET",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: /a, jsonBody: {}}}}",
        "- | E:conflicting-keys",
    ),
    (
        "a path with a host",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: none}, actions: {a: {method: GET, path: //b}}}",
        "- | E:bad-path",
    ),
    (
        "base URL with a query",
        "httpApi: {baseUrl: 'https://a.example?x=1', auth: {type: none}, actions: {a: {method: GET, path: /}}}",
        "- | E:bad-url",
    ),
    (
        "a private address",
        "httpApi: {baseUrl: 'https://10.0.0.1', auth: {type: none}, actions: {a: {method: GET, path: /}}}",
        "one http | W:private-address",
    ),
    (
        "an opened private address",
        "httpApi: {baseUrl: 'https://10.0.0.1', network: private, auth: {type: none}, actions: {a: {method: GET, path: /}}}",
        "one http",
    ),
    (
        "forbidden header",
        "httpApi: {baseUrl: 'https://a.example', auth: {type: headers, headers: {Host: x}}, actions: {a: {method: GET, path: /}}}",
        "- | E:forbidden-header",
    ),
    (
        "both kinds of specification",
        "openapiEndpoint: {specPath: a.yaml, specUrl: 'https://a.example', auth: {type: none}}",
        "- | E:conflicting-keys W:missing-base-url",
    ),
    (
        "introspection that is not true",
        "graphqlEndpoint: {endpointUrl: 'https://a.example', introspection: false, auth: {type: none}}",
        "- | E:unknown-value",
    ),
    ("set without a folder", "capletSet: {}", "- | E:missing-key"),
];

/// Whole files.
const FILES: [Row; 12] = [
    (
        "a BOM",
        "\u{feff}---\nname: One\ndescription: A thing to try.\nmcpServer: {command: x}\n---\n",
        "one mcp",
    ),
    (
        "CRLF",
        "---\r\nname: One\r\ndescription: A thing to try.\r\nmcpServer: {command: x}\r\n---\r\n",
        "one mcp",
    ),
    ("no frontmatter", "# One\n", "- | E:no-frontmatter"),
    ("no end", "---\nname: One\n", "- | E:no-frontmatter"),
    ("a list", "---\n- a\n---\n", "- | E:wrong-type"),
    ("empty frontmatter", "---\n---\n", "- | E:no-frontmatter"),
    ("a tab", "---\nname: One\n\tdescription: x\n---\n", "- | E:invalid-yaml"),
    (
        "a repeated key",
        "---\nname: One\nname: Two\ndescription: A thing to try.\nmcpServer: {command: x}\n---\n",
        "- | E:duplicate-key",
    ),
    (
        "no name",
        "---\ndescription: A thing to try.\nmcpServer: {command: x}\n---\n",
        "- | E:missing-key",
    ),
    (
        "a long name",
        "---\nname: 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\ndescription: A thing to try.\nmcpServer: {command: x}\n---\n",
        "- | E:wrong-type",
    ),
    (
        "a short description",
        "---\nname: One\ndescription: short\nmcpServer: {command: x}\n---\n",
        "- | E:too-short",
    ),
    (
        "a number as name",
        "---\nname: 1\ndescription: A thing to try.\nmcpServer: {command: x}\n---\n",
        "- | E:wrong-type",
    ),
];

#[test]
fn frontmatter() {
    check(&FRONTMATTER, front);
}

#[test]
fn whole_files() {
    check(&FILES, caplet);
}
