//! People sign in at the dashboard with an account of a provider.

use std::time::Duration;

use capdeck_auth::{
    OAuthError, ProviderIdentity, ProviderRedirect, ProviderSettings, ProviderSignIn,
    ProviderSignInRequest, ProviderSignInResult, RedirectParams, Secret,
};
use serde_json::{Value, json};

use crate::{
    identity::{Signer, claims, issuer},
    support::{METADATA, Mock, guarded_clients},
};

const OPENID: &str = "/.well-known/openid-configuration";
const BACK: &str = "https://deck.example/api/oidc/callback";

fn provider(mock: &Mock, secret: Option<&str>) -> ProviderSignIn {
    let settings = ProviderSettings::new(&mock.url, "client-1", secret.map(Secret::new));
    ProviderSignIn::new(settings, guarded_clients())
}

fn visit() -> ProviderSignInRequest {
    ProviderSignInRequest { redirect_uri: BACK.to_owned(), then: "/#/capsules".to_owned() }
}

fn query(page: &ProviderRedirect, name: &str) -> Option<String> {
    let mut pairs = page.url.query_pairs();
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn answer(mock: &Mock, page: &ProviderRedirect) -> RedirectParams {
    RedirectParams {
        state: Some(page.state.clone()),
        code: Some(Secret::new("canary-code")),
        issuer: Some(mock.url.clone()),
        error: None,
    }
}

/// The provider says this about the one who comes with the page's nonce.
fn identify(mock: &Mock, signer: &Signer, page: &ProviderRedirect, more: &Value) {
    let mut claims = claims(mock, &query(page, "nonce").unwrap());
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let token = signer.sign(&json!({"alg": "EdDSA", "kid": "k-1"}), &claims);
    mock.changes("/token", "id_token", json!(token));
}

async fn start() -> (Mock, Signer) {
    let signer = Signer::edwards();
    let mock = issuer(&[signer.public("k-1")]).await;
    let (_, metadata) = mock.answers.lock().remove(METADATA).unwrap();
    mock.says(OPENID, metadata);
    (mock, signer)
}

#[tokio::test]
async fn a_person_comes_back_as_who_the_provider_says() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, Some("canary-secret"));
    provider.check().await.unwrap();
    let page = provider.begin(visit()).await.unwrap();
    assert_eq!(query(&page, "state").as_ref(), Some(&page.state));
    assert_eq!(query(&page, "redirect_uri").as_deref(), Some(BACK));
    assert_eq!(query(&page, "code_challenge_method").as_deref(), Some("S256"));
    let said = json!({"email": "ann@example.com", "email_verified": true, "name": "Ann"});
    identify(&mock, &signer, &page, &said);
    let ProviderSignInResult { identity, then } =
        provider.finish(answer(&mock, &page)).await.unwrap();
    assert_eq!(then, "/#/capsules");
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
async fn an_address_that_no_one_verified_is_no_address() {
    let (mock, signer) = start().await;
    for said in [json!({"email": "a@b.c"}), json!({"email": "a@b.c", "email_verified": false})] {
        let provider = provider(&mock, None);
        let page = provider.begin(visit()).await.unwrap();
        identify(&mock, &signer, &page, &said);
        assert_eq!(provider.finish(answer(&mock, &page)).await.unwrap().identity.email, None);
    }
}

#[tokio::test]
async fn security_03_a_state_is_known_once_and_an_answer_comes_from_the_provider() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, None);
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &signer, &page, &json!({}));
    let good = answer(&mock, &page);
    let never = RedirectParams { state: Some("another".to_owned()), ..good.clone() };
    assert!(matches!(provider.finish(never).await, Err(OAuthError::TimedOut { .. })));
    provider.finish(good.clone()).await.unwrap();
    assert!(matches!(provider.finish(good).await, Err(OAuthError::TimedOut { .. })));

    // The mock promises to say who it is.
    for issuer in [None, Some("https://evil.example".to_owned()), Some(format!("{}/", mock.url))] {
        let page = provider.begin(visit()).await.unwrap();
        let error = Some("access_denied".to_owned());
        let wrong = RedirectParams { issuer, error, ..answer(&mock, &page) };
        let refused = provider.finish(wrong).await.unwrap_err();
        assert_eq!(refused, OAuthError::WrongResponder { issuer: mock.url.clone() });
    }
    let page = provider.begin(visit()).await.unwrap();
    let refused =
        RedirectParams { error: Some("access_denied".to_owned()), ..answer(&mock, &page) };
    let refused = provider.finish(refused).await.unwrap_err();
    assert_eq!(refused.to_string(), "the sign-in was refused (`access_denied`)");
    let page = provider.begin(visit()).await.unwrap();
    let empty = RedirectParams { code: None, ..answer(&mock, &page) };
    assert_eq!(provider.finish(empty).await, Err(OAuthError::NoCode));
}

#[tokio::test]
async fn an_identity_of_another_person_s_sign_in_is_refused() {
    let (mock, signer) = start().await;
    let provider = provider(&mock, None);
    for said in [json!({"nonce": "another"}), json!({"aud": "client-2"}), json!({"exp": 1})] {
        let page = provider.begin(visit()).await.unwrap();
        identify(&mock, &signer, &page, &said);
        let refused = provider.finish(answer(&mock, &page)).await.unwrap_err();
        assert!(matches!(refused, OAuthError::IdToken { .. }), "{refused}");
    }
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &Signer::edwards(), &page, &json!({}));
    let forged = provider.finish(answer(&mock, &page)).await.unwrap_err();
    assert_eq!(forged, OAuthError::IdToken { reason: "its signature is not its issuer's" });
}

#[tokio::test]
async fn a_provider_that_calls_itself_otherwise_is_not_used() {
    let (mock, _signer) = start().await;
    mock.changes(OPENID, "issuer", json!("https://evil.example"));
    let refused = provider(&mock, None).check().await.unwrap_err();
    assert!(matches!(refused, OAuthError::IssuerMismatch { .. }), "{refused}");
}

#[tokio::test]
async fn an_address_that_is_not_in_the_token_is_asked_for() {
    let (mock, signer) = start().await;
    mock.changes(OPENID, "userinfo_endpoint", json!(format!("{}/me", mock.url)));
    mock.says("/me", json!({"sub": "ann", "email": "ann@example.com", "email_verified": true}));
    let provider = provider(&mock, None);
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &signer, &page, &json!({"name": "Ann"}));
    let found = provider.finish(answer(&mock, &page)).await.unwrap().identity;
    assert_eq!(found.email.as_deref(), Some("ann@example.com"));
    assert_eq!(found.name.as_deref(), Some("Ann"));
    let asked = mock.asked("/me").pop().unwrap();
    assert_eq!(asked.authorization.as_deref(), Some("Bearer canary-access-1"));

    // What is said about another person is not about this one.
    mock.changes("/me", "sub", json!("bob"));
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &signer, &page, &json!({}));
    let refused = provider.finish(answer(&mock, &page)).await.unwrap_err();
    assert!(matches!(refused, OAuthError::BadAnswer { .. }), "{refused}");

    // Without an answer there is no address.
    mock.fails("/me", 403, json!({}));
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &signer, &page, &json!({}));
    assert_eq!(provider.finish(answer(&mock, &page)).await.unwrap().identity.email, None);
}

#[tokio::test]
async fn security_08_a_provider_without_s256_is_not_used() {
    let (mock, _signer) = start().await;
    mock.changes(OPENID, "code_challenge_methods_supported", json!(["plain"]));
    let refused = provider(&mock, None).begin(visit()).await.unwrap_err();
    assert!(matches!(refused, OAuthError::NoPkce { .. }), "{refused}");
    mock.changes(OPENID, "code_challenge_methods_supported", json!(null));
    provider(&mock, None).begin(visit()).await.unwrap();
}

#[tokio::test]
async fn security_10_a_provider_leads_nowhere_else() {
    let (mock, _signer) = start().await;
    for place in
        ["http://169.254.169.254/a", "javascript:alert(1)", "http://sso.example/a", "file:///a"]
    {
        mock.changes(OPENID, "authorization_endpoint", json!(place));
        let refused = provider(&mock, None).begin(visit()).await.unwrap_err();
        assert!(matches!(refused, OAuthError::ForbiddenUrl { .. }), "{place}: {refused}");
    }
}

#[tokio::test]
async fn security_03_a_state_that_is_too_old_is_worth_nothing() {
    let (mock, signer) = start().await;
    let settings = ProviderSettings::new(&mock.url, "client-1", None);
    assert_eq!(settings.timeout, Duration::from_secs(600));
    let settings = ProviderSettings { timeout: Duration::ZERO, ..settings };
    let provider = ProviderSignIn::new(settings, guarded_clients());
    let page = provider.begin(visit()).await.unwrap();
    identify(&mock, &signer, &page, &json!({}));
    let late = provider.finish(answer(&mock, &page)).await.unwrap_err();
    assert!(matches!(late, OAuthError::TimedOut { .. }), "{late}");
    assert!(mock.asked("/token").is_empty(), "nothing is redeemed");
}
