//! Clients that take their time: with their head, with their body, with reading what they asked for.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use capdeck_serve::HttpLimits;
use capdeck_test::FakePlan;
use serde_json::json;

use crate::{
    event_stream::EventStream,
    served::{Served, Setting, TEST_TIMEOUT, until},
};

/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(300);

fn connect(served: &Served) -> TcpStream {
    let stream = TcpStream::connect(served.authority()).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream
}

/// Everything until the host closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the host closes the connection");
    text
}

/// A number of `/metrics`.
pub(crate) fn gauge(served: &Served, name: &str) -> f64 {
    let metrics = served.client("/metrics").send("GET", "/metrics", &[], b"").body;
    let line = metrics.lines().find(|line| line.split(' ').next() == Some(name));
    line.and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .unwrap_or_else(|| panic!("no `{name}` in:\n{metrics}"))
}

#[test]
fn requests_have_ten_seconds_by_default() {
    let HttpLimits { head_timeout, body_timeout, max_unfinished, .. } = HttpLimits::default();
    assert_eq!((head_timeout, body_timeout), (Duration::from_secs(10), Duration::from_secs(10)));
    assert!((1..=256).contains(&max_unfinished));
}

#[test]
fn half_a_head_and_none_at_all_are_given_up() {
    let limits = HttpLimits { head_timeout: SHORT, ..HttpLimits::default() };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    for begun in ["", "P", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "] {
        let mut stream = connect(&served);
        stream.write_all(begun.as_bytes()).unwrap();
        // Others are served meanwhile.
        assert_eq!(served.client("/health").send("GET", "/health", &[], b"").status, 200);
        let said = rest(stream);
        // Where nothing was asked, nothing is answered.
        let is_answered = said.starts_with("HTTP/1.1 408") && said.ends_with("took too long\n");
        assert!(if begun.is_empty() { said.is_empty() } else { is_answered }, "{begun}: {said}");
    }
}

/// Each line in time does not make a head in time.
#[test]
fn a_head_that_drips_is_given_up_too() {
    let limits = HttpLimits { head_timeout: SHORT, ..HttpLimits::default() };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    let mut stream = connect(&served);
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n").unwrap();
    until("the host gives up", || stream.write_all(b"X-Drip: 1\r\n").err());
}

#[test]
fn half_a_body_is_answered_with_408() {
    let limits = HttpLimits { body_timeout: SHORT, ..HttpLimits::default() };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    let mut stream = connect(&served);
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Connection: close\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\":";
    stream.write_all(head.as_bytes()).unwrap();
    let said = rest(stream);
    assert!(said.starts_with("HTTP/1.1 408") && said.ends_with("took too long\n"), "{said}");
    assert!(said.contains("connection: close\r\n"), "{said}");
}

/// Clients send the body of a request in a packet of its own, and are often refused before it is there. They use the
/// connection again.
#[test]
fn a_refusal_before_the_body_came_does_not_cost_the_next_request() {
    let served = Setting::new().key("open-sesame-and-more").serve();
    let mut stream = connect(&served);
    let head = |stream: &mut TcpStream| {
        let mut lines = Vec::new();
        while !lines.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("an answer");
            lines.extend(byte);
        }
        String::from_utf8(lines).unwrap().to_lowercase()
    };
    for _ in 0..3 {
        stream
            .write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n")
            .unwrap();
        let answer = head(&mut stream);
        assert!(answer.starts_with("http/1.1 401"), "{answer}");
        assert!(!answer.contains("connection: close"), "{answer}");
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(b"{}").unwrap();
    }
    let last = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    stream.write_all(last.as_bytes()).unwrap();
    let said = rest(stream);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
}

/// Whether the host has closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    loop {
        match stream.read(&mut [0; 1024]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn an_address_with_too_many_halves_of_requests_loses_the_oldest() {
    let never = Duration::from_secs(3600);
    let limits = HttpLimits {
        max_unfinished: 4,
        head_timeout: never,
        idle_timeout: never,
        body_timeout: never,
        ..HttpLimits::default()
    };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    let half_head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ";
    let half_body = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                     Content-Length: 100\r\n\r\n{\"jsonrpc\":";
    for begun in [half_head, half_body, ""] {
        let mut oldest = connect(&served);
        oldest.write_all(begun.as_bytes()).unwrap();
        oldest.set_nonblocking(true).unwrap();
        let mut holding = Vec::new();
        until("the oldest to be given up", || {
            let mut stream = connect(&served);
            stream.write_all(half_head.as_bytes()).unwrap();
            holding.push(stream);
            is_closed(&mut oldest).then_some(())
        });
        // Others at the address are served meanwhile.
        assert_eq!(served.client("/health").send("GET", "/health", &[], b"").status, 200);
    }
}

#[test]
fn a_body_that_goes_on_arriving_has_its_time_and_one_that_drips_has_not() {
    let limits = HttpLimits { body_timeout: SHORT, ..HttpLimits::default() };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    // At the slowest rate these bytes have earned more time than any test takes.
    let text = "x".repeat(3_000_000);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": text}});
    let message = message.to_string();
    let mut stream = connect(&served);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (most, last) = message.split_at(message.len() - 1);
    stream.write_all(most.as_bytes()).unwrap();
    // A body that drips was begun later and is given up before the other one is finished.
    let mut slow = connect(&served);
    slow.write_all(head.as_bytes()).unwrap();
    slow.write_all(b"{").unwrap();
    assert!(rest(slow).starts_with("HTTP/1.1 408"));
    stream.write_all(last.as_bytes()).unwrap();
    let said = rest(stream);
    assert!(!said.starts_with("HTTP/1.1 408"), "{said}");
}

#[test]
fn beyond_the_last_place_a_client_gets_a_reason_and_places_are_given_again() {
    let limits = HttpLimits { max_connections: 3, ..HttpLimits::default() };
    let served = Setting::of(&FakePlan::default()).limits(limits).serve();
    let mut holding: Vec<TcpStream> = (0..3).map(|_| connect(&served)).collect();
    let mut late = connect(&served);
    late.write_all(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let said = rest(late);
    assert!(said.starts_with("HTTP/1.1 503") && said.ends_with("try again later\n"), "{said}");
    drop(holding.pop());
    until("a place", || {
        let mut next = connect(&served);
        let asking = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        next.write_all(asking.as_bytes()).ok()?;
        rest(next).starts_with("HTTP/1.1 200").then_some(())
    });
}

#[test]
fn what_is_open_is_counted() {
    let served = Setting::of(&FakePlan::default()).serve();
    let client = served.deck_client();
    let session = client.session.clone().unwrap();
    let stream = EventStream::listen(served.authority(), "/mcp", &session);
    assert_eq!(gauge(&served, "capdeck_sessions"), 1.0);
    assert_eq!(gauge(&served, "capdeck_streams"), 1.0);
    assert_eq!(gauge(&served, "capdeck_suspended_calls"), 0.0);
    assert!(gauge(&served, "capdeck_connections") >= 2.0);
    drop(stream);
    until("the stream to be missed", || (gauge(&served, "capdeck_streams") == 0.0).then_some(()));
}

/// 60 MB of notifications for a client that reads none of them.
#[test]
fn a_client_that_does_not_read_costs_little_and_holds_up_no_one() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut slow = served.client("/servers/fake/mcp");
    slow.initialize();
    let session = slow.session.clone().unwrap();
    let before = resident_megabytes();
    let flood = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": {"name": "flood", "arguments": {"count": 3000, "bytes": 20_000}}});
    let mut unread = EventStream::post(served.authority(), "/servers/fake/mcp", &session, &flood);
    let mut other = served.client("/servers/fake/mcp");
    other.initialize();
    until("the end of the flood", || {
        let answer = other.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
        is_over(&served, "flood").then_some(())
    });
    let grown = resident_megabytes().saturating_sub(before);
    assert!(grown < 40, "{grown} MB for 60 MB that nobody read");
    let mut reported = 0;
    let answer = loop {
        let message = unread.next();
        if message.get("id").is_some() {
            break message;
        }
        reported += 1;
    };
    assert_eq!(answer["result"]["content"][0]["text"], "flooded");
    assert!(reported < 3000, "something was dropped");
}

/// The audit trail has a line for a call once it is over.
fn is_over(served: &Served, tool: &str) -> bool {
    let Ok(files) = served.dirs.state().join("audit").read_dir() else { return false };
    let line = format!(r#""tool":"{tool}""#);
    let mut texts = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
    texts.any(|text| text.contains(&line))
}

fn resident_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}
