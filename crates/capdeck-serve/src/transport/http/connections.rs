//! Connections of clients: bounded in number, and in how long they may take to say what they want.

use std::{io, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use capdeck_auth::inbound::Network;
use futures_util::TryFutureExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use super::{
    client_address::{SocketPeer, counted_address},
    request_progress::{AnswerBody, ClientSocket, RequestBody, RequestProgress},
    unfinished::UnfinishedRequests,
};

/// What clients may take up.
#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// How many connections are served at once; one more is answered 503.
    pub max_connections: usize,
    /// How long a client may take to send the head of a request, from when it connected or began to send.
    pub head_timeout: Duration,
    /// How long a connection may be idle between two requests.
    pub idle_timeout: Duration,
    /// How long a client may take to send the body of a request. A large body has more time as long as it goes on arriving.
    pub body_timeout: Duration,
    /// How many requests of one address may be sent in part. One more closes the oldest of them.
    pub max_unfinished: usize,
    /// How long a session lives without being used.
    pub session_idle: Duration,
    /// How long a modern client may take to answer a question before the call that asked it is cancelled.
    pub question_lifetime: Duration,
}

/// How long the kernel keeps a connection whose peer takes nothing of what it is sent.
#[cfg(target_os = "linux")]
const STALLED: Duration = Duration::from_secs(60);

/// How many clients are told at once that there is no place, and how long that may take.
const MAX_REFUSALS: usize = 64;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n\
Connection: close\r\nContent-Length: 38\r\n\r\ntoo many connections; try again later\n";

/// The wait after the system had no descriptor left for a connection.
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
            question_lifetime: Duration::from_secs(10 * 60),
        }
    }
}

/// Serves connections until `stop`, then lets the open requests end.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: HttpLimits,
    proxies: Arc<[Network]>,
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
            let progress = RequestProgress::new(counted, limits.head_timeout);
            let connection =
                Connection { stream, peer, progress, _place: place, _counted: Counted::new() };
            tasks.spawn(connection.serve(router.clone(), limits, stop.clone()));
        } else if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
            tasks.spawn(refuse(stream, refusal));
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// One client's connection and its place among them.
struct Connection {
    stream: TcpStream,
    peer: SocketPeer,
    progress: RequestProgress,
    _place: OwnedSemaphorePermit,
    _counted: Counted,
}

impl Connection {
    async fn serve(self, router: Router, limits: HttpLimits, stop: CancellationToken) {
        let Self { stream, peer, progress, _place, _counted } = self;
        prepare(&stream);
        let socket = ClientSocket::new(stream, progress.clone());
        let service = service_fn(move |request: http::Request<Incoming>| {
            progress.begin_answer();
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(peer);
            let body = Body::new(RequestBody::new(body, progress.clone()));
            let answering = router.clone().oneshot(http::Request::from_parts(parts, body));
            let progress = progress.clone();
            answering.map_ok(move |answer| answer.map(|body| AnswerBody::new(body, progress)))
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.idle_timeout.max(limits.head_timeout))
            .serve_connection(TokioIo::new(socket), service);
        tokio::pin!(serving);
        let served = tokio::select! {
            served = serving.as_mut() => served,
            () = stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Counts an open connection for as long as it lives.
struct Counted;

impl Counted {
    fn new() -> Self {
        metrics::gauge!("capdeck_connections").increment(1.0);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!("capdeck_connections").decrement(1.0);
    }
}

fn prepare(stream: &TcpStream) {
    // Without this, small messages wait for the peer's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a socket stays slow");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(
        stream,
        u32::try_from(STALLED.as_millis()).unwrap_or(u32::MAX),
    ) {
        tracing::debug!(%error, "a socket waits as long as the system does");
    }
}

/// Says that there is no place. What the client sent is read, else the system would throw the answer away.
async fn refuse(mut stream: TcpStream, _refusal: OwnedSemaphorePermit) {
    let refusing = async {
        stream.write_all(REFUSAL).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // Whoever does not take the answer in time goes without.
    tokio::time::timeout(REFUSAL_TIMEOUT, refusing).await.ok();
}

async fn after_failed_accept(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "a connection cannot be accepted");
    tokio::time::sleep(NO_DESCRIPTOR).await;
}
