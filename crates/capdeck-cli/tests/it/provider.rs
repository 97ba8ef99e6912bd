//! An authorization server and an API it protects, on one port of this machine, for the commands to talk to.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// Answers by path until the test ends.
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: HashMap<String, (u16, Value)>,
    asked: Vec<(String, String)>,
    /// The token the API takes, and the scope it names when it refuses one.
    accepted: String,
    wanted_scope: Option<String>,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &shared));
            }
        });
        let provider = Self { url, state };
        let url = &provider.url;
        provider.says(
            "/.well-known/oauth-authorization-server",
            json!({
                "issuer": url,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "registration_endpoint": format!("{url}/register"),
                "revocation_endpoint": format!("{url}/revoke"),
                "code_challenge_methods_supported": ["S256"],
            }),
        );
        provider
            .says("/register", json!({"client_id": "client-1", "client_secret": "canary-client"}));
        provider.says("/revoke", json!({}));
        provider.grants("canary-access-1", 3600);
        provider
    }

    pub(crate) fn says(&self, path: &str, body: Value) {
        self.fails(path, 200, body);
    }

    pub(crate) fn fails(&self, path: &str, status: u16, body: Value) {
        self.state.lock().unwrap().answers.insert(path.to_owned(), (status, body));
    }

    /// Gives this token from now on; the API takes no other.
    pub(crate) fn grants(&self, access: &str, expires_in: u64) {
        let tokens = json!({
            "access_token": access, "token_type": "Bearer", "expires_in": expires_in,
            "refresh_token": format!("{access}-refresh"), "scope": "read",
        });
        self.says("/token", tokens);
        self.accepts(access);
    }

    /// Lets people sign in on another device.
    pub(crate) fn offers_codes(&self) {
        let url = &self.url;
        self.change("/.well-known/oauth-authorization-server", |metadata| {
            metadata["device_authorization_endpoint"] = json!(format!("{url}/device"));
        });
        self.says(
            "/device",
            json!({
                "device_code": "canary-device", "user_code": "ABCD-EFGH", "interval": 0.05,
                "verification_uri": format!("{url}/activate"), "expires_in": 60,
            }),
        );
    }

    pub(crate) fn change(&self, path: &str, change: impl FnOnce(&mut Value)) {
        change(&mut self.state.lock().unwrap().answers.get_mut(path).unwrap().1);
    }

    pub(crate) fn accepts(&self, token: &str) {
        self.state.lock().unwrap().accepted = token.to_owned();
    }

    /// Refuses with a demand for this scope.
    pub(crate) fn wants(&self, scope: &str) {
        self.state.lock().unwrap().wanted_scope = Some(scope.to_owned());
    }

    /// The forms that were sent to this path.
    pub(crate) fn asked(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state
            .asked
            .iter()
            .filter(|(asked, _)| asked == path)
            .map(|(_, body)| body.clone())
            .collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let target = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let path = target.split('?').next().unwrap_or("/").to_owned();
        let (mut length, mut token, mut head) = (0, String::new(), String::new());
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            head.push_str(&header);
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => token = value.replace("Bearer ", ""),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let text = String::from_utf8(body).unwrap();
        let reported = RequestFacts { target: &target, token: &token, head: &head };
        let answer = answer(state, &path, &reported, text);
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// What a request says besides its path and body.
struct RequestFacts<'a> {
    target: &'a str,
    token: &'a str,
    head: &'a str,
}

fn answer(state: &Mutex<State>, path: &str, reported: &RequestFacts<'_>, body: String) -> String {
    let mut state = state.lock().unwrap();
    let RequestFacts { target, token, head } = *reported;
    let you = json!({"target": target, "head": head, "body": body});
    state.asked.push((path.to_owned(), body));
    let (status, body, challenge) = match (path, &state.wanted_scope) {
        ("/items", _) if token != state.accepted => {
            (401, json!({"error": token}), "Bearer".to_owned())
        }
        ("/items", Some(scope)) => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            (403, Value::Null, challenge)
        }
        // APIs that tell their callers what they sent: as an answer, and as each kind of failure.
        (_, _) if path.starts_with("/echo/graphql") => {
            (200, json!({"data": {"hello": you.to_string()}}), String::new())
        }
        (_, _) if path.starts_with("/errors/graphql") => {
            (200, json!({"data": null, "errors": [{"message": you.to_string()}]}), String::new())
        }
        (_, _) if path.starts_with("/echo") => (200, json!({ "you": you }), String::new()),
        (_, _) if path.starts_with("/refuse/") => {
            let status = path.split('/').nth(2).and_then(|status| status.parse().ok());
            let challenge = format!("Bearer realm=\"{}\"", token.replace('"', ""));
            (status.unwrap_or(500), json!({ "you": you }), challenge)
        }
        ("/items", None) => (200, json!({"items": [1, 2], "you": token}), String::new()),
        _ => {
            let known = state.answers.get(path).cloned();
            let (status, body) = known.unwrap_or((404, Value::Null));
            (status, body, String::new())
        }
    };
    // A document may say where it was asked for.
    let text = body.to_string().replace("TARGET", target);
    let length = text.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nwww-authenticate: {challenge}\r\n\
         content-length: {length}\r\n\r\n{text}"
    )
}
