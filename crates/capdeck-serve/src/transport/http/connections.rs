//! Client connections, with limits of number and time.

use std::{io, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use capdeck_auth::inbound::IpNetwork;
use futures_util::TryFutureExt as _;
use http::{HeaderValue, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use super::{
    body::GuardedBody,
    client_address::{SocketPeer, counted_address},
    request_progress::{AnswerGuard, ClientSocket, RequestBody, RequestProgress},
    unfinished::UnfinishedRequests,
};

/// Limits of client connections.
#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// Maximum concurrent connections; further ones get status 503.
    pub max_connections: usize,
    /// Time for a request head, from the connection or its first byte.
    pub head_timeout: Duration,
    /// Maximum idle time between two requests.
    pub idle_timeout: Duration,
    /// Time for a request body. A large body has more time while it keeps arriving.
    pub body_timeout: Duration,
    /// Maximum unfinished requests per address. One more ends the oldest.
    pub max_unfinished: usize,
    /// How long an unused session lives.
    pub session_idle: Duration,
    /// How long after its last stream a silent client is taken for gone. Processes that run only for it end.
    pub session_rest: Duration,
    /// How long a modern client has to answer a question before the call is cancelled.
    pub question_lifetime: Duration,
}

/// How long the kernel waits for acknowledgements of sent data.
#[cfg(target_os = "linux")]
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

const MAX_REFUSALS: usize = 64;
/// How long a client has to read a response before its connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n\
Connection: close\r\nContent-Length: 38\r\n\r\ntoo many connections; try again later\n";
const UNFINISHED_HEAD: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\n\
Connection: close\r\nContent-Length: 38\r\n\r\nthe head of the request took too long\n";

const NO_DESCRIPTOR: Duration = Duration::from_millis(200);

impl Default for HttpLimits {
    fn default() -> Self {
        // Servers, streams and files need descriptors, too.
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let half = descriptors.and_then(|most| usize::try_from(most / 2).ok()).unwrap_or(4096);
        let max_connections = half.clamp(16, 4096);
        Self {
            max_connections,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(10),
            max_unfinished: (max_connections / 2).min(256),
            session_idle: Duration::from_secs(30 * 60),
            session_rest: Duration::from_secs(30),
            question_lifetime: Duration::from_secs(10 * 60),
        }
    }
}

/// Serves connections until `stop`, then lets open requests finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: HttpLimits,
    proxies: Arc<[IpNetwork]>,
    stop: CancellationToken,
) {
    let unfinished = UnfinishedRequests::new(limits.max_unfinished);
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok((stream, peer)) => (stream, SocketPeer(peer.ip())),
            Err(error) => {
                after_failed_accept(&error).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let is_proxy = proxies.iter().any(|network| network.holds(peer.0));
            let counted = (!is_proxy).then(|| (counted_address(peer.0), unfinished.clone()));
            let progress = RequestProgress::new(counted, limits, stop.clone());
            let (router, held) = (router.clone(), (place, ConnectionGauge::new()));
            tasks.spawn(async move {
                prepare(&stream);
                serve_client(stream, peer, progress, router).await;
                drop(held);
            });
        } else if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
            tasks.spawn(async move {
                close_with(stream, TOO_MANY_CONNECTIONS).await;
                drop(refusal);
            });
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// Serves one client until either side closes the connection. A client that has sent a byte of a request gets a response.
async fn serve_client<S>(stream: S, peer: SocketPeer, progress: RequestProgress, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stop = progress.stop().clone();
    let socket = ClientSocket::new(stream, progress.clone());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let number = progress.begin_answer();
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(peer);
        let is_on_demand = parts.headers.contains_key(header::EXPECT);
        let body = Body::new(RequestBody::new(body, is_on_demand, progress.clone(), number));
        let answering = router.clone().oneshot(http::Request::from_parts(parts, body));
        let progress = progress.clone();
        answering.map_ok(move |mut answer| {
            if progress.ends_with_answer() {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            answer.map(|body| GuardedBody::new(body, AnswerGuard(progress)))
        })
    });
    // The socket handles timeouts: the HTTP library would close a connection without a response.
    let mut serving = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(socket), service);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stop.cancelled() => {
            std::pin::Pin::new(&mut serving).graceful_shutdown();
            (&mut serving).await
        }
    };
    let Err(error) = served else { return };
    tracing::debug!(%error, "a connection ended early");
    let http1::Parts { io, service, .. } = serving.into_parts();
    // The request counts as unfinished until its service is dropped.
    drop(service);
    if let Some(stream) = io.into_inner().into_given_up() {
        close_with(stream, UNFINISHED_HEAD).await;
    }
}

struct ConnectionGauge;

impl ConnectionGauge {
    fn new() -> Self {
        metrics::gauge!("capdeck_connections").increment(1.0);
        Self
    }
}

impl Drop for ConnectionGauge {
    fn drop(&mut self) {
        metrics::gauge!("capdeck_connections").decrement(1.0);
    }
}

fn prepare(stream: &TcpStream) {
    // Without this, small messages wait for the peer's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(
        stream,
        u32::try_from(STALL_TIMEOUT.as_millis()).unwrap_or(u32::MAX),
    ) {
        tracing::debug!(%error, "cannot set the socket timeout");
    }
}

/// Writes a response and closes the connection. Reads what the client still sends, because unread bytes cause a reset that can
/// drop the response.
async fn close_with(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) {
    let closing = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    tokio::time::timeout(CLOSE_TIMEOUT, closing).await.ok();
}

async fn after_failed_accept(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "cannot accept a connection");
    tokio::time::sleep(NO_DESCRIPTOR).await;
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::response::IntoResponse as _;
    use tokio::{
        io::DuplexStream,
        time::{Instant, advance},
    };

    use super::*;

    const HEAD: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

    fn limits() -> HttpLimits {
        HttpLimits {
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(10),
            ..HttpLimits::default()
        }
    }

    /// A client of a small server, over a pipe of this size in each direction.
    fn client_of(size: usize) -> DuplexStream {
        let router = Router::new().fallback(async |uri: http::Uri| match uri.path() {
            "/" => "here".into_response(),
            "/long" => "x".repeat(20_000).into_response(),
            _ => http::StatusCode::UNAUTHORIZED.into_response(),
        });
        let (client, server) = tokio::io::duplex(size);
        let progress = RequestProgress::new(None, limits(), CancellationToken::new());
        let peer = SocketPeer(IpAddr::from([127, 0, 0, 1]));
        tokio::spawn(serve_client(server, peer, progress, router));
        client
    }

    async fn send(client: &mut DuplexStream, text: &str) {
        client.write_all(text.as_bytes()).await.unwrap();
    }

    async fn read_until(client: &mut DuplexStream, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let mut bytes = [0; 1024];
            let length = client.read(&mut bytes).await.unwrap();
            assert!(length > 0, "closed after: {text}");
            text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        text
    }

    async fn read_to_close(client: &mut DuplexStream) -> String {
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        text
    }

    /// Advances the clock step by step, so that the server sees it.
    async fn pass(seconds: u64) {
        for _ in 0..seconds * 2 {
            advance(Duration::from_millis(500)).await;
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_begins_at_the_end_of_the_idle_time_has_its_whole_time() {
        let mut client = client_of(4096);
        for _ in 0..3 {
            send(&mut client, HEAD).await;
            read_until(&mut client, "here").await;
            pass(29).await;
            let (beginning, rest) = HEAD.split_at(9);
            send(&mut client, beginning).await;
            pass(9).await;
            send(&mut client, rest).await;
            read_until(&mut client, "here").await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn half_a_head_is_answered_with_408_and_an_idle_connection_is_closed() {
        for (first, beginning) in [("", "G"), ("", "GET / HT"), (HEAD, "G"), (HEAD, "GET / HT")] {
            let mut client = client_of(4096);
            send(&mut client, first).await;
            if !first.is_empty() {
                read_until(&mut client, "here").await;
            }
            send(&mut client, beginning).await;
            let start = Instant::now();
            let answer = read_to_close(&mut client).await;
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            assert!(answer.ends_with("took too long\n"), "{answer}");
            assert_eq!(start.elapsed().as_secs(), 10);
        }
        let mut client = client_of(4096);
        send(&mut client, HEAD).await;
        read_until(&mut client, "here").await;
        let start = Instant::now();
        assert_eq!(read_to_close(&mut client).await, "");
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    /// A pipelined second head is not read before the first response.
    #[tokio::test(start_paused = true)]
    async fn half_a_head_that_came_with_another_request_is_answered_too() {
        let mut client = client_of(4096);
        send(&mut client, &format!("{HEAD}GET / HT")).await;
        read_until(&mut client, "here").await;
        let answer = read_to_close(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_not_cut_off_while_the_client_reads_it() {
        let mut client = client_of(64);
        send(&mut client, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut answer = vec![0; 20_000];
        for part in answer.chunks_mut(4096) {
            pass(20).await;
            client.read_exact(part).await.unwrap();
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"x"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_refused_before_its_body_came_does_not_cost_the_next_one() {
        for (framing, body) in [
            ("Content-Length: 4", "body"),
            ("Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n"),
        ] {
            let mut client = client_of(4096);
            for _ in 0..3 {
                send(
                    &mut client,
                    &format!("POST /refused HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n"),
                )
                .await;
                let answer = read_until(&mut client, "\r\n\r\n").await;
                assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
                assert!(!answer.contains("connection: close"), "{answer}");
                pass(9).await;
                send(&mut client, body).await;
                pass(29).await;
                send(&mut client, HEAD).await;
                read_until(&mut client, "here").await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_says_that_the_rest_of_the_body_is_not_read() {
        for framing in ["Expect: 100-continue\r\nContent-Length: 4", "Content-Length: 999999999"] {
            let mut client = client_of(4096);
            send(&mut client, &format!("POST /refused HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n"))
                .await;
            let answer = read_until(&mut client, "\r\n\r\n").await;
            assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
            assert!(answer.contains("connection: close"), "{answer}");
            assert_eq!(read_to_close(&mut client).await, "");
        }
        // A late body is not awaited.
        let mut client = client_of(4096);
        send(&mut client, "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n").await;
        read_until(&mut client, "\r\n\r\n").await;
        let start = Instant::now();
        assert_eq!(read_to_close(&mut client).await, "");
        assert_eq!(start.elapsed().as_secs(), 10);
    }
}
