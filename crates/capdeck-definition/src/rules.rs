//! What a schema cannot say: rules between fields, URLs, headers and paths.

mod inputs;
mod shared;
mod values;

use std::path::{Component, Path, PathBuf};

pub(crate) use shared::{check_hint, check_icon, check_shared};
pub use values::FORBIDDEN_HEADERS;
pub(crate) use values::{PRIVATE_ADDRESS, bearer_token, check_auth, is_authorization};

use self::{
    inputs::{DeclaredInputs, check_program, check_types},
    shared::check_input_schema,
    values::{check_base, check_header_name, check_network, check_remote},
};
use crate::{
    ActionSchemas, ActionText, Backend, CapletSet, ChaosConfig, ChaosDelay, CliTools,
    GoogleDiscoveryApi, GraphQlEndpoint, HttpAction, HttpApi, HttpBlock, HttpMethod, McpServer,
    McpTransport, OpenApiEndpoint,
    diagnostic::{FileFindings, TextPosition},
    document::ValueNode,
    pattern::holds_reference,
    suggest::quoted_list,
};

/// A declared backend while it is checked.
pub(crate) struct BackendCheck<'a> {
    pub(crate) node: &'a ValueNode,
    /// Where relative paths start.
    pub(crate) base_dir: &'a Path,
    /// Config files may not point above their own folder.
    pub(crate) is_config: bool,
    /// Whether the file's own `auth` replaces a missing one.
    pub(crate) has_shared_auth: bool,
    pub(crate) findings: &'a mut FileFindings,
}

impl BackendCheck<'_> {
    /// Checks a backend and resolves its relative paths.
    pub(crate) fn check(mut self, backend: &mut Backend) {
        match backend {
            Backend::Mcp(server) => self.check_mcp(server),
            Backend::OpenApi(api) => self.check_openapi(api),
            Backend::GoogleDiscovery(api) => self.check_google(api),
            Backend::GraphQl(api) => self.check_graphql(api),
            Backend::Http(api) => self.check_http(api),
            Backend::Cli(tools) => self.check_cli(tools),
            // Checked as a whole where its files are read, or in no file at all.
            Backend::Cmp(_) | Backend::Capsules => {}
            Backend::Caplets(set) => self.check_set(set),
        }
    }

    fn check_mcp(&mut self, server: &McpServer) {
        let keys = [("command", server.command.is_some()), ("url", server.url.is_some())];
        exactly_one(&keys, self.node, self.findings);
        if let Some(command) = &server.command {
            check_program(command, self.node.child("command").place, self.findings);
        }
        self.check_address(server.url.as_ref(), "url");
        let needed = match server.transport {
            Some(McpTransport::Stdio) => Some(("stdio", "command", server.command.is_none())),
            Some(McpTransport::Http) => Some(("http", "url", server.url.is_none())),
            Some(McpTransport::Sse) => Some(("sse", "url", server.url.is_none())),
            None => None,
        };
        if let Some((transport, key, true)) = needed {
            self.findings.at(self.node.key_place("transport")).error(
                "conflicting-keys",
                format!("the transport `{transport}` needs `{key}`"),
                format!("add `{key}`, or remove `transport`"),
            );
        }
        if let Some(declared) = &server.auth {
            check_auth(declared, self.node, self.findings);
        }
        if let Some(declared) = &server.chaos {
            self.check_chaos(declared);
        }
    }

    /// Checks what ranges of single numbers cannot say.
    fn check_chaos(&mut self, chaos: &ChaosConfig) {
        let block = self.node.child("chaos");
        if chaos.is_idle() {
            let message = "`chaos` injects no fault";
            let fix = "add a fault such as `drop: 0.1`, or remove `chaos`";
            self.findings.at(self.node.key_place("chaos")).warning("empty-value", message, fix);
        }
        if let Some(ChaosDelay::Between(range)) = chaos.delay_ms
            && range.min > range.max
        {
            self.findings.at(block.child("delayMs").child("min").place).error(
                "out-of-range",
                "`min` of `delayMs` is more than its `max`",
                "swap the two",
            );
        }
        // One request has one of these faults, so that each happens as often as it says.
        let exclusive = [
            ("drop", chaos.drop),
            ("truncate", chaos.truncate),
            ("malformed", chaos.malformed),
            ("expire", chaos.expire),
        ];
        let sum: f64 = exclusive.iter().map(|(_, share)| share).sum();
        // Shares such as 0.1 are not exact; a sum that is one on paper may be a hair more.
        if sum > 1.0 + 1e-9 {
            let last = exclusive.iter().rev().find(|(_, share)| *share > 0.0);
            let key = last.map_or("drop", |(key, _)| key);
            self.findings.at(block.child(key).place).error(
                "out-of-range",
                "`drop`, `truncate`, `malformed` and `expire` of `chaos` are more than 1 together",
                "lower them: a request has at most one of these faults",
            );
        }
    }

    fn check_openapi(&mut self, api: &mut OpenApiEndpoint) {
        let keys = [("specPath", api.spec_path.is_some()), ("specUrl", api.spec_url.is_some())];
        exactly_one(&keys, self.node, self.findings);
        self.resolve_input(&mut api.spec_path, "specPath", self.node);
        self.check_address(api.spec_url.as_ref(), "specUrl");
        if api.spec_url.is_some() && api.import.base_url.is_none() {
            self.findings.at(self.node.key_place("specUrl")).warning(
                "missing-base-url",
                "`specUrl` is given without `baseUrl`, so the document alone decides where requests \
                 go",
                "add `baseUrl` with the address of the API",
            );
        }
        self.check_address(api.import.base_url.as_ref(), "baseUrl");
        self.check_requests(api);
    }

    fn check_google(&mut self, api: &mut GoogleDiscoveryApi) {
        let keys = [
            ("discoveryPath", api.discovery_path.is_some()),
            ("discoveryUrl", api.discovery_url.is_some()),
        ];
        exactly_one(&keys, self.node, self.findings);
        self.resolve_input(&mut api.discovery_path, "discoveryPath", self.node);
        self.check_address(api.discovery_url.as_ref(), "discoveryUrl");
        if let Some(address) = &api.import.base_url {
            check_base(address, "baseUrl", self.node, self.findings);
        }
        self.check_requests(api);
    }

    fn check_graphql(&mut self, api: &mut GraphQlEndpoint) {
        self.check_address(Some(&api.endpoint_url), "endpointUrl");
        let keys = [
            ("schemaPath", api.schema_path.is_some()),
            ("schemaUrl", api.schema_url.is_some()),
            ("introspection", api.introspection.is_some()),
        ];
        exactly_one(&keys, self.node, self.findings);
        self.resolve_input(&mut api.schema_path, "schemaPath", self.node);
        self.check_address(api.schema_url.as_ref(), "schemaUrl");
        let operations = self.node.child("operations");
        for (name, operation) in &mut api.operations {
            let node = operations.child(name);
            let keys = [
                ("document", operation.document.is_some()),
                ("documentPath", operation.document_path.is_some()),
            ];
            exactly_one(&keys, node, self.findings);
            self.resolve_input(&mut operation.document_path, "documentPath", node);
            check_hints(&mut operation.text, node, self.findings);
        }
        self.check_requests(api);
    }

    fn check_http(&mut self, api: &mut HttpApi) {
        check_base(&api.base_url, "baseUrl", self.node, self.findings);
        let actions = self.node.child("actions");
        for (name, action) in &mut api.actions {
            check_action(action, actions.child(name), self.findings);
        }
        self.check_requests(api);
    }

    /// Checks what every API has. One that says nothing about sign-in is taken as public.
    fn check_requests(&mut self, api: &impl HttpBlock) {
        check_network(api, self.node, self.findings);
        if self.node.get("auth").is_none() && !self.has_shared_auth {
            let message = "no `auth` is given, so requests carry no credentials";
            let fix = "add `auth: { type: none }` if the API is public";
            self.findings.at(self.node.place).warning("missing-auth", message, fix);
        }
        check_auth(&api.requests().auth, self.node, self.findings);
    }

    fn check_cli(&mut self, tools: &mut CliTools) {
        let node = self.node;
        for (name, value) in &tools.env {
            check_input(value, node.child("env").child(name).place, self.findings);
        }
        self.resolve(&mut tools.cwd);
        let actions = node.child("actions");
        for (name, action) in &mut tools.actions {
            let node = actions.child(name);
            let inputs = DeclaredInputs(action.schemas.input_schema.as_ref());
            let program = &action.program;
            check_program(&program.command, node.child("command").place, self.findings);
            let args = program.args.iter().enumerate();
            let args = args.map(|(index, arg)| (arg, node.child("args").item(index).place));
            let env = program.env.iter();
            let env = env.map(|(name, value)| (value, node.child("env").child(name).place));
            let command = [(&program.command, node.child("command").place)];
            let cwd = program.cwd.iter().map(|cwd| (cwd, node.child("cwd").place));
            for (text, place) in command.into_iter().chain(args).chain(env).chain(cwd) {
                check_input(text, place, self.findings);
                inputs.check_text(text, place, self.findings);
            }
            check_schemas(&action.schemas, node, self.findings);
            self.resolve(&mut action.program.cwd);
            check_hints(&mut action.text, node, self.findings);
        }
    }

    fn check_set(&mut self, set: &mut CapletSet) {
        let node = self.node;
        if set.config_path.is_none() && set.caplets_root.is_none() {
            self.findings.at(node.place).error(
                "missing-key",
                "one of `configPath`, `capletsRoot` is needed",
                "add `capletsRoot` with a folder of Caplet files, `configPath` with a config file, \
                 or both",
            );
        }
        self.resolve_input(&mut set.config_path, "configPath", node);
        self.resolve_input(&mut set.caplets_root, "capletsRoot", node);
        if set.default_search_limit > set.max_search_limit {
            self.findings.at(node.child("defaultSearchLimit").place).error(
                "out-of-range",
                "`defaultSearchLimit` is larger than `maxSearchLimit`",
                format!("use at most {}", set.max_search_limit),
            );
        }
    }

    fn check_address(&mut self, address: Option<&String>, key: &str) {
        if let Some(address) = address {
            check_remote(address, key, self.node, self.findings);
        }
    }

    /// Resolves an input file or folder. Config files may not climb out of their own folder with `..`.
    fn resolve_input(&mut self, value: &mut Option<String>, key: &str, node: &ValueNode) {
        let Some(path) = value else { return };
        let climbs = Path::new(path.as_str()).components().any(|part| part == Component::ParentDir)
            || path.split(['/', '\\']).any(|part| part == "..");
        if self.is_config && climbs {
            let message = format!("`{key}` may not contain `..` in a config file");
            let fix = "use an absolute path, or move the file below the config's folder";
            self.findings.at(node.child(key).place).error("path-escapes", message, fix);
            return;
        }
        self.resolve(value);
    }

    /// Resolves a path against the file's folder. Absolute paths and paths with a reference stay as they are.
    fn resolve(&self, value: &mut Option<String>) {
        let Some(path) = value else { return };
        if holds_reference(path) || Path::new(path.as_str()).is_absolute() {
            return;
        }
        let parts = Path::new(path.as_str()).components().filter(|part| *part != Component::CurDir);
        let joined: PathBuf = self.base_dir.components().chain(parts).collect();
        // The folder itself has no name when the file was named without one.
        let joined = if joined.as_os_str().is_empty() { PathBuf::from(".") } else { joined };
        *path = joined.to_string_lossy().into_owned();
    }
}

/// Requires exactly one of several keys. `present` pairs each key with whether it is there.
pub(crate) fn exactly_one(present: &[(&str, bool)], node: &ValueNode, findings: &mut FileFindings) {
    let given: Vec<&str> =
        present.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
    let all = quoted_list(present.iter().map(|(key, _)| *key));
    match given.as_slice() {
        [_] => {}
        [] => findings.at(node.place).error(
            "missing-key",
            format!("one of {all} is needed"),
            format!("add one of {all}"),
        ),
        [first, rest @ ..] => {
            let last = rest.last().unwrap_or(first);
            let given =
                given.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
            let message = format!("{given} are mutually exclusive");
            let fix = format!("keep one of {all}");
            findings.at(node.key_place(last)).error("conflicting-keys", message, fix);
        }
    }
}

fn check_action(action: &mut HttpAction, node: &ValueNode, findings: &mut FileFindings) {
    // A second slash, or a scheme, would let an action leave the base URL's host.
    if action.path.starts_with("//") || action.path.contains("://") {
        let message = "`path` must be a path below `baseUrl`, not a URL";
        let fix = "start it with a single `/` and leave scheme and host to `baseUrl`";
        findings.at(node.child("path").place).error("bad-path", message, fix);
    }
    if action.method == HttpMethod::Get && action.json_body.is_some() {
        let message = "a `GET` action cannot have a `jsonBody`";
        let fix = "send the values as `query`, or use another method";
        findings.at(node.key_place("jsonBody")).error("conflicting-keys", message, fix);
    }
    let headers = node.child("headers");
    for name in action.headers.keys() {
        check_header_name(name, headers.key_place(name), findings);
    }
    DeclaredInputs(action.schemas.input_schema.as_ref()).check_action(action, node, findings);
    check_schemas(&action.schemas, node, findings);
    check_hints(&mut action.text, node, findings);
}

fn check_schemas(schemas: &ActionSchemas, node: &ValueNode, findings: &mut FileFindings) {
    check_input_schema(schemas.input_schema.as_ref(), node, findings);
    for key in ["inputSchema", "outputSchema"] {
        if let Some(schema) = node.get(key) {
            check_types(schema, findings);
        }
    }
}

fn check_hints(text: &mut ActionText, node: &ValueNode, findings: &mut FileFindings) {
    check_hint(&mut text.use_when, "useWhen", node, findings);
    check_hint(&mut text.avoid_when, "avoidWhen", node, findings);
}

/// Warns of `$input` without a name: there is no text for all arguments together, so no call of the action would get through.
fn check_input(text: &str, place: TextPosition, findings: &mut FileFindings) {
    let is_named = |rest: &str| {
        let first = rest.strip_prefix('.').and_then(|rest| rest.chars().next());
        first.is_some_and(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
    };
    if !text.split("$input").skip(1).all(is_named) {
        let message = "`$input` names no argument, so calls of this action fail";
        let fix = "name the argument, such as `$input.name`";
        findings.at(place).warning("bare-input", message, fix);
    }
}
