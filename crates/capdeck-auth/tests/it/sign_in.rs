//! Sign-ins that work, from discovery to the file.

use std::os::unix::fs::PermissionsExt as _;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_auth::{LoginKind, LoginMethod, LoginStart, OAuthError, SignInRefusal, SignInState};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::support::*;

#[tokio::test]
async fn a_person_signs_in_once_and_every_process_has_the_token() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    mock.changes(RESOURCE, "scopes_supported", json!(["read", "write"]));
    let sign_in = folder.sign_in(mock.settings());
    assert_eq!(token(&sign_in).await, None);
    assert!(!sign_in.knows_what_is_asked());
    assert_eq!(sign_in.status().unwrap().state, SignInState::SignedOut);

    let login = begin(&sign_in, &[]).await.unwrap();
    let asked = |name: &str| query(&login, name).unwrap();
    let (challenge, redirect) = (asked("code_challenge"), asked("redirect_uri"));
    assert_eq!(asked("response_type"), "code");
    assert_eq!(asked("client_id"), "client-1");
    assert_eq!(asked("code_challenge_method"), "S256");
    assert_eq!(asked("resource"), format!("{}/mcp", mock.url));
    assert_eq!(asked("scope"), "read write");
    let [registration] = mock.asked("/register").try_into().unwrap();
    assert_eq!(registration.fields["redirect_uris"], json!([redirect]));
    assert_eq!(registration.fields["application_type"], "native");
    assert_eq!(registration.fields["grant_types"], json!(["authorization_code", "refresh_token"]));

    let answer = [("code", "canary-code"), ("iss", mock.url.as_str())];
    let status = come_back(login, &answer).await.unwrap();
    assert_eq!((status.state, status.renewable), (SignInState::SignedIn, true));
    assert_eq!(status.issuer.as_deref(), Some(mock.url.as_str()));
    assert_eq!(status.scopes, ["read", "write"]);

    let [request] = mock.asked("/token").try_into().unwrap();
    assert_eq!(request.fields["grant_type"], "authorization_code");
    assert_eq!(request.fields["code"], "canary-code");
    assert_eq!(request.fields["client_id"], "client-1");
    assert_eq!(request.fields["redirect_uri"], json!(redirect));
    assert_eq!(request.fields["resource"], json!(format!("{}/mcp", mock.url)));
    let verifier = request.fields["code_verifier"].as_str().unwrap();
    assert_eq!(URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)), challenge);

    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
    let other = folder.sign_in(mock.settings());
    assert_eq!(token(&other).await.as_deref(), Some("canary-access-1"));
    let mode = std::fs::metadata(folder.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    assert!(other.sign_out().await.unwrap().was_signed_in);
    assert_eq!(token(&sign_in).await, None);
    assert!(!other.sign_out().await.unwrap().was_signed_in);
}

#[tokio::test]
async fn a_registration_is_used_again_at_its_issuer_and_nowhere_else() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    consent(&mock, &sign_in).await;
    assert_eq!(mock.asked("/register").len(), 1);

    // The server moves to another authorization server, which knows nothing of the first client.
    let second = Mock::start().await;
    second.says("/register", json!({"client_id": "client-2"}));
    second.grants("canary-access-2", None, 3600);
    mock.changes(RESOURCE, "authorization_servers", json!([second.url]));
    let login = begin(&sign_in, &[]).await.unwrap();
    assert_eq!(query(&login, "client_id").as_deref(), Some("client-2"));
    let answer = [("code", "canary-code"), ("iss", second.url.as_str())];
    come_back(login, &answer).await.unwrap();
    let [request] = second.asked("/token").try_into().unwrap();
    assert_eq!(request.fields["client_id"], "client-2");
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-2"));
}

#[tokio::test]
async fn clients_show_who_they_are_in_the_way_the_server_takes() {
    for (methods, header, in_form) in [
        (json!(["client_secret_basic"]), Some("Basic Y2xpZW50JTNBMTpjYW5hcnklMkJzZWNyZXQ="), None),
        (json!(["client_secret_post"]), None, Some("canary+secret")),
        (json!(["none", "client_secret_post"]), None, Some("canary+secret")),
    ] {
        let (mock, folder) = (Mock::start().await, Folder::new());
        mock.changes(METADATA, "token_endpoint_auth_methods_supported", methods);
        let mut settings = mock.settings();
        settings.client_id = Some("client:1".to_owned());
        settings.client_secret = Some(secret("canary+secret"));
        consent(&mock, &folder.sign_in(settings)).await;
        assert!(mock.asked("/register").is_empty());
        let [request] = mock.asked("/token").try_into().unwrap();
        assert_eq!(request.authorization.as_deref(), header);
        let sent = request.fields.get("client_secret").and_then(|value| value.as_str());
        assert_eq!(sent, in_form);
    }
}

#[tokio::test]
async fn a_published_document_stands_in_for_a_registration() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let mut settings = mock.settings();
    settings.client_metadata_url = Some("https://capdeck.example/client.json".to_owned());
    let sign_in = folder.sign_in(settings);
    // Without support for documents the program registers itself.
    let login = begin(&sign_in, &[]).await.unwrap();
    assert_eq!(query(&login, "client_id").as_deref(), Some("client-1"));
    mock.changes(METADATA, "client_id_metadata_document_supported", json!(true));
    let login = begin(&sign_in, &[]).await.unwrap();
    assert_eq!(query(&login, "client_id").as_deref(), Some("https://capdeck.example/client.json"));
}

#[tokio::test]
async fn a_program_signs_in_for_itself_where_there_is_no_one_to_ask() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    mock.changes(METADATA, "grant_types_supported", json!(["client_credentials"]));
    mock.changes(METADATA, "token_endpoint_auth_methods_supported", json!(["client_secret_post"]));
    mock.grants("canary-access-1", None, 1);
    let refused =
        folder.sign_in(mock.settings()).begin(&[], LoginMethod::Browser).await.unwrap_err();
    assert!(matches!(refused, OAuthError::NoRegistration { .. }), "{refused}");

    let mut settings = mock.settings();
    settings.client_id = Some("robot".to_owned());
    settings.client_secret = Some(secret("canary-secret"));
    let sign_in = folder.sign_in(settings);
    let LoginStart::Done(status) = sign_in.begin(&[], LoginMethod::Browser).await.unwrap() else {
        panic!("a browser")
    };
    assert!(status.renewable);
    // It is about to end, so the next request asks for another.
    mock.grants("canary-access-2", None, 3600);
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-2"));
    let asked = mock.asked("/token");
    assert!(asked.iter().all(|one| one.fields["grant_type"] == "client_credentials"));
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn servers_from_before_descriptions_are_their_own_authorization_servers() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    mock.is_silent_at(RESOURCE);
    mock.is_silent_at(METADATA);
    let sign_in = folder.sign_in(mock.settings());
    let login = begin(&sign_in, &[]).await.unwrap();
    assert!(login.authorization_url.as_str().starts_with(&format!("{}/authorize?", mock.url)));
    assert_eq!(query(&login, "resource"), Some(format!("{}/mcp", mock.url)));
    assert_eq!(query(&login, "scope"), None);
    come_back(login, &[("code", "canary-code")]).await.unwrap();
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
}

#[tokio::test]
async fn a_definition_that_asks_for_another_sign_in_does_not_use_this_one() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    consent(&mock, &folder.sign_in(mock.settings())).await;
    let made_at = &mock.url;
    for (change, reported) in [
        (
            (|settings| settings.client_id = Some("another".to_owned()))
                as fn(&mut capdeck_auth::OAuthSettings),
            "it was made by another client than the definition names".to_owned(),
        ),
        (
            |settings| settings.issuer = Some("https://sso.example.com".to_owned()),
            format!(
                "it was made at `{made_at}`, and the definition names `https://sso.example.com`"
            ),
        ),
        (
            |settings| settings.kind = LoginKind::Oidc,
            "it has no identity, but the definition requires one".to_owned(),
        ),
    ] {
        let mut settings = mock.settings();
        change(&mut settings);
        let sign_in = folder.sign_in(settings);
        assert_eq!(token(&sign_in).await, None);
        let refusal = SignInRefusal::OtherSignIn { reason: reported.clone() };
        assert_eq!(sign_in.needed(), refusal);
        assert!(!sign_in.refused(401, Some("Bearer"), None).await);
        assert_eq!(sign_in.last_refusal(), Some(refusal));
        let status = sign_in.status().unwrap();
        assert_eq!((status.state, status.problem), (SignInState::SignedOut, Some(reported)));
    }
    // Rights that were never asked for are missing; those that were are between the person and the server.
    let mut settings = mock.settings();
    settings.scopes = vec!["read".to_owned()];
    let sign_in = folder.sign_in(settings.clone());
    assert_eq!(token(&sign_in).await, None);
    assert_eq!(sign_in.needed(), SignInRefusal::RightsMissing { scopes: settings.scopes.clone() });
    mock.changes("/token", "scope", json!("something else"));
    consent(&mock, &sign_in).await;
    assert!(token(&sign_in).await.is_some());
    settings.scopes.push("write".to_owned());
    let missing = SignInRefusal::RightsMissing { scopes: vec!["write".to_owned()] };
    assert_eq!(folder.sign_in(settings).needed(), missing);
}

#[tokio::test]
async fn a_file_that_was_tampered_with_is_not_used() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    let file = folder.file();
    let good = std::fs::read_to_string(&file).unwrap();
    assert!(!good.contains("canary"), "{good}");
    for broken in [
        good.replace("\"data\": \"", "\"data\": \"A"),
        good.replace("\"key\": \"", "\"key\": \"0"),
        good.replace("capdeck-v1", "capdeck-v9"),
        good.replace('}', ""),
        String::new(),
    ] {
        assert_ne!(broken, good);
        std::fs::write(&file, &broken).unwrap();
        assert_eq!(token(&sign_in).await, None, "{broken}");
        let error = sign_in.status().unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
    }
    // Signing in again replaces it.
    consent(&mock, &sign_in).await;
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
}
