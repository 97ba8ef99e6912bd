//! How many sessions one client may have: its own make room for each other, and no one else's do.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use capdeck_serve::RateLimits;
use serde_json::json;

use super::stage::{KEY, client, many, setting};
use crate::{
    event_stream::EventStream,
    served::{Served, Setting, TEST_TIMEOUT, until},
    sign_in::browser::{Browser, hello},
};

const MOST: u32 = 2;

fn limited() -> Setting {
    setting().rates(RateLimits { sessions: MOST, ..many() })
}

/// Opens a session; its id.
fn open(served: &Served, token: &str) -> String {
    let reply = Browser::new(served).mcp("/mcp", token, &hello());
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").unwrap().to_owned()
}

/// The status of a ping in a session.
fn ping(served: &Served, token: &str, session: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", session),
    ];
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Browser::new(served).send("POST", "/mcp", &headers, &ping.to_string()).status
}

/// Listens in a session, so that it is at work.
fn listen(served: &Served, token: &str, session: &str) -> EventStream {
    let headers =
        [("Authorization", format!("Bearer {token}")), ("Mcp-Session-Id", session.to_owned())];
    EventStream::get_with(served.authority(), "/mcp", &headers)
}

#[test]
fn a_client_has_so_many_sessions_and_its_own_idle_ones_make_room() {
    let served = limited().serve();
    let (ada, eve) = (client(&served, "/mcp", "deck:call"), client(&served, "/mcp", "deck:call"));
    let of_ada = open(&served, &ada.access);
    let of_eve: Vec<String> = (0..5).map(|_| open(&served, &eve.access)).collect();
    let alive: Vec<u16> = of_eve.iter().map(|one| ping(&served, &eve.access, one)).collect();
    assert_eq!(alive, [404, 404, 404, 200, 200]);
    assert_eq!(ping(&served, &ada.access, &of_ada), 200, "nobody else makes room");
}

#[test]
fn while_all_of_them_are_at_work_another_one_is_refused_with_a_reason() {
    let served = limited().serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let token = tokens.access.as_str();
    let open_ones: Vec<String> = (0..MOST).map(|_| open(&served, token)).collect();
    let _streams: Vec<EventStream> =
        open_ones.iter().map(|session| listen(&served, token, session)).collect();
    let refused = Browser::new(&served).mcp("/mcp", token, &hello());
    assert_eq!(refused.status, 429, "{refused:?}");
    let error = &refused.messages()[0]["error"];
    assert_eq!(error["code"], -32005, "{error}");
    assert!(error["message"].as_str().unwrap().contains("all 2 sessions"), "{error}");
    assert_eq!(open_ones.iter().map(|one| ping(&served, token, one)).max(), Some(200));
    // The owner's key may be used by any number of agents.
    for _ in 0..5 {
        assert_eq!(Browser::new(&served).mcp("/mcp", KEY, &hello()).status, 200);
    }
}

#[test]
fn requests_that_stand_alone_are_bounded_alike() {
    let served = limited().serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let first_line = |answer: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        line
    };
    // Every one of them says something else about itself, and stays.
    let mut listening: Vec<_> =
        (0..MOST).map(|number| listen_alone(&served, &tokens.access, number)).collect();
    for answer in &mut listening {
        let line = first_line(answer);
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    }
    let line = first_line(&mut listen_alone(&served, &tokens.access, MOST));
    assert!(line.starts_with("HTTP/1.1 429"), "{line}");
    drop(listening);
    until("a place", || {
        let line = first_line(&mut listen_alone(&served, &tokens.access, MOST));
        line.starts_with("HTTP/1.1 200").then_some(())
    });
}

/// Listens for changes as a modern client of its own name; the answer as it comes.
fn listen_alone(served: &Served, token: &str, number: u32) -> BufReader<TcpStream> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": {"toolsListChanged": true}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": format!("n{number}"), "version": "1"},
    }}})
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\
         Content-Length: {}\r\n\r\n{body}",
        served.authority(),
        body.len()
    );
    let mut stream = TcpStream::connect(served.authority()).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    BufReader::new(stream)
}
