//! An authorization server and the server it protects, on one loopback port, that do and say what a test wants.

use std::{
    collections::HashMap,
    sync::{Arc, Once},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
};
use capdeck_auth::{
    BrowserLogin, GuardedClients, GuardedResolver, KeySettings, LoginMethod, LoginStart,
    OAuthError, OAuthSettings, Secret, SignIn, SignInStatus, SystemResolver, TokenStore, Vault,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// What the mock was asked, apart from metadata.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    /// The form or JSON that was posted.
    pub(crate) fields: HashMap<String, Value>,
}

/// Answers by path: a status and a body. Without an entry the answer is 404.
pub(crate) struct Mock {
    pub(crate) url: String,
    pub(crate) answers: Arc<Mutex<HashMap<String, (u16, Value)>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

pub(crate) const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";

impl Mock {
    /// A server that is described, registers clients and gives tokens that can be renewed.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers: Arc<Mutex<HashMap<String, (u16, Value)>>> = Arc::default();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (known, log) = (Arc::clone(&answers), Arc::clone(&asked));
        let router = Router::new().fallback(move |request: Request| {
            let (known, log) = (Arc::clone(&known), Arc::clone(&log));
            async move { answer(request, &known, &log).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mock = Self { url, answers, asked };
        let url = &mock.url;
        mock.says(
            RESOURCE,
            json!({
                "resource": format!("{url}/mcp"),
                "authorization_servers": [url],
            }),
        );
        mock.says(
            METADATA,
            json!({
                "issuer": url,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "registration_endpoint": format!("{url}/register"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }),
        );
        mock.says("/register", json!({"client_id": "client-1"}));
        mock.grants("canary-access-1", Some("canary-refresh-1"), 3600);
        mock
    }

    pub(crate) fn says(&self, path: &str, body: Value) {
        self.fails(path, 200, body);
    }

    pub(crate) fn fails(&self, path: &str, status: u16, body: Value) {
        self.answers.lock().insert(path.to_owned(), (status, body));
    }

    pub(crate) fn is_silent_at(&self, path: &str) {
        self.answers.lock().remove(path);
    }

    /// Says this to the next request only.
    pub(crate) fn says_once(&self, path: &str, status: u16, body: Value) {
        self.answers.lock().insert(format!("next {path}"), (status, body));
    }

    /// Changes one member of a document.
    pub(crate) fn changes(&self, path: &str, member: &str, value: Value) {
        self.answers.lock().get_mut(path).unwrap().1[member] = value;
    }

    pub(crate) fn grants(&self, access: &str, refresh: Option<&str>, expires_in: u64) {
        let mut answer =
            json!({"access_token": access, "token_type": "Bearer", "expires_in": expires_in});
        if let Some(refresh) = refresh {
            answer["refresh_token"] = json!(refresh);
        }
        self.says("/token", answer);
    }

    /// Every request to this path so far.
    pub(crate) fn asked(&self, path: &str) -> Vec<Asked> {
        self.asked.lock().iter().filter(|asked| asked.path == path).cloned().collect()
    }

    pub(crate) fn settings(&self) -> OAuthSettings {
        OAuthSettings::for_server(Url::parse(&format!("{}/mcp", self.url)).unwrap())
    }
}

async fn answer(
    request: Request,
    known: &Mutex<HashMap<String, (u16, Value)>>,
    log: &Mutex<Vec<Asked>>,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let fields = serde_json::from_slice(&body).unwrap_or_else(|_| {
        let pairs = url::form_urlencoded::parse(&body);
        pairs.map(|(name, value)| (name.into_owned(), json!(value))).collect()
    });
    let path = parts.uri.path().to_owned();
    let authorization = parts.headers.get("authorization");
    let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
    let next = known.lock().remove(&format!("next {path}"));
    let found = next.or_else(|| known.lock().get(&path).cloned());
    log.lock().push(Asked { path, authorization, fields });
    let (status, body) = found.unwrap_or((404, Value::Null));
    let response = Response::builder().status(status);
    match body.as_str() {
        // A text is the target of a redirect.
        Some(place) => response.header("location", place).body(Body::empty()).unwrap(),
        None => response.body(Body::from(body.to_string())).unwrap(),
    }
}

/// Clients as the product builds them: guarded, without redirects.
pub(crate) fn guarded_clients() -> GuardedClients {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| rustls::crypto::ring::default_provider().install_default().unwrap());
    GuardedClients::new(Arc::new(|reach| {
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let built = builder
            .no_proxy()
            .dns_resolver(GuardedResolver::new(reach, Arc::new(SystemResolver)))
            .build();
        built.map_err(|error| error.to_string())
    }))
}

/// A folder of sign-ins.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    /// A sign-in as a process of its own would see it.
    pub(crate) fn sign_in(&self, settings: OAuthSettings) -> Arc<SignIn> {
        let clients = guarded_clients();
        let store = TokenStore::new(&self.vault());
        Arc::new(SignIn::new("service", settings, &store, clients))
    }

    pub(crate) fn vault(&self) -> Vault {
        Vault::new(self.path(), KeySettings::default())
    }

    /// The file of the only sign-in there is.
    pub(crate) fn file(&self) -> std::path::PathBuf {
        let files =
            std::fs::read_dir(self.path().join("auth")).unwrap().map(|entry| entry.unwrap().path());
        let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let file = files.next().unwrap();
        assert_eq!(files.next(), None);
        file
    }
}

/// Starts a sign-in that has to go through a browser.
pub(crate) async fn begin(
    sign_in: &Arc<SignIn>,
    extra: &[String],
) -> Result<BrowserLogin, OAuthError> {
    match sign_in.begin(extra, LoginMethod::Browser).await? {
        LoginStart::Browser(login) => Ok(*login),
        other => panic!("signed in another way: {other:?}"),
    }
}

/// One value of a sign-in's page address.
pub(crate) fn query(login: &BrowserLogin, name: &str) -> Option<String> {
    let mut pairs = login.authorization_url.query_pairs();
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Comes back from the page with these values, as a browser would.
pub(crate) async fn come_back(
    login: BrowserLogin,
    values: &[(&str, &str)],
) -> Result<SignInStatus, OAuthError> {
    let state = query(&login, "state").unwrap();
    let mut url = Url::parse(&query(&login, "redirect_uri").unwrap()).unwrap();
    url.query_pairs_mut().append_pair("state", &state).extend_pairs(values);
    let visit = async move { reqwest::get(url).await.unwrap() };
    let (outcome, _page) = tokio::join!(finish(login, TEST_TIMEOUT), visit);
    outcome
}

/// Waits for the browser alone.
pub(crate) async fn finish(
    login: BrowserLogin,
    timeout: Duration,
) -> Result<SignInStatus, OAuthError> {
    let (_sender, nothing) = tokio::sync::mpsc::channel(1);
    login.finish(timeout, nothing, |reason| panic!("{reason}")).await
}

/// Signs in with the person's consent.
pub(crate) async fn consent(mock: &Mock, sign_in: &Arc<SignIn>) -> SignInStatus {
    let login = begin(sign_in, &[]).await.unwrap();
    come_back(login, &[("code", "canary-code"), ("iss", &mock.url)]).await.unwrap()
}

pub(crate) async fn token(sign_in: &Arc<SignIn>) -> Option<String> {
    sign_in.token().await.map(|token| token.expose().to_owned())
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text)
}
