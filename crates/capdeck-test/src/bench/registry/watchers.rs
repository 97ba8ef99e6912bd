//! A thousand people look at the live feed while an agent works.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    super::{
        BenchStage,
        load::{percentile, read_stream_head},
        process_usage::resident_memory,
    },
    WatcherFigures,
};
use crate::FakePlan;

const WATCHERS: usize = 1_000;
const CALLS: usize = 40;
/// Threads that read for the watchers. Each takes its share in turns, which costs less than a thread for everyone.
const READERS: usize = 4;
const TIMEOUT: Duration = Duration::from_secs(60);

/// One open feed and what was read of it.
struct OpenFeed {
    stream: TcpStream,
    text: Vec<u8>,
    events: usize,
}

pub(super) fn measure(stage: &BenchStage) -> WatcherFigures {
    let plan = FakePlan { everything: false, ..FakePlan::default() };
    let entry = [("fake".to_owned(), plan.deck_entry())].into_iter().collect();
    let dirs = stage.deck("direct", entry);
    let host = stage.up(&dirs);
    let mut client = host.client("/mcp");
    client.initialize();
    let call = json!({"name": "fake__echo", "arguments": {"text": "hello"}});
    client.request("tools/call", call.clone());
    let before = resident_memory(host.id());
    let started = Instant::now();
    let feeds: Vec<OpenFeed> = (0..WATCHERS).map(|_| OpenFeed::open(&host.url)).collect();
    let connected_ms = milliseconds(started.elapsed());
    let (sender, receiver) = mpsc::channel();
    let mut shares: Vec<Vec<OpenFeed>> = (0..READERS).map(|_| Vec::new()).collect();
    for (number, feed) in feeds.into_iter().enumerate() {
        shares[number % READERS].push(feed);
    }
    let readers: Vec<_> = shares
        .into_iter()
        .map(|share| {
            let sender = sender.clone();
            thread::spawn(move || read_all(share, &sender))
        })
        .collect();
    drop(sender);
    let mut delivered = Vec::with_capacity(WATCHERS * CALLS);
    for _ in 0..CALLS {
        let sent = Instant::now();
        client.request("tools/call", call.clone());
        // The next call waits for all watchers: a late watcher would be measured with the wrong one.
        for _ in 0..WATCHERS {
            let read: Instant =
                receiver.recv_timeout(TIMEOUT).expect("every watcher gets the event");
            delivered.push(read.saturating_duration_since(sent));
        }
    }
    let after = resident_memory(host.id());
    drop(host);
    for reader in readers {
        reader.join().expect("a reader ends with the host");
    }
    delivered.sort_unstable();
    WatcherFigures {
        watchers: WATCHERS,
        connected_ms,
        calls: CALLS,
        delivered_p50_ms: milliseconds(percentile(&delivered, 0.5)),
        delivered_p99_ms: milliseconds(percentile(&delivered, 0.99)),
        delivered_longest_ms: milliseconds(percentile(&delivered, 1.0)),
        memory_per_watcher: after.saturating_sub(before) / WATCHERS as u64,
    }
}

impl OpenFeed {
    /// Connects and waits for the head of the answer: from then on nothing is missed.
    fn open(url: &str) -> Self {
        let authority = url.strip_prefix("http://").expect("plain http");
        let mut stream = TcpStream::connect(authority).expect("the host accepts");
        stream.set_nodelay(true).unwrap();
        let request = format!(
            "GET /api/activity HTTP/1.1\r\nHost: {authority}\r\nAccept: text/event-stream\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        read_stream_head(&mut stream);
        stream.set_nonblocking(true).unwrap();
        Self { stream, text: Vec::new(), events: 0 }
    }
}

/// Reads until the host ends, and tells when an event of a call was there.
fn read_all(mut feeds: Vec<OpenFeed>, sender: &mpsc::Sender<Instant>) {
    let mut buffer = vec![0; 64 * 1024];
    while !feeds.is_empty() {
        let mut is_idle = true;
        feeds.retain_mut(|feed| match feed.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                is_idle = false;
                feed.text.extend_from_slice(&buffer[..length]);
                let seen = count(&feed.text, b"tools/call");
                for _ in feed.events..seen {
                    let _nobody_waits = sender.send(Instant::now());
                }
                feed.events = seen;
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
        if is_idle {
            thread::yield_now();
        }
    }
}

fn count(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len()).filter(|window| *window == word).count()
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e4).round() / 10.0
}
