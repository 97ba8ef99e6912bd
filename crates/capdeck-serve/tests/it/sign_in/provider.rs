//! A provider of sign-ins on a port of its own: it signs what a test wants it to say, and gives each code out once, to
//! the one who has the verifier.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_auth::{ProviderSettings, Secret, inbound::SignUpDomains};
use capdeck_serve::OidcSettings;
use parking_lot::Mutex;
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, runtime::Runtime};

use super::browser::parameter;

pub(super) const CLIENT: &str = "capdeck-at-work";

/// A running provider. Dropping it stops it.
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<Inside>,
    _runtime: Runtime,
}

struct Inside {
    key: Ed25519KeyPair,
    metadata: Mutex<Value>,
    /// By code: the challenge, where the code may be redeemed from, and the claims.
    codes: Mutex<HashMap<String, (String, String, Value)>>,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let metadata = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/keys"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        let state = Arc::new(Inside {
            key: Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap(),
            metadata: Mutex::new(metadata),
            codes: Mutex::default(),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata_of))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(Arc::clone(&state));
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state, _runtime: runtime }
    }

    pub(crate) fn settings(&self) -> OidcSettings {
        let secret = Some(Secret::new("canary-client-secret"));
        OidcSettings {
            provider: ProviderSettings::new(&self.url, CLIENT, secret),
            label: "Work <b>account</b>".to_owned(),
            newcomers: SignUpDomains::default(),
        }
    }

    /// Changes how the provider describes itself.
    pub(super) fn describes(&self, member: &str, value: Value) {
        self.state.metadata.lock()[member] = value;
    }

    /// A person says yes at the page that a browser was sent to; gives the query of the address that they are sent back to.
    pub(super) fn agree(&self, page: &str, claims: &Value) -> String {
        let text = |name: &str| parameter(page, name).unwrap();
        assert_eq!(text("code_challenge_method"), "S256");
        assert_eq!(
            (text("client_id"), text("response_type")),
            (CLIENT.to_owned(), "code".to_owned())
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut all = json!({
            "iss": self.url, "aud": CLIENT, "sub": "ann", "iat": now, "exp": now + 60, "nonce": text("nonce"),
        });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let code = format!("canary-code-{}", self.state.codes.lock().len());
        let kept = (text("code_challenge"), text("redirect_uri"), all);
        self.state.codes.lock().insert(code.clone(), kept);
        let (state, url) = (text("state"), &self.url);
        super::browser::form(&[("code", &code), ("state", &state), ("iss", url)])
    }
}

async fn metadata_of(State(inside): State<Arc<Inside>>) -> Json<Value> {
    Json(inside.metadata.lock().clone())
}

async fn keys(State(inside): State<Arc<Inside>>) -> Json<Value> {
    let x = URL_SAFE_NO_PAD.encode(inside.key.public_key().as_ref());
    Json(json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "use": "sig", "x": x}]}))
}

async fn token(State(inside): State<Arc<Inside>>, body: String) -> (StatusCode, Json<Value>) {
    let fields: HashMap<String, String> =
        url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    let known = inside.codes.lock().remove(&field("code"));
    let known =
        known.filter(|(wanted, from, _)| *wanted == challenge && *from == field("redirect_uri"));
    let Some((_, _, claims)) = known else {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"})));
    };
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": "k"})), part(&claims));
    let signature = URL_SAFE_NO_PAD.encode(inside.key.sign(signed.as_bytes()).as_ref());
    let answer = json!({
        "access_token": "canary-access", "token_type": "Bearer", "expires_in": 60,
        "id_token": format!("{signed}.{signature}"),
    });
    (StatusCode::OK, Json(answer))
}
