//! Servers that ask for a sign-in, and later for more rights.

use capdeck_auth::SignInRefusal;
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn what_a_server_asks_for_is_what_the_next_sign_in_asks_for() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    // The description is where only the challenge says it is.
    let described = mock.answers.lock().remove(RESOURCE).unwrap();
    mock.says("/elsewhere", described.1);
    let challenge = format!("Bearer scope=\"basic\", resource_metadata=\"{}/elsewhere\"", mock.url);
    let host = folder.sign_in(mock.settings());
    assert!(!host.refused(401, Some(&challenge), None).await);
    assert_eq!(host.last_refusal(), Some(SignInRefusal::SignInNeeded));

    // Another process signs in.
    let command = folder.sign_in(mock.settings());
    assert!(command.knows_what_is_asked());
    assert_eq!(command.status().unwrap().wanted_scopes, ["basic"]);
    let login = begin(&command, &[]).await.unwrap();
    assert_eq!(query(&login, "scope").as_deref(), Some("basic"));
    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    let status = come_back(login, &answer).await.unwrap();
    assert!(status.wanted_scopes.is_empty());
    assert_eq!(token(&host).await.as_deref(), Some("canary-access-1"));
    // The one who was refused without a token meanwhile has one to try now.
    assert!(host.refused(401, Some(&challenge), None).await);
}

#[tokio::test]
async fn more_rights_are_added_to_the_ones_there_are_and_asked_for_once() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    sign_in.refused(401, Some("Bearer scope=\"basic\""), None).await;
    mock.changes("/token", "scope", json!("basic"));
    consent(&mock, &sign_in).await;

    let more = "Bearer error=\"insufficient_scope\", scope=\"write admin\"";
    let sent = secret("canary-access-1");
    assert!(!sign_in.refused(403, Some(more), Some(&sent)).await);
    let scopes = vec!["write".to_owned(), "admin".to_owned()];
    assert_eq!(sign_in.last_refusal(), Some(SignInRefusal::RightsMissing { scopes }));
    let login = begin(&sign_in, &["extra".to_owned()]).await.unwrap();
    assert_eq!(query(&login, "scope").as_deref(), Some("basic write admin extra"));
    mock.grants("canary-access-2", None, 3600);
    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    come_back(login, &answer).await.unwrap();

    // The same demand again, with everything granted: another sign-in would not help.
    let sent = secret("canary-access-2");
    assert!(!sign_in.refused(403, Some(more), Some(&sent)).await);
    assert_eq!(sign_in.last_refusal(), Some(SignInRefusal::RightsUseless));
    assert!(sign_in.status().unwrap().wanted_scopes.is_empty());
    assert_eq!(mock.asked("/token").len(), 2);
}

#[tokio::test]
async fn a_plain_no_is_not_about_the_sign_in() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    assert!(!sign_in.refused(403, None, Some(&secret("canary-access-1"))).await);
    assert_eq!(sign_in.last_refusal(), None);
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
}
