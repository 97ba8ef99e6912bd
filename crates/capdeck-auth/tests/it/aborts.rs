//! Everything that ends a sign-in before something is given away.

use capdeck_auth::OAuthError;
use serde_json::{Value, json};

use crate::support::*;

/// Starts a sign-in that must fail before anything is registered or redeemed.
async fn refused(mock: &Mock) -> String {
    let folder = Folder::new();
    let error = begin(&folder.sign_in(mock.settings()), &[]).await.unwrap_err().to_string();
    assert!(mock.asked("/register").is_empty() && mock.asked("/token").is_empty(), "{error}");
    error
}

#[tokio::test]
async fn metadata_that_does_not_fit_is_not_used() {
    let cases: [(&str, &str, Value, &str); 11] = [
        (RESOURCE, "resource", json!("https://evil.example/mcp"), "which is not"),
        (RESOURCE, "authorization_servers", json!([]), "names no authorization server"),
        (RESOURCE, "authorization_servers", json!(["https://10.0.0.1"]), "network"),
        (RESOURCE, "authorization_servers", json!(["http://sso.example.com"]), "HTTPS"),
        (METADATA, "issuer", json!("https://attacker.example"), "but `http"),
        (METADATA, "code_challenge_methods_supported", json!(["plain"]), "PKCE"),
        (METADATA, "code_challenge_methods_supported", Value::Null, "PKCE"),
        (METADATA, "registration_endpoint", Value::Null, "lets no program register itself"),
        (METADATA, "authorization_endpoint", json!("javascript:alert(1)"), "is not allowed"),
        (METADATA, "token_endpoint", json!("https://169.254.169.254/token"), "metadata service"),
        (METADATA, "registration_endpoint", json!("file:///etc/passwd"), "is not allowed"),
    ];
    for (document, member, value, words) in cases {
        let mock = Mock::start().await;
        mock.changes(document, member, value.clone());
        let error = refused(&mock).await;
        assert!(error.contains(words), "{member} = {value}: {error}");
    }
}

#[tokio::test]
async fn an_almost_equal_issuer_is_another_one() {
    let mock = Mock::start().await;
    mock.changes(METADATA, "issuer", json!(format!("{}/", mock.url)));
    assert!(refused(&mock).await.contains("calls itself"));
}

#[tokio::test]
async fn documents_are_neither_endless_nor_elsewhere() {
    let mock = Mock::start().await;
    mock.changes(METADATA, "padding", json!("x".repeat(300 * 1024)));
    assert!(refused(&mock).await.contains("larger than 262144 bytes"));

    let (mock, elsewhere) = (Mock::start().await, Mock::start().await);
    mock.fails(METADATA, 302, json!(format!("{}{METADATA}", elsewhere.url)));
    assert!(refused(&mock).await.contains("publishes no authorization server metadata"));
    assert!(elsewhere.asked(METADATA).is_empty());

    let mock = Mock::start().await;
    mock.fails(METADATA, 503, Value::Null);
    assert!(refused(&mock).await.contains("HTTP status 503"));

    let mock = Mock::start().await;
    mock.says(RESOURCE, json!({"resource": 7}));
    assert!(refused(&mock).await.contains("cannot be read"));
}

#[tokio::test]
async fn only_the_server_that_was_asked_may_answer() {
    let wrong = |mock: &Mock| OAuthError::WrongResponder { issuer: mock.url.clone() };
    for (is_promised, answer) in [
        (true, vec![("code", "canary-code")]),
        (true, vec![("code", "canary-code"), ("iss", "https://evil.example")]),
        (false, vec![("code", "canary-code"), ("iss", "https://evil.example")]),
        (
            true,
            vec![
                ("error", "canary"),
                ("error_description", "canary"),
                ("iss", "https://evil.example"),
            ],
        ),
        (true, vec![("error", "canary")]),
    ] {
        let (mock, folder) = (Mock::start().await, Folder::new());
        mock.changes(
            METADATA,
            "authorization_response_iss_parameter_supported",
            json!(is_promised),
        );
        let login = begin(&folder.sign_in(mock.settings()), &[]).await.unwrap();
        let error = come_back(login, &answer).await.unwrap_err();
        assert_eq!(error, wrong(&mock), "{answer:?}");
        assert!(mock.asked("/token").is_empty());
    }
    // One slash more is another name.
    let (mock, folder) = (Mock::start().await, Folder::new());
    let login = begin(&folder.sign_in(mock.settings()), &[]).await.unwrap();
    let slashed = format!("{}/", mock.url);
    let error = come_back(login, &[("code", "canary-code"), ("iss", &slashed)]).await.unwrap_err();
    assert_eq!(error, wrong(&mock));
}

#[tokio::test]
async fn a_person_may_say_no_and_is_refused_with_a_reason() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    let iss = ("iss", mock.url.as_str());
    for (answer, words) in [
        (vec![("error", "access_denied"), iss], "the sign-in was refused (`access_denied`)"),
        (vec![("error", "<b>canary</b>"), iss], "the sign-in was refused"),
        (vec![iss], "the answer in the browser holds no code"),
        (vec![("code", ""), iss], "the answer in the browser holds no code"),
    ] {
        let login = begin(&sign_in, &[]).await.unwrap();
        assert_eq!(come_back(login, &answer).await.unwrap_err().to_string(), words);
    }
    let login = begin(&sign_in, &[]).await.unwrap();
    let late = finish(login, std::time::Duration::ZERO).await.unwrap_err();
    assert_eq!(late, OAuthError::TimedOut { seconds: 0 });
}

#[tokio::test]
async fn what_a_token_endpoint_says_shows_no_secret() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    let cases: [(u16, Value, &str); 6] = [
        (
            400,
            json!({"error": "invalid_grant", "error_description": "canary"}),
            "(`invalid_grant`)",
        ),
        (400, json!({"error": "canary canary"}), "refused the token request"),
        (500, json!({"canary": 1}), "HTTP status 500"),
        (200, json!({"token": "canary"}), "cannot be read"),
        (200, json!({"access_token": "canary\r\nx", "token_type": "Bearer"}), "in a header"),
        (200, json!({"access_token": "canary", "token_type": "mac"}), "not of type `Bearer`"),
    ];
    for (status, body, words) in cases {
        mock.fails("/token", status, body);
        let login = begin(&sign_in, &[]).await.unwrap();
        let error = come_back(login, &answer).await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("canary"), "{error}");
        assert_eq!(token(&sign_in).await, None);
    }
    assert!(!format!("{sign_in:?}").contains("canary"));
}

#[tokio::test]
async fn a_client_the_server_has_forgotten_registers_again() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    mock.fails("/token", 401, json!({"error": "invalid_client"}));
    let login = begin(&sign_in, &[]).await.unwrap();
    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    come_back(login, &answer).await.unwrap_err();
    mock.grants("canary-access-1", None, 3600);
    consent(&mock, &sign_in).await;
    assert_eq!(mock.asked("/register").len(), 2);
}

#[tokio::test]
async fn a_refused_registration_says_why() {
    let mock = Mock::start().await;
    mock.fails("/register", 400, json!({"error": "invalid_redirect_uri"}));
    let folder = Folder::new();
    let error = begin(&folder.sign_in(mock.settings()), &[]).await.unwrap_err();
    assert!(error.to_string().ends_with("register this program (`invalid_redirect_uri`)"));
}
