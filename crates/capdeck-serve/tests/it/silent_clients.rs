//! Clients that are gone without a word keep their session for a while, and not their processes.

use std::{fs, path::Path, time::Duration};

use capdeck_serve::HttpLimits;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    served::{Setting, until},
};

/// The process ids that the fake server wrote down, one for each start.
fn starts(record: &Path) -> Vec<u64> {
    let text = fs::read_to_string(record).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["started"].as_u64()).collect()
}

#[test]
fn the_process_of_a_client_that_closed_its_stream_ends_and_starts_again() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let limits = HttpLimits { session_rest: Duration::from_millis(100), ..HttpLimits::default() };
    let served = setting.server("fake", &plan).limits(limits).serve();
    let path = "/servers/fake/mcp";
    let mut client = served.client(path);
    client.initialize();
    let mut echo = || client.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(echo()["result"]["content"][0]["text"], r#"{"a":1}"#);
    let process = starts(&record)[0];
    let is_running = || Path::new(&format!("/proc/{process}")).exists();
    let session = client.session.clone().unwrap();
    let stream = EventStream::listen(served.authority(), path, &session);
    drop(stream);
    until("the end of the process", || (!is_running()).then_some(()));
    let mut echo = || client.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(echo()["result"]["content"][0]["text"], r#"{"a":1}"#, "the session goes on");
    assert_eq!(starts(&record).len(), 2);
}
