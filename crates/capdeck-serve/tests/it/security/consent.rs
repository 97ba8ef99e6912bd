//! A person is asked about every client, every time, before anybody is sent anywhere.

use serde_json::json;

use super::stage::{ALL, KEY, setting};
use crate::sign_in::browser::{Browser, REDIRECT, hidden};

#[test]
fn security_01_a_cookie_and_an_earlier_yes_do_not_stand_for_a_new_client() {
    let served = setting().serve();
    let mut browser = Browser::with_key(&served, KEY);
    let known = browser.register(REDIRECT);
    browser.code(&known, &[("scope", "deck:call")], &ALL);
    assert!(browser.cookie.is_some(), "the person stays signed in");
    // Another client with the same name and address, and the same one again.
    for client in [browser.register(REDIRECT), known] {
        let path = browser.authorize_path(&client, &[("scope", "deck:call")]);
        let page = browser.get(&path);
        assert_eq!((page.status, page.header("location")), (200, None), "{page:?}");
        assert!(!hidden(&page, "request").is_empty());
        assert_eq!(page.header("set-cookie"), None, "nothing is remembered before the yes");
    }
}

#[test]
fn security_01_a_yes_to_one_client_gives_another_nothing() {
    let served = setting().serve();
    let mut browser = Browser::with_key(&served, KEY);
    let (first, second) = (browser.register(REDIRECT), browser.register(REDIRECT));
    let code = browser.code(&first, &[("scope", "deck:call")], &ALL);
    let stolen = browser.redeem(&second, &code);
    assert_eq!(stolen.status, 400, "{stolen:?}");
    // What was shown for one client cannot be sent for another: the page is sealed whole.
    let page = browser.consent_page(&first, &[("scope", "deck:call")]);
    let request = hidden(&page, "request");
    let fields = [
        ("request", request.as_str()),
        ("decision", "approve"),
        ("client_id", second.as_str()),
        ("scope", "deck:call"),
        ("deck", "all"),
    ];
    let sent = browser.post("/oauth/authorize", &fields);
    let location = sent.header("location").unwrap().to_owned();
    let code = crate::sign_in::browser::parameter(&location, "code").unwrap();
    assert_eq!(browser.redeem(&second, &code).status, 400);
}

#[test]
fn security_01_no_request_of_a_client_sends_anybody_to_another_server() {
    // A server behind this host that wants a sign-in of its own: the person signs in to it, and no client can begin that.
    let served = setting()
        .entry(
            "mcpServers",
            "guarded",
            json!({"url": "http://127.0.0.1:9/mcp", "auth": {"type": "oauth2"}}),
        )
        .serve();
    let mut browser = Browser::with_key(&served, KEY);
    let tokens = browser.sign_in("/mcp", "deck:call", &ALL);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut client = crate::sign_in::browser::client_with(&served, "/mcp", &tokens.access);
    let listed = client.post(&call.to_string());
    assert_eq!((listed.status, listed.header("location")), (200, None), "{listed:?}");
    assert!(!listed.body.contains("127.0.0.1:9"), "{}", listed.body);
}
