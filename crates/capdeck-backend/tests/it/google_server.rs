//! An API with a Discovery document on a loopback port. It takes uploads the way Google does, and fails on request.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, request::Parts},
    response::Response,
};
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

/// What pieces are counted in.
pub(crate) const UNIT: usize = 256 * 1024;

/// One request, as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What goes wrong with the next requests to a session, one each.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Nothing goes wrong.
    None,
    /// So many bytes are kept, then the connection breaks.
    Cut(usize),
    /// Everything is kept, then the connection breaks before the answer.
    CutAfterwards,
    /// Nothing is kept; this status, and how long to wait.
    Status(u16, &'static str),
    /// So many bytes are kept, and the API says so.
    Keep(usize),
    /// The session is forgotten.
    Forget,
}

#[derive(Debug, Default)]
struct Upload {
    metadata: Value,
    received: Vec<u8>,
    total: Option<usize>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    faults: VecDeque<Fault>,
    sessions: HashMap<String, Upload>,
    /// Where sessions are, when not here.
    session_origin: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Google {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Google {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let google = Self { url, state: Arc::default() };
        let this = google.clone();
        let router = Router::new().fallback(move |request: Request| {
            let this = this.clone();
            async move { this.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        google
    }

    pub(crate) fn fails(&self, faults: &[Fault]) {
        self.state.lock().faults.extend(faults.iter().cloned());
    }

    pub(crate) fn has_sessions_at(&self, origin: &str) {
        self.state.lock().session_origin = Some(origin.to_owned());
    }

    /// Requests so far, those for the document left out.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let state = self.state.lock();
        state.seen.iter().filter(|seen| !seen.line.contains("/discovery")).cloned().collect()
    }

    /// The first lines of requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    /// A definition's block for this API.
    pub(crate) fn block(&self) -> Value {
        json!({"kind": "googleDiscovery", "discoveryUrl": format!("{}/discovery", self.url), "auth": {"type": "none"}})
    }

    fn document(&self) -> Value {
        let upload = |protocols: &[&str]| {
            let paths = json!({
                "simple": {"path": "/upload/things/v1/things", "multipart": true},
                "resumable": {"path": "/resumable/upload/things/v1/things", "multipart": true},
            });
            let chosen: serde_json::Map<String, Value> =
                protocols.iter().map(|name| ((*name).to_owned(), paths[*name].clone())).collect();
            json!({"accept": ["*/*"], "protocols": chosen})
        };
        let id = json!({"thingId": {"type": "string", "location": "path", "required": true}});
        json!({
            "kind": "discovery#restDescription", "rootUrl": self.url, "servicePath": "things/v1/",
            "parameters": {"alt": {"type": "string", "location": "query"}, "prettyPrint": {"type": "boolean", "location": "query"}},
            "schemas": {"Thing": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "resources": {"things": {"methods": {
                "list": {"id": "things.list", "httpMethod": "GET", "path": "things",
                    "parameters": {"label": {"type": "string", "repeated": true}, "max": {"type": "integer"}}},
                "get": {"id": "things.get", "httpMethod": "GET", "path": "things/{thingId}", "parameters": id,
                    "supportsMediaDownload": true, "response": {"$ref": "Thing"}},
                "touch": {"id": "things.touch", "httpMethod": "POST", "path": "{+name}:touch",
                    "parameters": {"name": {"type": "string", "location": "path", "required": true},
                                   "x-mark": {"type": "string", "location": "header"}}},
                "insert": {"id": "things.insert", "httpMethod": "POST", "path": "things",
                    "request": {"$ref": "Thing"}, "mediaUpload": upload(&["simple", "resumable"])},
                "load": {"id": "things.load", "httpMethod": "PATCH", "path": "things/{thingId}", "parameters": id,
                    "request": {"$ref": "Thing"}, "mediaUpload": upload(&["resumable"])},
            }}},
        })
    }

    async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        if let Some(session) = path.strip_prefix("/session/") {
            return self.piece(session, &parts, body).await;
        }
        let body = to_bytes(body, usize::MAX).await.unwrap();
        self.note(&parts, &body);
        let query: HashMap<String, String> =
            url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        match path.as_str() {
            "/discovery" => json_response(200, &self.document()),
            "/resumable/upload/things/v1/things" => {
                assert_eq!(query["uploadType"], "resumable");
                self.open_session(&parts, &body)
            }
            "/upload/things/v1/things" => {
                json_response(200, &json!({"uploadType": query["uploadType"], "bytes": body.len()}))
            }
            _ if query.get("alt").is_some_and(|alt| alt == "media") && path.ends_with("/gone") => {
                json_response(404, &json!({"error": {"code": 404, "message": "gone"}}))
            }
            _ if query.get("alt").is_some_and(|alt| alt == "media") => Response::builder()
                .header("content-type", "text/plain")
                .body(Body::from("the content"))
                .unwrap(),
            _ => json_response(200, &json!({"path": path, "name": "a thing"})),
        }
    }

    fn note(&self, parts: &Parts, body: &Bytes) {
        let line = format!("{} {}", parts.method, parts.uri);
        let seen = Seen { line, headers: parts.headers.clone(), body: body.clone() };
        self.state.lock().seen.push(seen);
    }

    fn open_session(&self, parts: &Parts, body: &Bytes) -> Response {
        let mut state = self.state.lock();
        let name = format!("s{}", state.sessions.len());
        let total = parts.headers.get("x-upload-content-length");
        let total = total.map(|value| value.to_str().unwrap().parse().unwrap());
        let metadata = serde_json::from_slice(body).unwrap_or_default();
        state.sessions.insert(name.clone(), Upload { metadata, received: Vec::new(), total });
        let origin = state.session_origin.as_ref().unwrap_or(&self.url);
        let location = format!("{origin}/session/{name}");
        Response::builder().header("location", location).body(Body::empty()).unwrap()
    }

    /// One piece, or the question how much there is.
    async fn piece(&self, session: &str, parts: &Parts, body: Body) -> Response {
        let fault = self.state.lock().faults.pop_front().unwrap_or(Fault::None);
        let room = if let Fault::Cut(kept) = fault { kept } else { usize::MAX };
        let mut sent = Vec::new();
        let mut stream = body.into_data_stream();
        while let Some(Ok(bytes)) = stream.next().await {
            sent.extend_from_slice(&bytes);
            if sent.len() >= room {
                sent.truncate(room);
                break;
            }
        }
        self.note(parts, &Bytes::new());
        let range = parts.headers["content-range"].to_str().unwrap().to_owned();
        let mut state = self.state.lock();
        if let Fault::Status(status, pause) = fault {
            return Response::builder()
                .status(status)
                .header("retry-after", pause)
                .body(Body::empty())
                .unwrap();
        }
        if matches!(fault, Fault::Forget) {
            state.sessions.remove(session);
        }
        let Some(upload) = state.sessions.get_mut(session) else {
            return json_response(410, &json!({"error": {"code": 410, "message": "forgotten"}}));
        };
        let (given, total) = range.strip_prefix("bytes ").unwrap().split_once('/').unwrap();
        let total: usize = total.parse().unwrap();
        assert!(upload.total.is_none_or(|announced| announced == total));
        if let Some((first, last)) = given.split_once('-') {
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
            assert_eq!(first, upload.received.len(), "pieces come in order");
            let is_last = last + 1 == total;
            assert!(is_last || (last + 1 - first) % UNIT == 0, "pieces are counted in units");
            match fault {
                Fault::Keep(count) => sent.truncate(count),
                Fault::Cut(_) => {}
                _ => assert_eq!(sent.len(), last + 1 - first),
            }
            upload.received.extend_from_slice(&sent);
        }
        if matches!(fault, Fault::Cut(_) | Fault::CutAfterwards) {
            drop(state);
            // Ends the connection without an answer, and without the words of a panic.
            std::panic::resume_unwind(Box::new("cut"));
        }
        if upload.received.len() == total {
            let sum = upload.received.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            return json_response(
                200,
                &json!({"bytes": total, "sum": sum, "metadata": upload.metadata}),
            );
        }
        let mut response = Response::builder().status(308);
        if !upload.received.is_empty() {
            response = response.header("range", format!("bytes=0-{}", upload.received.len() - 1));
        }
        response.body(Body::empty()).unwrap()
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The first line with its query as pairs.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        let target = self.line.split_once(' ').unwrap().1;
        let url = Url::parse("http://x").unwrap().join(target).unwrap();
        url.query_pairs().into_owned().collect()
    }
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json; charset=UTF-8")
        .body(Body::from(body.to_string()))
        .unwrap()
}
