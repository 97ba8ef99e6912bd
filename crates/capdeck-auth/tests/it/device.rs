//! Signing in on another device, and handing in the address by hand.

use std::sync::Arc;

use capdeck_auth::{DeviceLogin, LoginMethod, LoginStart, OAuthError, SignIn, SignInState};
use serde_json::{Value, json};

use crate::support::*;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A server that lets people sign in on another device.
async fn offers() -> Mock {
    let mock = Mock::start().await;
    let endpoint = format!("{}/device", mock.url);
    mock.changes(METADATA, "device_authorization_endpoint", json!(endpoint));
    mock.says(
        "/device",
        json!({
            "device_code": "canary-device",
            "user_code": "ABCD-EFGH",
            "verification_uri": format!("{}/activate", mock.url),
            "verification_uri_complete": format!("{}/activate?user_code=ABCD-EFGH", mock.url),
            "expires_in": 600,
            "interval": 0.05,
        }),
    );
    mock
}

async fn start(sign_in: &Arc<SignIn>, way: LoginMethod) -> Result<DeviceLogin, OAuthError> {
    match sign_in.begin(&["extra".to_owned()], way).await? {
        LoginStart::Device(login) => Ok(*login),
        other => panic!("signed in another way: {other:?}"),
    }
}

fn pending() -> Value {
    json!({"error": "authorization_pending"})
}

#[tokio::test]
async fn a_person_enters_a_code_elsewhere() {
    let (mock, folder) = (offers().await, Folder::new());
    for way in [LoginMethod::Device, LoginMethod::DeviceIfOffered] {
        let sign_in = folder.sign_in(mock.settings());
        let login = start(&sign_in, way).await.unwrap();
        assert_eq!(login.user_code, "ABCD-EFGH");
        assert_eq!(login.verification_url.as_str(), format!("{}/activate", mock.url));
        assert_eq!(login.complete_url.as_ref().unwrap().query(), Some("user_code=ABCD-EFGH"));
        assert!(!format!("{login:?}").contains("canary"));
        mock.says_once("/token", 400, pending());
        let status = login.finish(TEST_TIMEOUT).await.unwrap();
        assert_eq!(status.state, SignInState::SignedIn);
        assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));
    }
    // It registered once, for this way of signing in.
    let [registration] = mock.asked("/register").try_into().unwrap();
    assert_eq!(registration.fields["grant_types"], json!([GRANT, "refresh_token"]));
    assert_eq!(registration.fields["redirect_uris"], json!([]));
    assert_eq!(registration.fields["response_types"], json!([]));
    let asked = &mock.asked("/device")[0];
    assert_eq!(asked.fields["client_id"], "client-1");
    assert_eq!(asked.fields["scope"], "extra");
    assert_eq!(asked.fields["resource"], json!(format!("{}/mcp", mock.url)));
    let polls = mock.asked("/token");
    assert_eq!(polls.len(), 4);
    for poll in polls {
        assert_eq!(poll.fields["grant_type"], GRANT);
        assert_eq!(poll.fields["device_code"], "canary-device");
    }
}

#[tokio::test]
async fn a_code_that_leads_nowhere_says_so() {
    let (mock, folder) = (offers().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    for (error, message) in [
        ("access_denied", "the sign-in was refused (`access_denied`)"),
        ("expired_token", "the code was not entered in time"),
    ] {
        mock.fails("/token", 400, json!({"error": error}));
        let login = start(&sign_in, LoginMethod::Device).await.unwrap();
        assert_eq!(login.finish(TEST_TIMEOUT).await.unwrap_err().to_string(), message);
    }
    mock.fails("/token", 400, pending());
    let login = start(&sign_in, LoginMethod::Device).await.unwrap();
    let late = login.finish(std::time::Duration::ZERO).await.unwrap_err();
    assert_eq!(late, OAuthError::TimedOut { seconds: 0 });
    mock.changes("/device", "expires_in", json!(0.01));
    let login = start(&sign_in, LoginMethod::Device).await.unwrap();
    assert_eq!(login.finish(TEST_TIMEOUT).await.unwrap_err(), OAuthError::CodeExpired);
    // The page is for people, but it has to be one that can be opened.
    for page in ["javascript:alert(1)", "file:///etc/passwd", "nowhere"] {
        mock.changes("/device", "verification_uri", json!(page));
        assert!(start(&sign_in, LoginMethod::Device).await.is_err(), "{page}");
    }
    mock.fails("/device", 400, json!({"error": "unauthorized_client"}));
    let error = start(&sign_in, LoginMethod::Device).await.unwrap_err().to_string();
    assert_eq!(error, "the sign-in was refused (`unauthorized_client`)");
    assert_eq!(token(&sign_in).await, None);
}

#[tokio::test]
async fn without_the_offer_a_code_is_refused_and_a_browser_used() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    let error = start(&sign_in, LoginMethod::Device).await.unwrap_err();
    assert_eq!(error, OAuthError::NoDeviceFlow { issuer: mock.url.clone() });
    let begun = sign_in.begin(&[], LoginMethod::DeviceIfOffered).await.unwrap();
    assert!(matches!(begun, LoginStart::Browser(_)), "{begun:?}");
}

#[tokio::test]
async fn the_address_can_be_handed_in_by_hand() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    let login = begin(&sign_in, &[]).await.unwrap();
    let (state, back) = (query(&login, "state").unwrap(), query(&login, "redirect_uri").unwrap());
    let (sender, pasted) = tokio::sync::mpsc::channel(8);
    let good = format!("{back}?code=canary-code&state={state}&iss={}\n", mock.url);
    for text in ["canary", "https://x.example/", &format!("{back}?code=x&state=other"), &good] {
        sender.send(text.to_owned()).await.unwrap();
    }
    let complaints = parking_lot::Mutex::new(Vec::new());
    let complain = |reason| complaints.lock().push(reason);
    let status = login.finish(TEST_TIMEOUT, pasted, complain).await.unwrap();
    assert_eq!(status.state, SignInState::SignedIn);
    assert_eq!(
        *complaints.lock(),
        [
            "this is not an address",
            "this is not the address that the page leads back to",
            "this address is from another sign-in",
        ]
    );
    assert_eq!(mock.asked("/token")[0].fields["code"], "canary-code");
}
