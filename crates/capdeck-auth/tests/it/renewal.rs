//! Tokens that end while they are in use.

use std::{sync::Arc, time::Duration};

use capdeck_auth::{OAuthError, SignIn, SignInRefusal, SignInState};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::*;

/// Signs in with a token that is about to end.
async fn ending(mock: &Mock, folder: &Folder) -> Arc<SignIn> {
    mock.grants("canary-access-1", Some("canary-refresh-1"), 5);
    let sign_in = folder.sign_in(mock.settings());
    consent(mock, &sign_in).await;
    sign_in
}

/// The renewals so far; the first token request redeems the code.
fn renewals(mock: &Mock) -> Vec<Asked> {
    let asked = mock.asked("/token");
    asked.into_iter().filter(|one| one.fields["grant_type"] == "refresh_token").collect()
}

#[tokio::test]
async fn twelve_callers_with_one_old_token_renew_it_once() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let first = ending(&mock, &folder).await;
    mock.grants("canary-access-2", Some("canary-refresh-2"), 3600);
    // Two of them act as two processes: they share only the file.
    let second = folder.sign_in(mock.settings());
    let mut callers = JoinSet::new();
    for number in 0..12 {
        let sign_in = Arc::clone(if number % 2 == 0 { &first } else { &second });
        callers.spawn(async move { token(&sign_in).await });
    }
    for answer in callers.join_all().await {
        assert_eq!(answer.as_deref(), Some("canary-access-2"));
    }
    let [renewal] = renewals(&mock).try_into().unwrap();
    assert_eq!(renewal.fields["refresh_token"], "canary-refresh-1");
    assert_eq!(renewal.fields["resource"], json!(format!("{}/mcp", mock.url)));
    assert_eq!(renewal.fields["client_id"], "client-1");
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_for_all_who_sent_it() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    age(&mock, &folder, "canary-access-1");
    mock.grants("canary-access-2", None, 3600);
    let old = secret("canary-access-1");
    let mut callers = JoinSet::new();
    for _ in 0..12 {
        let (sign_in, old) = (Arc::clone(&sign_in), old.clone());
        callers.spawn(async move { sign_in.refused(401, Some("Bearer"), Some(&old)).await });
    }
    assert!(callers.join_all().await.into_iter().all(|worth_it| worth_it));
    assert_eq!(renewals(&mock).len(), 1);
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-2"));
    // The new token is young, so renewing it again would change nothing.
    let new = secret("canary-access-2");
    assert!(!sign_in.refused(401, Some("Bearer"), Some(&new)).await);
    assert_eq!(sign_in.last_refusal(), Some(SignInRefusal::SignInOver));
    assert_eq!(renewals(&mock).len(), 1);
    // The refresh token was not replaced, so it goes on.
    age(&mock, &folder, "canary-access-2");
    assert!(sign_in.refused(401, Some("Bearer"), Some(&new)).await);
    assert_eq!(renewals(&mock)[1].fields["refresh_token"], "canary-refresh-1");
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_is_not_tried_again() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = ending(&mock, &folder).await;
    mock.fails("/token", 400, json!({"error": "invalid_grant"}));
    for _ in 0..3 {
        // The old token is shown all the same; the server's refusal then says what to do.
        assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
    }
    assert_eq!(renewals(&mock).len(), 1);
    assert!(!sign_in.refused(401, None, Some(&secret("canary-access-1"))).await);
    assert_eq!(sign_in.last_refusal(), Some(SignInRefusal::SignInOver));
    assert_eq!(sign_in.renew().await.unwrap_err(), OAuthError::NotRenewable);
}

#[tokio::test]
async fn a_server_in_trouble_costs_no_sign_in() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    age(&mock, &folder, "canary-access-1");
    for status in [429, 500, 503] {
        mock.fails("/token", status, Value::Null);
        assert!(!sign_in.refused(401, None, Some(&secret("canary-access-1"))).await);
        let refusal = sign_in.last_refusal();
        assert!(matches!(refusal, Some(SignInRefusal::RenewalFailed { .. })), "{refusal:?}");
    }
    mock.grants("canary-access-2", None, 3600);
    assert_eq!(sign_in.renew().await.unwrap().state, SignInState::SignedIn);
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-2"));
}

#[tokio::test]
async fn a_caller_that_gives_up_does_not_lose_the_new_token() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = ending(&mock, &folder).await;
    mock.grants("canary-access-2", Some("canary-refresh-2"), 3600);
    let gave_up = tokio::time::timeout(Duration::ZERO, sign_in.token()).await;
    assert!(gave_up.is_err());
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-2"));
    assert_eq!(renewals(&mock).len(), 1);
    sign_in.renew().await.unwrap();
    assert_eq!(renewals(&mock)[1].fields["refresh_token"], "canary-refresh-2");
}

#[tokio::test]
async fn nothing_can_be_renewed_before_a_sign_in() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    assert_eq!(sign_in.renew().await.unwrap_err(), OAuthError::NotSignedIn);
    mock.grants("canary-access-1", None, 5);
    consent(&mock, &sign_in).await;
    assert_eq!(sign_in.renew().await.unwrap_err(), OAuthError::NotRenewable);
    assert!(renewals(&mock).is_empty());
}

/// Lets the tokens be old without waiting: as if they had been kept by a version that did not encrypt them.
fn age(mock: &Mock, folder: &Folder, access: &str) {
    let url = &mock.url;
    let record = json!({
        "server": format!("{url}/mcp"),
        "tokens": {
            "issuer": url,
            "resource": format!("{url}/mcp"),
            "tokenEndpoint": format!("{url}/token"),
            "client": {"id": "client-1", "method": "none"},
            "accessToken": access,
            "refreshToken": "canary-refresh-1",
            "scopes": [],
            "obtainedAt": 1,
        },
    });
    std::fs::write(folder.file(), record.to_string()).unwrap();
}
