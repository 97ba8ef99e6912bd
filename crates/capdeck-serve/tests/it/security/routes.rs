//! Every path that this host answers beside `/v1`, whose table describes itself.

use std::{collections::BTreeSet, fs, path::Path};

/// A path, what it takes, and who may come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// As it is declared.
    pub(super) declared: &'static str,
    /// The same with something in its places.
    pub(super) path: &'static str,
    pub(super) methods: &'static [&'static str],
    /// What a body has to be, where one is taken.
    pub(super) takes: Option<&'static str>,
    /// Whether a person without a token is answered.
    pub(super) is_open: bool,
}

const JSON: Option<&str> = Some("application/json");
const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
const MCP: &[&str] = &["GET", "POST", "DELETE"];

const fn open(
    declared: &'static str,
    path: &'static str,
    methods: &'static [&'static str],
    takes: Option<&'static str>,
) -> Route {
    Route { declared, path, methods, takes, is_open: true }
}

const fn closed(
    declared: &'static str,
    path: &'static str,
    methods: &'static [&'static str],
    takes: Option<&'static str>,
) -> Route {
    Route { declared, path, methods, takes, is_open: false }
}

pub(super) const ROUTES: &[Route] = &[
    closed("/mcp", "/mcp", MCP, JSON),
    closed("/mcp/{capsule}", "/mcp/team", MCP, JSON),
    closed("/servers/{id}/mcp", "/servers/fake/mcp", MCP, JSON),
    closed("/views/{name}/mcp", "/views/small/mcp", MCP, JSON),
    closed("/mcp/server-card", "/mcp/server-card", &["GET"], None),
    closed("/servers/{id}/mcp/server-card", "/servers/fake/mcp/server-card", &["GET"], None),
    closed("/views/{name}/mcp/server-card", "/views/small/mcp/server-card", &["GET"], None),
    closed("/ready", "/ready", &["GET"], None),
    closed("/metrics", "/metrics", &["GET"], None),
    closed("/attach/manifest", "/attach/manifest", &["GET"], None),
    closed("/api/me", "/api/me", &["GET"], None),
    closed("/api/logout", "/api/logout", &["POST"], None),
    closed("/api/activity", "/api/activity", &["GET"], None),
    open("/api/login", "/api/login", &["POST"], JSON),
    open("/api/sign-in", "/api/sign-in", &["GET"], None),
    // Declared by the names of their addresses.
    open("", "/api/oidc/begin", &["GET"], None),
    open("", "/api/oidc/callback", &["GET"], None),
    // What it takes is tried with the other operations of `/v1`, and where agents sign up.
    open("/v1/agent-enrollments", "/v1/agent-enrollments", &["POST"], None),
    open("/v1/agent-enrollments/{id}", "/v1/agent-enrollments/x", &["GET", "DELETE"], None),
    open("/oauth/register", "/oauth/register", &["POST"], JSON),
    open("/oauth/authorize", "/oauth/authorize", &["GET", "POST"], FORM),
    open("/oauth/sign-in", "/oauth/sign-in", &["POST"], FORM),
    open("/oauth/token", "/oauth/token", &["POST"], FORM),
    open("/oauth/revoke", "/oauth/revoke", &["POST"], FORM),
    open("/oauth/style.css", "/oauth/style.css", &["GET"], None),
    open(
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server",
        &["GET"],
        None,
    ),
    open("/.well-known/openid-configuration", "/.well-known/openid-configuration", &["GET"], None),
    open("/.well-known/capsol-agent.json", "/.well-known/capsol-agent.json", &["GET"], None),
    // Declared in a loop over the endpoints.
    open("", "/.well-known/oauth-protected-resource", &["GET"], None),
    open("", "/.well-known/oauth-protected-resource/mcp", &["GET"], None),
    open("", "/.well-known/oauth-protected-resource/mcp/team", &["GET"], None),
    open("", "/.well-known/oauth-protected-resource/views/small/mcp", &["GET"], None),
    open("", "/.well-known/oauth-protected-resource/servers/fake/mcp", &["GET"], None),
    open("/health", "/health", &["GET"], None),
    open("/", "/", &["GET"], None),
    open("/assets/{build}/{*path}", "/assets/x/app.js", &["GET"], None),
];

/// Not tried here: what `/v1` answers where there is nothing.
const ELSEWHERE: [&str; 2] = ["/v1", "/v1/{*path}"];

#[test]
fn the_table_has_every_path_that_is_declared() {
    let mut declared = BTreeSet::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut declared);
    assert!(declared.len() > 20, "{declared:?}");
    let is_known = |path: &String| {
        ELSEWHERE.contains(&path.as_str()) || ROUTES.iter().any(|route| route.declared == path)
    };
    let unknown: Vec<&String> = declared.iter().filter(|path| !is_known(path)).collect();
    assert!(unknown.is_empty(), "a path that is declared is tried with bad input: {unknown:?}");
}

/// The paths that the sources give to a router.
fn collect(folder: &Path, declared: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, declared);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let found = text.split(".route(").skip(1);
            let literals = found.filter_map(|rest| rest.trim_start().strip_prefix('"'));
            declared.extend(literals.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
    }
}
