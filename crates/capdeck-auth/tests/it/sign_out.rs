//! Ending a sign-in, here and at the service.

use capdeck_auth::{OAuthError, RevocationOutcome, SignOutReport};
use serde_json::{Value, json};

use crate::support::*;

#[tokio::test]
async fn the_service_is_notified_where_it_asks_for_it() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    mock.changes(METADATA, "revocation_endpoint", json!(format!("{}/revoke", mock.url)));
    mock.says("/revoke", json!({}));
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    let done = SignOutReport { was_signed_in: true, revocation: RevocationOutcome::Done };
    assert_eq!(sign_in.sign_out().await, Ok(done));
    let reported: Vec<(Value, Value, Value)> = mock
        .asked("/revoke")
        .iter()
        .map(|asked| {
            let field = |name: &str| asked.fields[name].clone();
            (field("token"), field("token_type_hint"), field("client_id"))
        })
        .collect();
    let expected = [("canary-refresh-1", "refresh_token"), ("canary-access-1", "access_token")];
    let expected = expected.map(|(token, kind)| (json!(token), json!(kind), json!("client-1")));
    assert_eq!(reported, expected);
    assert_eq!(token(&sign_in).await, None);
    let nothing = SignOutReport { was_signed_in: false, revocation: RevocationOutcome::NotOffered };
    assert_eq!(sign_in.sign_out().await, Ok(nothing));
}

#[tokio::test]
async fn a_service_that_cannot_be_reported_changes_nothing_about_forgetting() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    let silent = SignOutReport { was_signed_in: true, revocation: RevocationOutcome::NotOffered };
    assert_eq!(sign_in.sign_out().await, Ok(silent));

    mock.changes(METADATA, "revocation_endpoint", json!(format!("{}/revoke", mock.url)));
    mock.fails("/revoke", 503, json!({"canary": 1}));
    consent(&mock, &sign_in).await;
    let outcome = sign_in.sign_out().await.unwrap();
    let RevocationOutcome::Failed { error } = &outcome.revocation else { panic!("{outcome:?}") };
    assert!(matches!(error, OAuthError::Status { status: 503, .. }), "{error}");
    assert!(outcome.was_signed_in);
    assert_eq!(token(&sign_in).await, None);

    // What cannot be read can still be forgotten.
    consent(&mock, &sign_in).await;
    std::fs::write(folder.file(), "{").unwrap();
    assert!(sign_in.sign_out().await.unwrap().was_signed_in);
    assert!(sign_in.status().is_ok());
}
