//! Identities: signed by the issuer, with every algorithm that is taken, and everything that is not.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use capdeck_auth::{LoginKind, OAuthError, SignInState};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    },
};
use serde_json::{Value, json};

use crate::support::*;

/// A key of an issuer.
pub(crate) enum Signer {
    Rsa { pair: RsaKeyPair, is_pss: bool },
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl Signer {
    fn rsa(is_pss: bool) -> Self {
        // A key made for this test alone; making one takes longer than the test.
        let text = include_str!("../fixtures/rsa-test-key.b64").replace('\n', "");
        let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap();
        Self::Rsa { pair, is_pss }
    }

    fn curve() -> Self {
        let (method, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(method, &random).unwrap();
        Self::Curve(EcdsaKeyPair::from_pkcs8(method, made.as_ref(), &random).unwrap())
    }

    pub(crate) fn edwards() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Edwards(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Rsa { is_pss: false, .. } => "RS256",
            Self::Rsa { is_pss: true, .. } => "PS256",
            Self::Curve(_) => "ES256",
            Self::Edwards(_) => "EdDSA",
        }
    }

    /// The public half as the issuer publishes it.
    pub(crate) fn public(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match self {
            Self::Rsa { pair, .. } => {
                let parts = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": text(&parts.n), "e": text(&parts.e)})
            }
            Self::Curve(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": text(x), "y": text(y)})
            }
            Self::Edwards(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
        };
        (key["kid"], key["use"]) = (json!(id), json!("sig"));
        key
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let (message, random) = (signed.as_bytes(), SystemRandom::new());
        let signature = match self {
            Self::Rsa { pair, is_pss } => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding: &'static dyn ring::signature::RsaEncoding =
                    if *is_pss { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Curve(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Edwards(pair) => pair.sign(message).as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// An issuer with these keys.
pub(crate) async fn issuer(keys: &[Value]) -> Mock {
    let mock = Mock::start().await;
    mock.changes(METADATA, "jwks_uri", json!(format!("{}/keys", mock.url)));
    mock.says("/keys", json!({"keys": keys}));
    mock
}

pub(crate) fn claims(mock: &Mock, nonce: &str) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    json!({"iss": mock.url, "aud": "client-1", "sub": "ann", "iat": now, "exp": now + 60, "nonce": nonce})
}

/// Signs in; the identity is what `token` makes of the nonce.
async fn sign_in(
    mock: &Mock,
    folder: &Folder,
    token: impl FnOnce(&str) -> Option<String>,
) -> Result<Option<String>, OAuthError> {
    let mut settings = mock.settings();
    settings.kind = LoginKind::Oidc;
    let sign_in = folder.sign_in(settings);
    let login = begin(&sign_in, &[]).await.unwrap();
    assert_eq!(query(&login, "scope").as_deref(), Some("openid profile email"));
    if let Some(token) = token(&query(&login, "nonce").unwrap()) {
        mock.changes("/token", "id_token", json!(token));
    }
    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    let outcome = come_back(login, &answer).await;
    outcome.map(|status| {
        assert_eq!(status.state, SignInState::SignedIn);
        status.subject
    })
}

fn wrong(reason: &'static str) -> Result<Option<String>, OAuthError> {
    Err(OAuthError::IdToken { reason })
}

#[tokio::test]
async fn every_algorithm_that_proves_something_is_taken() {
    for signer in [Signer::rsa(false), Signer::rsa(true), Signer::curve(), Signer::edwards()] {
        let name = signer.name();
        // A set may hold keys that no one here knows, and more than one of a kind.
        let unknown = json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA"});
        let set = [unknown, Signer::curve().public("other"), signer.public("k-1")];
        let mock = issuer(&set).await;
        for header in [json!({"alg": name, "kid": "k-1"}), json!({"alg": name})] {
            let folder = Folder::new();
            let token = |nonce: &str| Some(signer.sign(&header, &claims(&mock, nonce)));
            let subject = sign_in(&mock, &folder, token).await;
            assert_eq!(subject, Ok(Some("ann".to_owned())), "{header}");
        }
    }
}

#[tokio::test]
async fn what_the_issuer_did_not_sign_is_no_identity() {
    let (signer, stranger) = (Signer::edwards(), Signer::edwards());
    let header = json!({"alg": "EdDSA", "kid": "k-1"});
    let mock = issuer(&[signer.public("k-1")]).await;
    let good = |nonce: &str| signer.sign(&header, &claims(&mock, nonce));
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    type Make<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;
    let cases: [(Make<'_>, &'static str); 8] = [
        (Box::new(|_| None), "there is none"),
        (Box::new(|_| Some("canary".to_owned())), "it is not a JWT"),
        (
            Box::new(|nonce| Some(stranger.sign(&header, &claims(&mock, nonce)))),
            "its signature is not its issuer's",
        ),
        (
            Box::new(|nonce| {
                let token = good(nonce);
                let (_, signature) = token.rsplit_once('.').unwrap();
                let mut other = claims(&mock, nonce);
                other["sub"] = json!("bob");
                Some(format!("{}.{}.{signature}", part(header.clone()), part(other)))
            }),
            "its signature is not its issuer's",
        ),
        (
            Box::new(|nonce| {
                let none = part(json!({"alg": "none"}));
                Some(format!("{none}.{}.", part(claims(&mock, nonce))))
            }),
            "its signature is not its issuer's",
        ),
        (
            Box::new(|nonce| {
                let header = json!({"alg": "HS256", "kid": "k-1"});
                Some(signer.sign(&header, &claims(&mock, nonce)))
            }),
            "its signature is not its issuer's",
        ),
        (
            Box::new(|nonce| {
                let header = json!({"alg": "EdDSA", "kid": "k-2"});
                Some(signer.sign(&header, &claims(&mock, nonce)))
            }),
            "its issuer has no such key",
        ),
        (
            Box::new(|_| Some(signer.sign(&header, &claims(&mock, "another")))),
            "it belongs to another sign-in",
        ),
    ];
    for (token, reason) in cases {
        let folder = Folder::new();
        assert_eq!(sign_in(&mock, &folder, token).await, wrong(reason));
    }
    mock.is_silent_at("/keys");
    let outcome = sign_in(&mock, &Folder::new(), |nonce| Some(good(nonce))).await;
    assert_eq!(outcome, wrong("its issuer publishes no keys to check it with"));
    mock.changes(METADATA, "jwks_uri", Value::Null);
    let outcome = sign_in(&mock, &Folder::new(), |nonce| Some(good(nonce))).await;
    assert_eq!(outcome, wrong("its issuer publishes no keys to check it with"));
}

#[tokio::test]
async fn an_issuer_that_has_just_changed_its_keys_is_asked_once_more() {
    let (old, new) = (Signer::curve(), Signer::curve());
    let mock = issuer(&[new.public("new")]).await;
    let token =
        |nonce: &str| Some(new.sign(&json!({"alg": "ES256", "kid": "new"}), &claims(&mock, nonce)));
    mock.says_once("/keys", 200, json!({"keys": [old.public("old")]}));
    let folder = Folder::new();
    assert_eq!(sign_in(&mock, &folder, token).await, Ok(Some("ann".to_owned())));
    assert_eq!(mock.asked("/keys").len(), 2);

    // A renewal may bring an identity again; it has to be the same person.
    let mut settings = mock.settings();
    settings.kind = LoginKind::Oidc;
    let renewed = folder.sign_in(settings);
    let header = json!({"alg": "ES256", "kid": "new"});
    let mut again = claims(&mock, "");
    mock.changes("/token", "id_token", json!(new.sign(&header, &again)));
    assert_eq!(renewed.renew().await.unwrap().subject.as_deref(), Some("ann"));
    again["sub"] = json!("bob");
    mock.changes("/token", "id_token", json!(new.sign(&header, &again)));
    let error = renewed.renew().await.unwrap_err();
    assert_eq!(
        error,
        OAuthError::IdToken { reason: "its subject is not that of the first sign-in" }
    );
    assert_eq!(renewed.status().unwrap().subject.as_deref(), Some("ann"));
}

#[tokio::test]
async fn configured_endpoints_still_need_the_issuer_s_keys() {
    let signer = Signer::edwards();
    let mock = issuer(&[signer.public("k-1")]).await;
    let header = json!({"alg": "EdDSA", "kid": "k-1"});
    for (named, expected) in [
        (true, Ok(Some("ann".to_owned()))),
        (false, wrong("its issuer publishes no keys to check it with")),
    ] {
        let mut settings = mock.settings();
        settings.kind = LoginKind::Oidc;
        settings.authorization_url = Some(format!("{}/authorize", mock.url));
        settings.token_url = Some(format!("{}/token", mock.url));
        settings.client_id = Some("client-1".to_owned());
        settings.issuer = named.then(|| mock.url.clone());
        let folder = Folder::new();
        let sign_in = folder.sign_in(settings);
        let login = begin(&sign_in, &[]).await.unwrap();
        let token = signer.sign(&header, &claims(&mock, &query(&login, "nonce").unwrap()));
        mock.changes("/token", "id_token", json!(token));
        let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
        assert_eq!(come_back(login, &answer).await.map(|status| status.subject), expected);
    }
}
