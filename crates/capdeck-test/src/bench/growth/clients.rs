//! Idle clients of a host, and what they cost the one that works.

use std::{io::Write, net::TcpStream};

use serde_json::json;

use super::{
    super::{
        BenchStage, LoadFigures,
        calls::{deck_of, echo, middle, warm_up},
        load::{HttpCallers, read_stream_head},
        process_usage::{memory_map_sum, processor_time},
    },
    CallCost, ClientMemory, ClientsRow,
};
use crate::{FakePlan, HttpClient, RunningHost, TestDirs};

/// Connected clients, the one that works among them.
const CLIENTS: [usize; 3] = [1, 100, 1_000];
const QUICK_CLIENTS: [usize; 3] = [1, 10, 100];
const CALLS: usize = 3_000;
const ROUNDS: usize = 3;

/// A host with a server behind it that has answered before.
struct WarmHost {
    host: RunningHost,
    active: HttpCallers,
    _dirs: TestDirs,
}

impl WarmHost {
    fn start(stage: &BenchStage) -> Self {
        let plan = FakePlan { everything: false, ..FakePlan::default() };
        let dirs = deck_of(stage, plan.deck_entry());
        let host = stage.up(&dirs);
        let url = format!("{}/mcp", host.url);
        warm_up(&url, &echo("fake__echo"));
        let active = HttpCallers::open(&url, &[], 1);
        Self { host, active, _dirs: dirs }
    }

    fn call(&mut self, stage: &BenchStage) -> CallCost {
        let calls = stage.samples(CALLS);
        let before = processor_time(self.host.id());
        let rounds: Vec<LoadFigures> =
            (0..ROUNDS).map(|_| self.active.load(&echo("fake__echo"), calls)).collect();
        let used = processor_time(self.host.id()).saturating_sub(before);
        CallCost::of(middle(rounds), used, ROUNDS * calls)
    }

    fn memory(&self) -> u64 {
        memory_map_sum(self.host.id(), "Pss:")
    }

    /// Clients that were sent away cost nothing.
    fn assert_counts(&self, gauge: &str, clients: usize) {
        let metrics = self.host.client("/metrics").send("GET", "/metrics", &[], b"").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(gauge)?.strip_prefix(' '));
        let counted = line.and_then(|number| number.trim().parse::<f64>().ok());
        assert!(counted >= Some(clients as f64), "{gauge}: {counted:?} of {clients}");
    }
}

/// A call of one client while others are connected with a session each and say nothing.
pub(super) fn measure(stage: &BenchStage) -> Vec<ClientsRow> {
    let mut host = WarmHost::start(stage);
    let mut idle: Vec<HttpClient> = Vec::new();
    let counts = if stage.is_quick { QUICK_CLIENTS } else { CLIENTS };
    let row = |clients: usize| {
        while idle.len() + 1 < clients {
            idle.push(with_session(&host.host));
        }
        host.assert_counts("capdeck_sessions", clients);
        ClientsRow { clients, call: host.call(stage) }
    };
    counts.map(row).into()
}

/// The memory that comes with each idle client: with a session on an open connection, and with a session and an open event stream.
pub(super) fn measure_memory(stage: &BenchStage) -> Vec<ClientMemory> {
    let [.., clients] = if stage.is_quick { QUICK_CLIENTS } else { CLIENTS };
    vec![
        memory_of_each(
            stage,
            clients,
            ("a session and an open connection", "capdeck_sessions"),
            with_session,
        ),
        memory_of_each(
            stage,
            clients,
            ("a session and an open event stream", "capdeck_streams"),
            with_event_stream,
        ),
    ]
}

fn memory_of_each<T>(
    stage: &BenchStage,
    clients: usize,
    (what, gauge): (&str, &str),
    connect: impl Fn(&RunningHost) -> T,
) -> ClientMemory {
    let host = WarmHost::start(stage);
    let before = host.memory();
    let connected: Vec<T> = (0..clients).map(|_| connect(&host.host)).collect();
    let grown = host.memory().saturating_sub(before);
    host.assert_counts(gauge, clients);
    drop(connected);
    ClientMemory { what: what.to_owned(), clients, bytes: grown / clients as u64 }
}

fn with_session(host: &RunningHost) -> HttpClient {
    let mut client = host.client("/mcp");
    client.initialize();
    client.request("tools/list", json!({}));
    client
}

/// The connection of the requests is closed; the one of the stream stays.
fn with_event_stream(host: &RunningHost) -> TcpStream {
    let session = with_session(host).session.expect("a session");
    let authority = host.url.strip_prefix("http://").expect("plain http");
    let mut stream = TcpStream::connect(authority).expect("the host accepts");
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: {authority}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\
         MCP-Protocol-Version: 2025-11-25\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    read_stream_head(&mut stream);
    stream
}
