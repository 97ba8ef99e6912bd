//! One capability at one server with more than one issuer: each has a sign-in of its own.

use std::sync::Arc;

use capdeck_auth::{
    OAuthSettings, RevocationOutcome, SignIn, SignInRefusal, SignInState, SignOutReport,
};
use serde_json::json;

use crate::support::*;

/// A server, and a second authorization server beside its own.
struct Pair {
    server: Mock,
    second: Mock,
    folder: Folder,
}

impl Pair {
    async fn start() -> Self {
        let (server, second) = (Mock::start().await, Mock::start().await);
        second.says("/register", json!({"client_id": "client-2"}));
        second.grants("canary-second-1", Some("canary-second-refresh-1"), 3600);
        for mock in [&server, &second] {
            mock.changes(METADATA, "revocation_endpoint", json!(format!("{}/revoke", mock.url)));
            mock.says("/revoke", json!({}));
        }
        Self { server, second, folder: Folder::new() }
    }

    /// The sign-in of a definition that names an issuer, or none.
    fn at(&self, issuer: Option<&Mock>) -> Arc<SignIn> {
        let issuer = issuer.map(|mock| mock.url.clone());
        self.folder.sign_in(OAuthSettings { issuer, ..self.server.settings() })
    }

    /// Signs in at both, at the second one last.
    async fn sign_in_to_both(&self) {
        consent(&self.server, &self.at(Some(&self.server))).await;
        consent(&self.second, &self.at(Some(&self.second))).await;
    }
}

#[tokio::test]
async fn a_definition_that_is_changed_back_finds_its_sign_in_again() {
    let pair = Pair::start().await;
    let (first, second) = (pair.at(Some(&pair.server)), pair.at(Some(&pair.second)));
    consent(&pair.server, &first).await;
    let reason = format!(
        "it was made at `{}`, and the definition names `{}`",
        pair.server.url, pair.second.url
    );
    assert_eq!(second.needed(), SignInRefusal::OtherSignIn { reason });
    consent(&pair.second, &second).await;

    // Both are in one file.
    pair.folder.file();
    assert_eq!(token(&second).await.as_deref(), Some("canary-second-1"));
    assert_eq!(token(&first).await.as_deref(), Some("canary-access-1"));
    let again = pair.at(Some(&pair.server)).status().unwrap();
    assert_eq!(
        (again.state, again.issuer.as_ref()),
        (SignInState::SignedIn, Some(&pair.server.url))
    );

    // One that names no issuer uses what was made last, whichever was found out then.
    let unnamed = pair.at(None);
    assert_eq!(token(&unnamed).await.as_deref(), Some("canary-second-1"));
    pair.server.grants("canary-access-2", None, 3600);
    consent(&pair.server, &unnamed).await;
    assert_eq!(unnamed.status().unwrap().issuer.as_ref(), Some(&pair.server.url));
    for sign_in in [&unnamed, &first] {
        assert_eq!(token(sign_in).await.as_deref(), Some("canary-access-2"));
    }
    assert_eq!(token(&second).await.as_deref(), Some("canary-second-1"));
    // No one had to be registered with twice.
    for mock in [&pair.server, &pair.second] {
        assert_eq!(mock.asked("/register").len(), 1);
    }
}

#[tokio::test]
async fn each_issuer_renews_its_own() {
    let pair = Pair::start().await;
    pair.sign_in_to_both().await;
    pair.server.grants("canary-access-2", None, 3600);
    let first = pair.at(Some(&pair.server));
    first.renew().await.unwrap();
    assert_eq!(pair.server.asked("/token")[1].fields["refresh_token"], "canary-refresh-1");
    assert_eq!(pair.second.asked("/token").len(), 1);
    assert_eq!(token(&first).await.as_deref(), Some("canary-access-2"));
    let unnamed = pair.at(None);
    assert_eq!(
        token(&unnamed).await.as_deref(),
        Some("canary-second-1"),
        "renewing is not signing in"
    );

    // A refresh token that one issuer refuses is none of the other's business.
    pair.server.fails("/token", 400, json!({"error": "invalid_grant"}));
    first.renew().await.unwrap_err();
    assert!(!first.status().unwrap().renewable);
    assert!(pair.at(Some(&pair.second)).status().unwrap().renewable);
}

#[tokio::test]
async fn signing_out_of_one_issuer_leaves_the_other() {
    let pair = Pair::start().await;
    pair.sign_in_to_both().await;
    let (first, second) = (pair.at(Some(&pair.server)), pair.at(Some(&pair.second)));
    let done = SignOutReport { was_signed_in: true, revocation: RevocationOutcome::Done };
    assert_eq!(second.sign_out().await, Ok(done.clone()));
    assert_eq!(pair.second.asked("/revoke").len(), 2);
    assert!(pair.server.asked("/revoke").is_empty());
    assert_eq!(token(&second).await, None);
    assert_eq!(token(&first).await.as_deref(), Some("canary-access-1"));
    // What is left was never chosen by a definition that names no one.
    assert_eq!(pair.at(None).needed(), SignInRefusal::SignInNeeded);
    let nothing = SignOutReport { was_signed_in: false, revocation: RevocationOutcome::NotOffered };
    assert_eq!(second.sign_out().await, Ok(nothing));
    // The registration went, too.
    consent(&pair.second, &second).await;
    assert_eq!(pair.second.asked("/register").len(), 2);

    assert_eq!(second.sign_out().await, Ok(done.clone()));
    assert_eq!(first.sign_out().await, Ok(done));
    let left = std::fs::read_dir(pair.folder.path().join("auth")).unwrap();
    let left = left.map(|entry| entry.unwrap().path());
    assert_eq!(left.filter(|path| path.extension().is_some_and(|end| end == "json")).count(), 0);
}

#[tokio::test]
async fn signing_out_without_a_named_issuer_leaves_nothing() {
    let pair = Pair::start().await;
    pair.sign_in_to_both().await;
    pair.server.fails("/revoke", 503, json!({}));
    let outcome = pair.at(None).sign_out().await.unwrap();
    assert!(outcome.was_signed_in);
    // One service could be reached, so the outcome is the other one's answer.
    assert!(matches!(outcome.revocation, RevocationOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(pair.second.asked("/revoke").len(), 2);
    for mock in [&pair.server, &pair.second] {
        assert_eq!(token(&pair.at(Some(mock))).await, None);
    }
}
