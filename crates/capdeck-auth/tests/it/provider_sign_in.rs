//! People sign in at the dashboard with an account of a provider.

use capdeck_auth::{
    OAuthError, ProviderAnswer, ProviderIdentity, ProviderPage, ProviderSettings, ProviderSignIn,
    Secret,
};
use serde_json::{Value, json};

use crate::{
    identity::{Signer, claims, issuer},
    support::{METADATA, Mock, guarded_clients},
};

const BACK: &str = "https://deck.example/api/oidc/callback";

fn provider(mock: &Mock, secret: Option<&str>) -> ProviderSignIn {
    let settings = ProviderSettings {
        issuer: mock.url.clone(),
        client_id: "client-1".to_owned(),
        client_secret: secret.map(Secret::new),
        redirect_uri: BACK.to_owned(),
    };
    ProviderSignIn::new(settings, guarded_clients())
}

fn query(page: &ProviderPage, name: &str) -> Option<String> {
    let mut pairs = page.url.query_pairs();
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn answer(mock: &Mock, page: &ProviderPage) -> ProviderAnswer {
    ProviderAnswer {
        state: page.state.clone(),
        code: Some(Secret::new("canary-code")),
        issuer: Some(mock.url.clone()),
        error: None,
    }
}

/// The provider says this about whoever comes with the page's nonce.
fn identify(mock: &Mock, signer: &Signer, page: &ProviderPage, more: &Value) {
    let mut claims = claims(mock, &query(page, "nonce").unwrap());
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let token = signer.sign(&json!({"alg": "EdDSA", "kid": "k-1"}), &claims);
    mock.changes("/token", "id_token", json!(token));
}

async fn start() -> (Mock, Signer) {
    let signer = Signer::edwards();
    (issuer(&[signer.public("k-1")]).await, signer)
}

#[tokio::test]
async fn a_person_comes_back_as_who_the_provider_says() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, Some("canary-secret"));
    provider.check().await.unwrap();
    let page = provider.begin().await.unwrap();
    assert_eq!(query(&page, "state").as_ref(), Some(&page.state));
    assert_eq!(query(&page, "redirect_uri").as_deref(), Some(BACK));
    assert_eq!(query(&page, "code_challenge_method").as_deref(), Some("S256"));
    let said = json!({"email": "ann@example.com", "email_verified": true, "name": "Ann"});
    identify(&mock, &signer, &page, &said);
    let identity = provider.finish(answer(&mock, &page)).await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let expected = ProviderIdentity {
        issuer: mock.url.clone(),
        subject: "ann".to_owned(),
        email: text("ann@example.com"),
        name: text("Ann"),
    };
    assert_eq!(identity, expected);
    let asked = mock.asked("/token").pop().unwrap();
    assert!(asked.authorization.is_some_and(|header| header.starts_with("Basic ")));
    // A provider of identities has no resources, and many refuse what they do not know.
    assert!(!asked.fields.contains_key("resource"));
    assert_eq!(asked.fields["redirect_uri"], BACK);
}

#[tokio::test]
async fn an_address_that_nobody_verified_is_no_address() {
    let (mock, signer) = start().await;
    for said in [json!({"email": "a@b.c"}), json!({"email": "a@b.c", "email_verified": false})] {
        let provider = provider(&mock, None);
        let page = provider.begin().await.unwrap();
        identify(&mock, &signer, &page, &said);
        assert_eq!(provider.finish(answer(&mock, &page)).await.unwrap().email, None);
    }
}

#[tokio::test]
async fn security_03_a_state_is_known_once_and_an_answer_comes_from_the_provider() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, None);
    let page = provider.begin().await.unwrap();
    identify(&mock, &signer, &page, &json!({}));
    let good = answer(&mock, &page);
    let never = ProviderAnswer { state: "another".to_owned(), ..good.clone() };
    assert!(matches!(provider.finish(never).await, Err(OAuthError::TimedOut { .. })));
    provider.finish(good.clone()).await.unwrap();
    assert!(matches!(provider.finish(good).await, Err(OAuthError::TimedOut { .. })));

    // The mock promises to say who it is.
    for issuer in [None, Some("https://evil.example".to_owned()), Some(format!("{}/", mock.url))] {
        let page = provider.begin().await.unwrap();
        let error = Some("access_denied".to_owned());
        let wrong = ProviderAnswer { issuer, error, ..answer(&mock, &page) };
        let refused = provider.finish(wrong).await.unwrap_err();
        assert_eq!(refused, OAuthError::WrongResponder { issuer: mock.url.clone() });
    }
    let page = provider.begin().await.unwrap();
    let refused =
        ProviderAnswer { error: Some("access_denied".to_owned()), ..answer(&mock, &page) };
    let refused = provider.finish(refused).await.unwrap_err();
    assert_eq!(refused.to_string(), "the sign-in was refused (`access_denied`)");
    let page = provider.begin().await.unwrap();
    let empty = ProviderAnswer { code: None, ..answer(&mock, &page) };
    assert_eq!(provider.finish(empty).await, Err(OAuthError::NoCode));
}

#[tokio::test]
async fn an_identity_of_somebody_else_s_sign_in_is_refused() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, None);
    for said in [json!({"nonce": "another"}), json!({"aud": "client-2"}), json!({"exp": 1})] {
        let page = provider.begin().await.unwrap();
        identify(&mock, &signer, &page, &said);
        let refused = provider.finish(answer(&mock, &page)).await.unwrap_err();
        assert!(matches!(refused, OAuthError::IdToken { .. }), "{refused}");
    }
    let page = provider.begin().await.unwrap();
    identify(&mock, &Signer::edwards(), &page, &json!({}));
    let forged = provider.finish(answer(&mock, &page)).await.unwrap_err();
    assert_eq!(forged, OAuthError::IdToken { reason: "its signature is not its issuer's" });
}

#[tokio::test]
async fn a_provider_that_calls_itself_otherwise_is_not_used() {
    let (mock, _signer) = start().await;
    mock.changes(METADATA, "issuer", json!("https://evil.example"));
    let refused = provider(&mock, None).check().await.unwrap_err();
    assert!(matches!(refused, OAuthError::IssuerMismatch { .. }), "{refused}");
}
