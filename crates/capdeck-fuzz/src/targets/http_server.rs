//! Requests to the host's own HTTP server, byte by byte over a real connection. The host needs a credential for everything
//! that matters, and no input has one.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use capdeck_auth::{
    EnvironmentSnapshot, KeySettings, Secret, Vault,
    inbound::{AdminKey, Registry, RegistryLimits, RegistryOptions},
};
use capdeck_definition::{DeckRoot, Exposure, RootOwner};
use capdeck_host::{
    AuditMode, CapsuleAuthor, CapsuleCaller, CapsuleServiceExt as _, CreateCapsuleRequest, Host,
    HostSettings,
};
use capdeck_serve::{
    BucketRate, HttpLimits, HttpServer, HttpSettings, ProcessLifetime, RateLimits, RegistryTrail,
    ServeAuthMode, SharedCapsuleService, SharedCapsulesSettings,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::Runtime,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    http_answer::{HttpAnswer, read_answers},
    http_request::FirstRequest,
};
use crate::{FuzzTarget, RandomSource, seeds};

/// What only those with a credential learn of. No input holds it.
const SECRET_NAME: &str = "zq7-hidden-4xk9";
const ADMIN_KEY: &str = "v3-Wk8sQe0pLx27TnYb5RgHa91ZcUdMf46";
/// Longer than an answer takes; only what never ends is still going on then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the host waits for the rest of a request. All bytes of an input are there before the host reads the first, so
/// only what never comes is waited for.
const WAIT_TIMEOUT: Duration = Duration::from_millis(30);
/// Follows every input. The host closes the connection after it, if it was still read as a request.
const LAST_REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
/// Endpoints that nothing without a credential may use.
const GUARDED: [&str; 8] =
    ["/mcp", "/v1", "/api", "/servers", "/views", "/ready", "/metrics", "/attach"];
/// Those among them that are open: enrollment, and how to sign in.
const OPEN: [&str; 2] = ["/v1/agent-enrollments", "/api/sign-in"];

struct HttpServerTarget {
    /// Dropped first, while the folder is still there.
    runtime: Runtime,
    address: SocketAddr,
    stop: CancellationToken,
    _folder: TempDir,
}

pub(crate) fn http_server() -> Box<dyn FuzzTarget> {
    let runtime = super::json_rpc::runtime();
    let folder = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let server = runtime.block_on(bind(&folder));
    let address = server.url().strip_prefix("http://").unwrap().parse().unwrap();
    runtime.spawn(server.run(stop.clone()));
    Box::new(HttpServerTarget { runtime, address, stop, _folder: folder })
}

impl Drop for HttpServerTarget {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A host with a capsule, an operator's key and the registry.
async fn bind(folder: &TempDir) -> HttpServer {
    let root = folder.path();
    let state_dir = root.join("state");
    let host = Host::open(HostSettings {
        user_roots: vec![DeckRoot { dir: root.join("config"), owner: RootOwner::User }],
        project: None,
        starter: Vec::new(),
        cache_dir: root.join("cache"),
        environment: EnvironmentSnapshot::default(),
        vault: Vault::new(&state_dir, KeySettings::default()),
        guardian: None,
        sandbox: None,
        default_exposure: Exposure::Search,
        capsules: Some(Arc::new(SharedCapsuleService::new(SharedCapsulesSettings {
            folder: root.join("data"),
            schemes: None,
            audit: AuditMode::Lenient,
            version: "0".to_owned(),
            standing: ProcessLifetime::Lasting,
        }))),
        version: "0".to_owned(),
        state_dir,
    });
    let service = host.capsules().unwrap().clone();
    let create =
        CreateCapsuleRequest { name: SECRET_NAME.to_owned(), description: None, visibility: None };
    service
        .ask(CapsuleCaller::local(CapsuleAuthor::client("fuzz")).request(None, create))
        .await
        .unwrap();
    let options = RegistryOptions {
        audit: Some(RegistryTrail::new(service, tokio::runtime::Handle::current())),
        limits: RegistryLimits { failed_credentials: u32::MAX, ..RegistryLimits::default() },
        ..RegistryOptions::default()
    };
    let much = BucketRate { per_minute: u32::MAX, burst: u32::MAX };
    let settings = HttpSettings {
        key: Some(AdminKey::new(Secret::new(ADMIN_KEY)).unwrap()),
        auth: Some(ServeAuthMode::Required),
        registry: Ok(Registry::open(root.join("registry"), options).unwrap()),
        rates: RateLimits { auth: much, api: much, mcp: much, ..RateLimits::default() },
        limits: HttpLimits {
            head_timeout: WAIT_TIMEOUT,
            idle_timeout: WAIT_TIMEOUT,
            body_timeout: WAIT_TIMEOUT,
            ..HttpLimits::default()
        },
        ..HttpSettings::new("127.0.0.1", 0)
    };
    HttpServer::bind(host, settings).await.unwrap()
}

impl FuzzTarget for HttpServerTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/http-server", &[".txt"])
            .iter()
            .map(|seed| FirstRequest::with_line_ends(seed))
            .collect()
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        6 * 1024
    }

    /// A body that is shorter than it says keeps everything behind it from being read.
    fn restore(&self, input: &mut Vec<u8>, random: &mut RandomSource) {
        if random.chance(9, 10) {
            FirstRequest::restore_length(input);
        }
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let answers = self.runtime.block_on(async {
            let (bytes, _) = exchange(self.address, &[input, LAST_REQUEST].concat()).await;
            let answers = read_answers(&bytes);
            check_answers(input, &answers);
            // The next client is served after every input.
            let (bytes, is_closed) = exchange(self.address, LAST_REQUEST).await;
            let later = read_answers(&bytes);
            assert!(is_closed && later.len() == 1 && later[0].status == 200, "{later:?}");
            answers
        });
        let kinds: Vec<String> = answers.iter().map(HttpAnswer::kind).collect();
        kinds.join(" ")
    }
}

/// Sends bytes and reads until the host closes the connection. Says whether it did so in the ordinary way.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> (Vec<u8>, bool) {
    let talking = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut answer = Vec::new();
        // The host may close the connection before it has read everything.
        let is_sent = stream.write_all(bytes).await.is_ok();
        let is_read = stream.read_to_end(&mut answer).await.is_ok();
        (answer, is_sent && is_read)
    };
    timeout(ANSWER_TIMEOUT, talking).await.unwrap_or_else(|_| panic!("an answer that never ends"))
}

fn check_answers(input: &[u8], answers: &[HttpAnswer]) {
    // A client that begins in HTTP/2 could not read an answer.
    let is_http2 = input.windows(14).any(|window| window == b"PRI * HTTP/2.0");
    assert!(is_http2 || !answers.is_empty(), "a request without an answer");
    for answer in answers {
        assert!(answer.status < 500 || [501, 505, 507].contains(&answer.status), "{answer:?}");
        let holds =
            |text: &str| answer.bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds(SECRET_NAME) && !holds(ADMIN_KEY), "a secret is shown: {answer:?}");
        let is_stream =
            answer.header("content-type").is_some_and(|kind| kind.contains("event-stream"));
        assert!(!(answer.is_success() && (is_stream || holds("\"jsonrpc\""))), "{answer:?}");
    }
    let (Some(first), Some(request)) = (answers.first(), FirstRequest::parse(input)) else {
        return;
    };
    if !first.is_success() {
        return;
    }
    assert!(!request.names_foreign_host(), "answered in the name of another host: {first:?}");
    let path = request.path();
    let is_below = |top: &str| {
        path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_open = OPEN.iter().any(|top| is_below(top));
    let is_guarded = !is_open && GUARDED.iter().any(|top| is_below(top));
    assert!(!is_guarded, "{path} is open without a credential: {first:?}");
}

const WORDS: &[&str] = &[
    "GET ",
    "POST ",
    "PUT ",
    "DELETE ",
    "HEAD ",
    "OPTIONS * ",
    "CONNECT ",
    "/mcp",
    "/mcp/team",
    "/mcp/server-card",
    "/servers/a/mcp",
    "/views/a/mcp",
    "/v1/capsules",
    "/v1/operators",
    "/v1/grants",
    "/v1/agent-enrollments",
    "/v1/openapi.json",
    "/api/me",
    "/api/login",
    "/api/activity",
    "/api/sign-in",
    "/oauth/register",
    "/oauth/token",
    "/oauth/authorize?response_type=code&client_id=",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/mcp",
    "/health",
    "/ready",
    "/metrics",
    "/assets/x/app.js",
    "http://localhost",
    "http://evil.example",
    "//evil.example",
    "/%2e%2e/",
    "%00",
    "%0d%0a",
    "?token=",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    " HTTP/2.0\r\n",
    "Host: localhost\r\n",
    "Host: evil.example\r\n",
    "Host: 127.0.0.1:1\r\n",
    "Host: [::1]\r\n",
    "Host: localhost.\r\n",
    "Host: localhost@evil.example\r\n",
    "Origin: http://localhost\r\n",
    "Origin: null\r\n",
    "Origin: https://evil.example\r\n",
    "Cookie: capdeck_session=",
    "Authorization: Bearer ",
    "Authorization: Basic ",
    "Authorization: DPoP ",
    "cap_ad_",
    "Forwarded: for=127.0.0.1;proto=https\r\n",
    "X-Forwarded-For: 127.0.0.1\r\n",
    "X-Forwarded-Host: evil.example\r\n",
    "X-Forwarded-Proto: https\r\n",
    "Via: 1.1 proxy\r\n",
    "x-capdeck-csrf: ",
    "Mcp-Session-Id: ",
    "MCP-Protocol-Version: 2025-11-25\r\n",
    "Mcp-Method: tools/call\r\n",
    "Last-Event-ID: 1\r\n",
    "Accept: application/json, text/event-stream\r\n",
    "Content-Type: application/json\r\n",
    "Content-Type: application/x-www-form-urlencoded\r\n",
    "Content-Length: ",
    "Content-Length: +1\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding : chunked\r\n",
    "0\r\n\r\n",
    "5;a=b\r\nhello\r\n",
    "ffffffffffffffff\r\n",
    "Expect: 100-continue\r\n",
    "Connection: close\r\n",
    "Connection: upgrade\r\nUpgrade: h2c\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "Range: bytes=0-1\r\n",
    "If-None-Match: *\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n",
    " \t",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
    "{\"redirect_uris\":[\"http://127.0.0.1:9/callback\"]}",
    "{\"client_id\":\"robot\",\"deck\":{}}",
    "{\"key\":\"",
    "grant_type=authorization_code&code=",
    "\u{e9}",
];
