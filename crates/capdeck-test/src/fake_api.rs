//! A web server on this machine that answers with a function and remembers what it was asked.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;

/// One request, as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeApiRequest {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What the server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeApiReply {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

/// A running server. It stops when dropped.
#[derive(Debug)]
pub struct FakeApi {
    url: String,
    requests: Arc<Mutex<Vec<FakeApiRequest>>>,
}

impl FakeApi {
    /// Starts a server that answers every request with this function.
    pub fn start(answer: impl Fn(&FakeApiRequest) -> FakeApiReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), Arc::downgrade(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // The server is dropped; the connection that woke this is the last.
                let Some(seen) = seen.upgrade() else { break };
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    serve(&stream, |request| {
                        let reply = answer(&request);
                        seen.lock().push(request);
                        reply
                    });
                });
            }
        });
        Self { url, requests }
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<FakeApiRequest> {
        self.requests.lock().clone()
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.requests = Arc::default();
        // Wakes the thread that waits for connections, so that it can end.
        if let Some(address) = self.url.strip_prefix("http://") {
            drop(TcpStream::connect(address));
        }
    }
}

impl FakeApiReply {
    /// A good answer in JSON.
    pub fn json(body: &serde_json::Value) -> Self {
        Self { status: 200, content_type: "application/json".to_owned(), body: body.to_string() }
    }
}

impl FakeApiRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// One request per connection keeps this simple; clients open another.
fn serve(stream: &TcpStream, answer: impl FnOnce(FakeApiRequest) -> FakeApiReply) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read_request(&mut reader) else { return };
    let reply = answer(request);
    let head = format!(
        "HTTP/1.1 {} OK\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.status,
        reply.content_type,
        reply.body.len()
    );
    let mut stream = stream;
    let sent = stream.write_all(format!("{head}{}", reply.body).as_bytes());
    // A client that is gone does not want to hear that either.
    drop(sent.and_then(|()| stream.shutdown(Shutdown::Write)));
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<FakeApiRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(FakeApiRequest { method, target, headers, body })
}
