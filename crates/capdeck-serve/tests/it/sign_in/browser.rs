//! A client that signs in and the browser of the person who decides, over plain HTTP.

use capdeck_test::{HttpClient, HttpReply};
use serde_json::{Value, json};

use crate::served::Served;

/// A verifier and its challenge, from RFC 7636.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(crate) const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// A browser with cookies, at one host.
pub(crate) struct Browser {
    http: HttpClient,
    pub(crate) url: String,
    /// What a page of ours gave it.
    pub(crate) cookie: Option<String>,
    /// What tells it from other browsers.
    pub(crate) mark: Option<String>,
    /// The address that a proxy says it comes from.
    pub(crate) address: Option<&'static str>,
    /// The key of an operator, sent when a page asks for one.
    pub(crate) key: Option<&'static str>,
}

/// Tokens of a client.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) scope: String,
}

impl Browser {
    pub(crate) fn new(served: &Served) -> Self {
        let url = served.url().to_owned();
        let http = HttpClient::new(&format!("{url}/"));
        Self { http, url, cookie: None, mark: None, address: None, key: None }
    }

    pub(crate) fn with_key(served: &Served, key: &'static str) -> Self {
        Self { key: Some(key), ..Self::new(served) }
    }

    /// Sends anything, with the cookie.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpReply {
        let mut all = headers.to_vec();
        let cookies: Vec<String> = self.cookie.iter().chain(&self.mark).cloned().collect();
        let cookies = cookies.join("; ");
        if !cookies.is_empty() {
            all.push(("Cookie", &cookies));
        }
        if let Some(address) = self.address {
            all.push(("X-Forwarded-For", address));
        }
        let reply = self.http.send(method, path, &all, body.as_bytes());
        let sets = reply.headers.iter().filter(|(name, _)| name == "set-cookie");
        let pairs = sets.filter_map(|(_, set)| set.split(';').next().map(str::to_owned));
        let (marks, others): (Vec<String>, Vec<String>) =
            pairs.partition(|pair| pair.starts_with("capdeck-browser="));
        self.mark = marks.into_iter().next().or(self.mark.take());
        // The first is the one that counts; others are taken away with it.
        self.cookie = others.into_iter().next().or(self.cookie.take());
        reply
    }

    pub(crate) fn get(&mut self, path: &str) -> HttpReply {
        self.send("GET", path, &[], "")
    }

    /// Sends a form as a page of this host would.
    pub(crate) fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> HttpReply {
        let origin = self.url.clone();
        let headers =
            [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", origin.as_str())];
        self.send("POST", path, &headers, &form(fields))
    }

    pub(crate) fn post_json(&mut self, path: &str, body: &Value) -> HttpReply {
        self.send("POST", path, &[("Content-Type", "application/json")], &body.to_string())
    }

    /// Registers a client; gives its id.
    pub(crate) fn register(&mut self, redirect: &str) -> String {
        let metadata = json!({"client_name": "Test client", "redirect_uris": [redirect]});
        let reply = self.post_json("/oauth/register", &metadata);
        assert_eq!(reply.status, 201, "{reply:?}");
        body(&reply)["client_id"].as_str().unwrap().to_owned()
    }

    /// The path of a request for a code.
    pub(crate) fn authorize_path(&self, client: &str, extra: &[(&str, &str)]) -> String {
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", REDIRECT),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "xyz"),
        ];
        fields.extend_from_slice(extra);
        format!("/oauth/authorize?{}", form(&fields))
    }

    /// Opens the consent page, signing in first where that is asked for.
    pub(crate) fn consent_page(&mut self, client: &str, extra: &[(&str, &str)]) -> HttpReply {
        let path = self.authorize_path(client, extra);
        let page = self.get(&path);
        let Some(key) = self.key.filter(|_| page.body.contains("/oauth/sign-in")) else {
            return page;
        };
        let then = hidden(&page, "then");
        let signed_in = self.post("/oauth/sign-in", &[("then", &then), ("key", key)]);
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        assert_eq!(signed_in.header("location"), Some(path.as_str()));
        self.get(&path)
    }

    /// Agrees to a page, with these choices.
    pub(crate) fn agree(&mut self, page: &HttpReply, choices: &[(&str, &str)]) -> HttpReply {
        assert_eq!(page.status, 200, "{page:?}");
        let request = hidden(page, "request");
        let mut fields = vec![("request", request.as_str()), ("decision", "approve")];
        fields.extend_from_slice(choices);
        self.post("/oauth/authorize", &fields)
    }

    /// Signs a client in; gives the code.
    pub(crate) fn code(
        &mut self,
        client: &str,
        extra: &[(&str, &str)],
        choices: &[(&str, &str)],
    ) -> String {
        let page = self.consent_page(client, extra);
        let sent = self.agree(&page, choices);
        assert_eq!(sent.status, 303, "{sent:?}");
        let location = sent.header("location").unwrap();
        parameter(location, "code").unwrap()
    }

    pub(crate) fn redeem(&mut self, client: &str, code: &str) -> HttpReply {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.post("/oauth/token", &fields)
    }

    /// The whole way of a client that asks for `scope` at `resource`.
    pub(crate) fn sign_in(
        &mut self,
        resource: &str,
        scope: &str,
        choices: &[(&str, &str)],
    ) -> Tokens {
        let client = self.register(REDIRECT);
        let resource = format!("{}{resource}", self.url);
        let extra = [("resource", resource.as_str()), ("scope", scope)];
        let code = self.code(&client, &extra, choices);
        let reply = self.redeem(&client, &code);
        assert_eq!(reply.status, 200, "{reply:?}");
        tokens(&reply)
    }

    /// The status of an MCP request with a token.
    pub(crate) fn mcp(&mut self, path: &str, token: &str, message: &Value) -> HttpReply {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        self.send("POST", path, &headers, &message.to_string())
    }
}

pub(crate) fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}
    }})
}

/// A client of one path with a token, after the handshake.
pub(crate) fn client_with(served: &Served, path: &str, token: &str) -> HttpClient {
    let mut client = served.client(path);
    client.headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
    client.initialize();
    client
}

pub(crate) fn tokens(reply: &HttpReply) -> Tokens {
    let body = body(reply);
    let text = |key: &str| body[key].as_str().unwrap().to_owned();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    Tokens { access: text("access_token"), refresh: text("refresh_token"), scope: text("scope") }
}

pub(crate) fn body(reply: &HttpReply) -> Value {
    serde_json::from_str(&reply.body).unwrap()
}

/// The value of a hidden field.
pub(crate) fn hidden(page: &HttpReply, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.body.split(start.as_str()).nth(1);
    let value = rest.and_then(|rest| rest.split('"').next()).map(str::to_owned);
    assert!(value.is_some(), "the page has no `{name}`: {}", page.body);
    value.unwrap()
}

/// A parameter of an address.
pub(crate) fn parameter(address: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(address).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
