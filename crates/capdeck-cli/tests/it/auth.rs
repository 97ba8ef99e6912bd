//! `capdeck auth`: signing in, looking, renewing, signing out, and what is said when a sign-in is no good.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdin, Command, Stdio},
};

use capdeck_test::{CapdeckOutput, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, provider::Provider, run};

/// A deck with an API that wants a sign-in.
pub(crate) fn deck(provider: &Provider, more: &str) -> TestDirs {
    let dirs = TestDirs::new();
    write(&dirs, provider, more);
    dirs
}

fn write(dirs: &TestDirs, provider: &Provider, more: &str) {
    let url = &provider.url;
    let text = format!(
        "---\nname: Items\ndescription: Items of a service.\nhttpApi:\n  baseUrl: {url}\n  \
         auth: {{ type: oauth2{more} }}\n  actions:\n    list:\n      description: Lists items.\n      \
         method: GET\n      path: /items\n---\n"
    );
    dirs.write("config/items.md", text);
}

fn call(dirs: &TestDirs) -> CapdeckOutput {
    capdeck(dirs).args(["call", "items", "list", "--json"]).run()
}

/// A sign-in that waits for its person.
pub(crate) struct Waiting {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    first: Value,
    stdin: Option<ChildStdin>,
}

fn login(dirs: &TestDirs, words: &[&str]) -> Waiting {
    login_with(dirs, words, &[])
}

pub(crate) fn login_with(dirs: &TestDirs, words: &[&str], variables: &[(&str, &str)]) -> Waiting {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["auth", "login", "items", "--json"]).args(words);
    command.envs(variables.iter().copied());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    Waiting { child, lines, first, stdin }
}

impl Waiting {
    /// Where the person agrees.
    pub(crate) fn address(&self) -> &str {
        self.first["authorizationUrl"].as_str().unwrap()
    }

    /// Where the browser would come back to, with the person's consent.
    fn way_back(&self) -> String {
        let url = self.address();
        let part = |name: &str| {
            let start = url.split_once(&format!("{name}=")).unwrap().1;
            start.split('&').next().unwrap().replace("%3A", ":").replace("%2F", "/")
        };
        format!("{}?code=canary-code&state={}", part("redirect_uri"), part("state"))
    }

    /// Comes back as a browser does.
    pub(crate) fn visit(&self) {
        let back = self.way_back();
        let (authority, target) = back.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.write_all(format!("GET /{target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    }

    pub(crate) fn outcome(mut self) -> (Option<i32>, Value) {
        let last = self.lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
        drop(self.stdin);
        (self.child.wait().unwrap().code(), serde_json::from_str(&last).unwrap_or(json!(last)))
    }
}

/// Signs in with a browser that comes back.
pub(crate) fn sign_in(dirs: &TestDirs, variables: &[(&str, &str)]) {
    let waiting = login_with(dirs, &["--no-open"], variables);
    waiting.visit();
    let (code, outcome) = waiting.outcome();
    assert_eq!((code, &outcome["state"]), (Some(0), &json!("signedIn")), "{outcome}");
}

fn assert_needs_login(finished: &CapdeckOutput, message: &str) {
    let error = &finished.json()["error"];
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert_eq!(error["code"], "AUTH_REQUIRED", "{error}");
    assert_eq!(error["hint"], "run: capdeck auth login items");
    assert!(error["message"].as_str().unwrap().contains(message), "{error}");
}

#[test]
fn a_sign_in_is_made_shown_renewed_and_taken_back() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    assert_needs_login(&call(&dirs), "`items` asks for a sign-in");
    assert_eq!(json(&dirs, &["auth", "status", "items"])["state"], "signedOut");
    let failed = run(&dirs, &["auth", "refresh", "items"]);
    assert_eq!(failed.code, Some(3), "{failed:?}");
    assert!(failed.stderr.contains("hint: run: capdeck auth login items"), "{}", failed.stderr);

    sign_in(&dirs, &[]);
    assert_eq!(call(&dirs).code, Some(0));
    let status = json(&dirs, &["auth", "status"]);
    let item = &status["items"][0];
    assert_eq!((&item["id"], &item["state"]), (&json!("items"), &json!("signedIn")), "{status}");
    assert_eq!((&item["issuer"], &item["scopes"]), (&json!(provider.url), &json!(["read"])));
    assert_eq!(item["renewable"], true);
    let text = run(&dirs, &["auth", "status"]).success().stdout;
    let expected =
        format!("items: signed in at {}, renewed by itself; scopes: read\n", provider.url);
    assert_eq!(text, expected);

    provider.grants("canary-access-2", 3600);
    assert_eq!(json(&dirs, &["auth", "refresh", "items"])["state"], "signedIn");
    let renewal = provider.asked("/token").pop().unwrap();
    assert!(renewal.contains("refresh_token=canary-access-1-refresh"), "{renewal}");
    assert_eq!(call(&dirs).code, Some(0));

    let out = json(&dirs, &["auth", "logout", "items"]);
    let expected =
        json!({"id": "items", "state": "signedOut", "wasSignedIn": true, "revoked": true});
    assert_eq!(out, expected);
    assert_eq!(provider.asked("/revoke").len(), 2);
    assert_needs_login(&call(&dirs), "`items` asks for a sign-in");
    let again = run(&dirs, &["auth", "logout", "items"]).success();
    assert_eq!(again.stderr, "items: was not signed in\n");
}

#[test]
fn a_service_that_cannot_be_notified_is_warned_about() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    sign_in(&dirs, &[]);
    provider.fails("/revoke", 500, Value::Null);
    let out = run(&dirs, &["auth", "logout", "items"]).success();
    assert!(
        out.stderr.contains("signed out here, but the service could not revoke the tokens"),
        "{}",
        out.stderr
    );
    assert_eq!(json(&dirs, &["auth", "status", "items"])["state"], "signedOut");
}

#[test]
fn expired_revoked_and_misplaced_sign_ins_name_the_command_that_repairs_them() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    // About to end, and the service does not renew it.
    provider.grants("canary-access-1", 20);
    sign_in(&dirs, &[]);
    provider.accepts("another");
    provider.fails("/token", 400, json!({"error": "invalid_grant"}));
    assert_needs_login(&call(&dirs), "the sign-in to `items` is over");
    let failed = capdeck(&dirs).args(["auth", "refresh", "items", "--json"]).run();
    assert_needs_login(&failed, "");

    provider.grants("canary-access-2", 3600);
    sign_in(&dirs, &[]);
    assert_eq!(call(&dirs).code, Some(0));
    // Taken back at the service.
    provider.accepts("another");
    assert_needs_login(&call(&dirs), "the sign-in to `items` is over");
    provider.accepts("canary-access-2");

    for (more, message) in [
        (
            ", issuer: 'https://sso.example.com'",
            "and the definition names `https://sso.example.com`",
        ),
        (", clientId: another", "it was made by another client"),
    ] {
        write(&dirs, &provider, more);
        assert_needs_login(&call(&dirs), message);
        let status = json(&dirs, &["auth", "status", "items"]);
        assert!(status["problem"].as_str().unwrap().contains(message), "{status}");
    }
    write(&dirs, &provider, ", scopes: [read, write]");
    let refused = call(&dirs);
    assert_eq!(refused.code, Some(3));
    assert_eq!(refused.json()["error"]["hint"], "run: capdeck auth login items --scope write");

    write(&dirs, &provider, "");
    provider.wants("read admin");
    let refused = call(&dirs);
    assert_eq!(refused.code, Some(3));
    let hint = "run: capdeck auth login items --scope read --scope admin";
    assert_eq!(refused.json()["error"]["hint"], hint);
}

#[test]
fn a_sign_in_whose_key_is_gone_or_open_says_what_to_do() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    sign_in(&dirs, &[]);
    let key = dirs.state().join("vault/key");
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    let refused = call(&dirs);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let hint = format!("run: chmod 600 {}", key.display());
    assert_eq!(refused.json()["error"]["hint"], json!(hint));
    mode(0o600);
    assert_eq!(call(&dirs).code, Some(0));
    std::fs::remove_file(&key).unwrap();
    assert_needs_login(&call(&dirs), "the key it was sealed with is gone");
    sign_in(&dirs, &[]);
    assert_eq!(call(&dirs).code, Some(0));
}

#[test]
fn a_person_signs_in_on_another_device() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    let failed = capdeck(&dirs).args(["auth", "login", "items", "--device"]).run();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("does not let people sign in on another device"), "{failed:?}");

    provider.offers_codes();
    // There is no screen here, so it is chosen without being asked for, too.
    for words in [&["--device"][..], &[]] {
        let waiting = login(&dirs, words);
        assert_eq!(waiting.first["userCode"], "ABCD-EFGH", "{}", waiting.first);
        assert_eq!(waiting.first["verificationUrl"], json!(format!("{}/activate", provider.url)));
        let (code, outcome) = waiting.outcome();
        assert_eq!((code, &outcome["state"]), (Some(0), &json!("signedIn")), "{outcome}");
    }
    assert_eq!(call(&dirs).code, Some(0));
}

#[test]
fn the_address_can_be_pasted_where_the_browser_cannot_come_back() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    let mut waiting = login(&dirs, &["--no-open"]);
    let text = format!("\nnonsense\n{}\n", waiting.way_back());
    waiting.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    let (code, outcome) = waiting.outcome();
    assert_eq!((code, &outcome["state"]), (Some(0), &json!("signedIn")), "{outcome}");
    assert_eq!(call(&dirs).code, Some(0));
}

#[test]
fn many_processes_with_one_old_token_renew_it_once() {
    let provider = Provider::start();
    let dirs = deck(&provider, "");
    provider.grants("canary-access-1", 20);
    sign_in(&dirs, &[]);
    provider.grants("canary-access-2", 3600);
    let outcomes: Vec<CapdeckOutput> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..5).map(|_| scope.spawn(|| call(&dirs))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for outcome in outcomes {
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
    let renewals = provider.asked("/token");
    let renewals = renewals.iter().filter(|form| form.contains("grant_type=refresh_token"));
    assert_eq!(renewals.count(), 1);
}
