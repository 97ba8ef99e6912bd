//! Operators sign in with an account of a provider, and everything that must not work about it.

use std::time::Duration;

use capdeck_auth::inbound::{
    EventCaller, NewOperator, OperatorAccount, OperatorRole, OperatorSubject, OperatorUpdate,
    RegistryEvent, SignUpDomains,
};
use capdeck_serve::{OidcSettings, ServeAuthMode};
use capdeck_test::HttpReply;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;

use super::{
    browser::{Browser, REDIRECT, body, form, parameter},
    provider::Provider,
};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";
const BEGIN: &str = "/api/oidc/begin";
const CALLBACK: &str = "/api/oidc/callback";

/// A host whose operators sign in at a provider, and one of them: Ann, by her address.
struct Stage {
    provider: Provider,
    served: Served,
    ann: String,
    events: Receiver<RegistryEvent>,
}

impl Stage {
    fn new() -> Self {
        Self::with(Setting::new(), |_| {})
    }

    fn with(setting: Setting, change: impl FnOnce(&mut OidcSettings)) -> Self {
        let provider = Provider::start();
        let mut settings = provider.settings();
        change(&mut settings);
        let setting = setting.registry().auth(ServeAuthMode::Required).key(KEY).oidc(settings);
        let served = setting.serve();
        let subject = OperatorSubject {
            issuer: provider.url.clone(),
            account: OperatorAccount::Email("ann@example.com".to_owned()),
        };
        let new = NewOperator {
            name: "Ann".to_owned(),
            role: OperatorRole::Approver,
            subject: Some(subject),
            with_key: false,
        };
        let admin = EventCaller::new("admin", None);
        let made = served.wait(served.registry().operators().create(&admin, new)).unwrap();
        let events = served.registry().changes();
        Self { provider, served, ann: made.operator.id, events }
    }

    /// What was recorded since the last time, without anything secret in it.
    fn recorded(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            assert!(!format!("{event:?}").contains("canary"), "{event:?}");
            let code = event.error_code.map(|code| format!(" {code}")).unwrap_or_default();
            lines.push(format!("{}{code}", event.action));
        }
        lines
    }

    /// The address at the provider that a browser is sent to.
    fn begin(&self, browser: &mut Browser, then: &str) -> String {
        let sent = browser.get(&format!("{BEGIN}?{}", form(&[("then", then)])));
        assert_eq!(sent.status, 303, "{sent:?}");
        assert_eq!(sent.header("cache-control"), Some("no-store"));
        sent.header("location").unwrap().to_owned()
    }

    /// The whole way; gives the answer to what comes back.
    fn sign_in(&self, browser: &mut Browser, then: &str, claims: &Value) -> HttpReply {
        let page = self.begin(browser, then);
        browser.get(&format!("{CALLBACK}?{}", self.provider.agree(&page, claims)))
    }
}

fn ann() -> Value {
    json!({"email": "ann@example.com", "email_verified": true, "name": "Ann"})
}

/// A refusal on a page: nothing of the answer's own texts, no session.
fn assert_refused(reply: &HttpReply, status: u16, words: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert!(reply.body.contains(words), "{}", reply.body);
    assert!(!reply.body.contains("canary") && !reply.body.contains("<script"), "{}", reply.body);
    let cookies = reply.headers.iter().filter(|(name, _)| name == "set-cookie");
    for (_, cookie) in cookies {
        assert!(cookie.starts_with("capdeck-sign-in=;"), "{cookie}");
    }
}

#[test]
fn an_operator_signs_in_and_lands_where_they_wanted_to_be() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    let ways = browser.get("/api/sign-in");
    assert_eq!(body(&ways), json!({"provider": {"label": "Work <b>account</b>"}}));
    let page = stage.begin(&mut browser, "/#/capsules/team");
    let cookie = browser.cookie.clone().unwrap();
    assert_eq!(cookie, format!("capdeck-sign-in={}", parameter(&page, "state").unwrap()));
    assert_eq!(
        parameter(&page, "redirect_uri").unwrap(),
        format!("{}{CALLBACK}", stage.served.url())
    );
    let back = browser.get(&format!("{CALLBACK}?{}", stage.provider.agree(&page, &ann())));
    assert_eq!((back.status, back.header("location")), (303, Some("/#/capsules/team")), "{back:?}");
    assert_eq!(back.header("referrer-policy"), Some("no-referrer"));
    let cookies: Vec<&str> = back
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie")
        .map(|(_, value)| value.as_str())
        .collect();
    assert!(cookies[0].starts_with("capdeck=") && cookies[0].contains("HttpOnly"), "{cookies:?}");
    assert!(cookies[1].starts_with("capdeck-browser="), "{cookies:?}");
    assert!(cookies[2].starts_with("capdeck-sign-in=; ") && cookies[2].contains("Max-Age=0"));
    let me = body(&browser.get("/api/me"));
    assert_eq!((&me["operator"]["id"], &me["role"]), (&json!(stage.ann), &json!("approver")));
    assert_eq!(stage.recorded(), ["login.ok", "operator.update"]);
    // Known by the account itself from now on, at any address.
    let again = stage.sign_in(&mut browser, "/", &json!({}));
    assert_eq!(again.status, 303, "{again:?}");
    assert_eq!(stage.recorded(), ["login.ok"]);
}

#[test]
fn security_03_a_state_is_good_once_and_in_the_browser_it_was_begun_in() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    let page = stage.begin(&mut browser, "/");
    let (cookie, answer) = (browser.cookie.clone(), stage.provider.agree(&page, &ann()));
    // Another browser, with a sign-in of its own and without.
    let mut other = Browser::new(&stage.served);
    assert_refused(&other.get(&format!("{CALLBACK}?{answer}")), 400, "Start again");
    stage.begin(&mut other, "/");
    assert_refused(&other.get(&format!("{CALLBACK}?{answer}")), 400, "Start again");
    assert_eq!(browser.get(&format!("{CALLBACK}?{answer}")).status, 303);
    assert_eq!(
        stage.recorded(),
        ["login.fail forbidden", "login.fail forbidden", "login.ok", "operator.update"]
    );
    // The same answer once more, by the one who kept the cookie.
    browser.cookie = cookie;
    assert_refused(&browser.get(&format!("{CALLBACK}?{answer}")), 400, "Start again");
    assert_eq!(stage.recorded(), ["login.fail forbidden"]);
}

#[test]
fn security_03_a_state_ends_after_its_time() {
    let mut stage = Stage::with(Setting::new(), |oidc| oidc.provider.timeout = Duration::ZERO);
    let mut browser = Browser::new(&stage.served);
    let late = stage.sign_in(&mut browser, "/", &ann());
    assert_refused(&late, 400, "took longer");
    assert_eq!(stage.recorded(), ["login.fail forbidden"]);
}

#[test]
fn answers_that_were_made_up_or_changed_let_no_one_in() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    for query in [
        "",
        "code=canary",
        "state=x&code=canary",
        "state=&code=canary",
        "state=a&state=b&code=canary",
        "error=canary&error_description=canary",
    ] {
        assert_refused(&browser.get(&format!("{CALLBACK}?{query}")), 400, "Start again");
    }
    assert_eq!(stage.recorded(), ["login.fail forbidden"; 6]);
    let begun = stage.begin(&mut browser, "/");
    let state = parameter(&begun, "state").unwrap();
    let twice = format!("{CALLBACK}?state={state}&state={state}&code=canary");
    assert_refused(&browser.get(&twice), 400, "Start again");
}

#[test]
fn security_08_only_what_the_provider_says_about_this_sign_in_counts() {
    for claims in [
        json!({"nonce": "another"}),
        json!({"iss": "https://evil.example"}),
        json!({"aud": "another-client"}),
        json!({"exp": 1}),
    ] {
        let mut stage = Stage::new();
        let mut browser = Browser::new(&stage.served);
        let mut all = ann();
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let reply = stage.sign_in(&mut browser, "/", &all);
        assert_refused(&reply, 400, "is not valid");
        assert_eq!(stage.recorded(), ["login.fail forbidden"], "{claims}");
    }
}

#[test]
fn security_08_the_answer_names_its_issuer_letter_by_letter() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    for issuer in
        [None, Some("https://evil.example".to_owned()), Some(format!("{}/", stage.provider.url))]
    {
        let page = stage.begin(&mut browser, "/");
        let answer = stage.provider.agree(&page, &ann());
        let (state, code) = (
            parameter(&format!("http://x/?{answer}"), "state").unwrap(),
            parameter(&format!("http://x/?{answer}"), "code").unwrap(),
        );
        let mut fields = vec![("state", state.as_str()), ("code", code.as_str())];
        fields.extend(issuer.as_deref().map(|issuer| ("iss", issuer)));
        assert_refused(&browser.get(&format!("{CALLBACK}?{}", form(&fields))), 400, "is not valid");
    }
    assert_eq!(stage.recorded(), ["login.fail forbidden"], "one line for a burst");
}

#[test]
fn what_the_provider_says_about_an_error_is_not_repeated() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    for error in ["access_denied", "<script>canary</script>"] {
        let page = stage.begin(&mut browser, "/");
        let state = parameter(&page, "state").unwrap();
        let fields = [
            ("state", state.as_str()),
            ("iss", &stage.provider.url),
            ("error", error),
            ("error_description", "<script>canary</script>"),
        ];
        let reply = browser.get(&format!("{CALLBACK}?{}", form(&fields)));
        assert_refused(&reply, 403, "did not sign you in");
        // The label is ours, and still only a text.
        assert!(reply.body.contains("Work &lt;b&gt;account&lt;/b&gt;"), "{}", reply.body);
    }
    assert_eq!(stage.recorded(), ["login.fail forbidden"; 2]);
}

#[test]
fn a_person_no_one_knows_is_refused_with_a_reason_and_has_to_wait_in_the_end() {
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    // An address that no one verified is no address.
    let unverified = json!({"sub": "eve", "email": "ann@example.com", "email_verified": false});
    let reply = stage.sign_in(&mut browser, "/", &unverified);
    assert_refused(&reply, 403, "Unknown account");
    assert!(reply.body.contains("account eve"), "{}", reply.body);
    let hostile = json!({"sub": "<script>alert(1)</script>"});
    for _ in 0..4 {
        assert_refused(&stage.sign_in(&mut browser, "/", &hostile), 403, "&lt;script&gt;");
    }
    assert_eq!(stage.recorded(), ["login.fail forbidden"], "one line for a burst");
    let waits = browser.get(BEGIN);
    assert_refused(&waits, 429, "Too many failed sign-ins");
    assert!(waits.header("retry-after").is_some());
    assert!(stage.recorded().is_empty(), "the burst goes on");
}

#[test]
fn newcomers_are_members_where_the_host_says_so() {
    let mut stage = Stage::with(Setting::new(), |oidc| {
        oidc.newcomers = SignUpDomains { domains: vec!["example.com".to_owned()] };
    });
    let mut browser = Browser::new(&stage.served);
    let bob =
        json!({"sub": "bob", "email": "bob@example.com", "email_verified": true, "name": "Bob"});
    assert_eq!(stage.sign_in(&mut browser, "/", &bob).status, 303);
    let me = body(&browser.get("/api/me"));
    assert_eq!((&me["operator"]["name"], &me["role"]), (&json!("Bob"), &json!("member")));
    assert_eq!(stage.recorded(), ["login.ok", "operator.create"]);
    let eve = json!({"sub": "eve", "email": "eve@evil-example.com", "email_verified": true});
    assert_refused(
        &stage.sign_in(&mut Browser::new(&stage.served), "/", &eve),
        403,
        "Unknown account",
    );
}

#[test]
fn security_04_no_one_is_sent_anywhere_else_afterwards() {
    let stage = Stage::new();
    for then in
        ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
    {
        let mut browser = Browser::new(&stage.served);
        let back = stage.sign_in(&mut browser, then, &ann());
        assert_eq!((back.status, back.header("location")), (303, Some("/")), "{then}");
    }
    // Nor does anything that the provider adds to its answer decide.
    let mut browser = Browser::new(&stage.served);
    let page = stage.begin(&mut browser, "/#/runs");
    let answer = stage.provider.agree(&page, &ann());
    let back = browser.get(&format!("{CALLBACK}?{answer}&then=https%3A%2F%2Fevil.example"));
    assert_eq!(back.header("location"), Some("/#/runs"));
}

#[test]
fn a_sign_in_begins_on_a_page_of_this_host() {
    let stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    for site in ["cross-site", "same-site"] {
        let reply = browser.send("GET", BEGIN, &[("Sec-Fetch-Site", site)], "");
        assert_refused(&reply, 403, "Another site");
    }
    for site in ["same-origin", "none"] {
        assert_eq!(browser.send("GET", BEGIN, &[("Sec-Fetch-Site", site)], "").status, 303);
    }
    assert_eq!(browser.send("POST", BEGIN, &[], "").status, 405);
}

#[test]
fn through_a_proxy_the_public_address_counts() {
    let setting = Setting::new().public_url("https://deck.example/").allowed_host("deck.example");
    let stage = Stage::with(setting, |_| {});
    let mut browser = Browser::new(&stage.served);
    let page = stage.begin(&mut browser, "/");
    let redirect = parameter(&page, "redirect_uri").unwrap();
    assert_eq!(redirect, format!("https://deck.example{CALLBACK}"));
    let cookie = browser.cookie.clone().unwrap();
    assert!(cookie.starts_with("__Host-capdeck-sign-in="), "{cookie}");
    let answer = stage.provider.agree(&page, &ann());
    // A cookie that a neighbour could have put there is none.
    browser.cookie = Some(cookie.replace("__Host-", ""));
    assert_eq!(browser.get(&format!("{CALLBACK}?{answer}")).status, 400);
    browser.cookie = Some(cookie);
    let back = browser.get(&format!("{CALLBACK}?{answer}"));
    assert_eq!(back.status, 303, "{back:?}");
    let session = back.header("set-cookie").unwrap();
    assert!(session.starts_with("__Host-capdeck=") && session.contains("Secure"), "{session}");
}

#[test]
fn who_is_removed_or_loses_the_account_is_out_at_once() {
    let stage = Stage::new();
    let (registry, admin) = (stage.served.registry(), EventCaller::new("admin", None));
    let mut browser = Browser::new(&stage.served);
    assert_eq!(stage.sign_in(&mut browser, "/", &ann()).status, 303);
    let member = OperatorUpdate { role: Some(OperatorRole::Member), ..OperatorUpdate::default() };
    stage.served.wait(registry.operators().update(&admin, &stage.ann, member)).unwrap();
    assert_eq!(body(&browser.get("/api/me"))["role"], "member");
    let unbound = OperatorUpdate { subject: Some(None), ..OperatorUpdate::default() };
    stage.served.wait(registry.operators().update(&admin, &stage.ann, unbound)).unwrap();
    assert_eq!(browser.get("/api/me").status, 401);
    assert_refused(&stage.sign_in(&mut browser, "/", &ann()), 403, "Unknown account");
}

#[test]
fn the_page_before_consent_offers_the_provider_too() {
    let stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    let client = browser.register(REDIRECT);
    let path = browser.authorize_path(&client, &[("scope", "deck:read")]);
    let page = browser.get(&path);
    let link = page.body.split("href=\"").find(|part| part.starts_with(BEGIN)).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let sent = browser.get(&link);
    let answer = stage.provider.agree(sent.header("location").unwrap(), &ann());
    let back = browser.get(&format!("{CALLBACK}?{answer}"));
    assert_eq!((back.status, back.header("location")), (303, Some(path.as_str())));
}

#[test]
fn a_host_without_a_provider_or_with_a_broken_one_says_so() {
    let plain = Setting::new().registry().auth(ServeAuthMode::Required).key(KEY).serve();
    let mut browser = Browser::new(&plain);
    assert_eq!(body(&browser.get("/api/sign-in")), json!({"provider": null}));
    assert_refused(&browser.get(BEGIN), 404, "has no OpenID provider");
    assert_refused(
        &browser.get(&format!("{CALLBACK}?state=x&code=y")),
        404,
        "has no OpenID provider",
    );
    let mut stage = Stage::new();
    let mut browser = Browser::new(&stage.served);
    stage.provider.describes("issuer", json!("https://canary.example"));
    assert_refused(&browser.get(BEGIN), 502, "is not available");
    stage.provider.describes("issuer", json!(stage.provider.url));
    stage.provider.describes("authorization_endpoint", json!("http://169.254.169.254/canary"));
    assert_refused(&browser.get(BEGIN), 502, "is not available");
    assert!(stage.recorded().is_empty(), "nobody was refused");
}
