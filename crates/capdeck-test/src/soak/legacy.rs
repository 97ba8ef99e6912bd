//! Misbehaviour of clients with a session.

use serde_json::{Value, json};

use super::{
    client::{MisbehaviourKind, SoakClient, message},
    wire::{RawConnection, call_tool, request},
};

/// Every kind, by how often it is chosen.
pub(super) const KINDS: &[MisbehaviourKind] = &[
    ("legacy: behaves", 4, behave),
    ("legacy: calls a bad child", 12, call_a_child),
    ("legacy: hangs up in a call", 4, hang_up),
    ("legacy: does not read a flood", 2, never_read),
    ("legacy: writes slowly", 2, write_slowly),
    ("legacy: cancels", 4, cancel),
    ("legacy: repeats an id", 4, repeat_an_id),
    ("legacy: forgets its session", 4, forget),
    ("legacy: sends garbage", 4, send_garbage),
    ("legacy: wrong version", 2, wrong_version),
    ("legacy: oversized", 1, oversized),
    ("legacy: opens a stream and vanishes", 4, stream_and_vanish),
    ("legacy: leaves a question open", 3, leave_a_question),
    ("legacy: a server of its own, abandoned", 2, own_server),
];

/// Shakes hands. The session is forgotten unless it is ended.
pub(super) fn open(
    client: &SoakClient,
    kind: &'static str,
    path: &str,
    capabilities: Value,
) -> Option<RawConnection> {
    let mut wire = client.connect(path)?;
    let name = format!("soak-{}", client.number);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": name, "version": "0"}});
    wire.send(&request(0, "initialize", hello), &[]);
    let reply = client.expect_call(kind, &mut wire, |reply| reply.status == 200)?;
    wire.session = reply.header("mcp-session-id").map(str::to_owned);
    wire.version = Some("2025-11-25");
    wire.session.is_some().then_some(wire)
}

pub(super) fn end(client: &SoakClient, kind: &'static str, wire: &mut RawConnection) {
    let goodbye = wire.head("DELETE", 0, &[]);
    wire.write(goodbye.as_bytes());
    client.expect(kind, wire, |reply| matches!(reply.status, 204 | 404));
}

fn behave(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    wire.send(&request(1, "tools/list", json!({})), &[]);
    client.expect(kind, &mut wire, |reply| message(reply)["result"]["tools"].is_array());
    let child = client.sound_child();
    wire.send(&request(2, "tools/call", call_tool(child, "echo", &json!({"a": 1}))), &[]);
    // A child that others crash may take this call along; the answer says so.
    client.expect_call(kind, &mut wire, |reply| message(reply)["result"].is_object());
    end(client, kind, &mut wire);
}

fn call_a_child(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let child = client.any_child();
    let (tool, data) = client.random.one_of(&[
        ("echo", r#"{"a":1}"#),
        ("hang", "{}"),
        ("crash", "{}"),
        ("bad_json", "{}"),
        ("rpc_error", "{}"),
        ("wait", r#"{"ms":300}"#),
        ("chatter", r#"{"bytes":200000}"#),
        ("big_result", r#"{"bytes":200000}"#),
        ("flood", r#"{"count":500,"bytes":2000}"#),
        ("progress", r#"{"steps":5,"intervalMs":50}"#),
        ("no_such_tool", "{}"),
    ]);
    let data: Value = serde_json::from_str(data).unwrap_or_default();
    wire.send(&request(1, "tools/call", call_tool(child, tool, &data)), &[]);
    client.expect_call(kind, &mut wire, |reply| {
        let answer = message(reply);
        answer["result"].is_object() || answer["error"].is_object()
    });
    end(client, kind, &mut wire);
}

fn hang_up(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let child = client.sound_child();
    wire.send(&request(1, "tools/call", call_tool(child, "wait", &json!({"ms": 1000}))), &[]);
    client.pause(10, 300);
}

fn never_read(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/servers/legacy/mcp", json!({})) else { return };
    let flood = json!({"name": "flood", "arguments": {"count": 2000, "bytes": 5000}});
    wire.send(&request(1, "tools/call", flood), &[]);
    client.pause(500, 2000);
}

fn write_slowly(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = client.connect("/mcp") else { return };
    let hello = request(
        0,
        "initialize",
        json!({"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "slow", "version": "0"}}),
    );
    let body = hello.to_string();
    let text = wire.head("POST", body.len(), &[]) + &body;
    let gives_up = client.random.below(2) == 0;
    for (number, piece) in text.as_bytes().chunks(40).enumerate() {
        if !wire.write(piece) || (gives_up && number > 3) {
            return;
        }
        client.pause(20, 150);
    }
    client.expect(kind, &mut wire, |reply| reply.status == 200);
}

fn cancel(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let Some(mut second) = client.connect("/mcp") else { return };
    (second.session, second.version) = (wire.session.clone(), wire.version);
    let child = client.sound_child();
    wire.send(&request(7, "tools/call", call_tool(child, "hang", &json!({}))), &[]);
    client.pause(10, 400);
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 7, "reason": "changed my mind"}});
    second.send(&cancelled, &[]);
    client.expect(kind, &mut second, |reply| reply.status == 202);
    // A cancellation that overtakes its call finds nothing; then the call ends by itself.
    client.expect_call(kind, &mut wire, |reply| {
        let answer = message(reply);
        answer["error"]["code"] == -32800 || answer["result"]["isError"] == true
    });
    end(client, kind, &mut wire);
}

fn repeat_an_id(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let Some(mut second) = client.connect("/mcp") else { return };
    (second.session, second.version) = (wire.session.clone(), wire.version);
    let child = client.sound_child();
    wire.send(&request(3, "tools/call", call_tool(child, "wait", &json!({"ms": 600}))), &[]);
    client.pause(10, 50);
    second.send(&request(3, "tools/list", json!({})), &[]);
    // The first may be over already; then the id is free.
    client.expect(kind, &mut second, |reply| {
        let answer = message(reply);
        answer["error"]["code"] == -32600 || answer["result"].is_object()
    });
    client.expect_call(kind, &mut wire, |reply| message(reply)["result"].is_object());
}

fn forget(client: &mut SoakClient, kind: &'static str) {
    open(client, kind, "/mcp", json!({}));
}

fn send_garbage(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = client.connect("/mcp") else { return };
    let garbage = client.random.one_of(&[
        "{",
        "null",
        "[]",
        "\u{0}\u{1}\u{2}",
        "{\"jsonrpc\":\"2.0\",\"id\":{}}",
        "[[[[[[[[[[[[",
    ]);
    let text = wire.head("POST", garbage.len(), &[]) + garbage;
    wire.write(text.as_bytes());
    client.expect(kind, &mut wire, |reply| reply.status == 400);
    // And something that is not even HTTP.
    let Some(mut wire) = client.connect("/mcp") else { return };
    wire.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n");
    client.pause(1, 50);
}

fn wrong_version(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    wire.version = Some("1999-01-01");
    wire.send(&request(1, "tools/list", json!({})), &[]);
    client.expect(kind, &mut wire, |reply| reply.status == 400);
    wire.version = Some("2025-11-25");
    end(client, kind, &mut wire);
}

fn oversized(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = client.connect("/mcp") else { return };
    let length = 17 << 20;
    let head = wire.head("POST", length, &[]);
    let piece = vec![b'x'; 1 << 20];
    if !wire.write(head.as_bytes()) {
        return;
    }
    // The host may refuse before everything is there, and close.
    let taken = (0..17).all(|_| wire.write(&piece));
    if taken {
        client.expect_call(kind, &mut wire, |reply| reply.status == 413);
    }
}

fn stream_and_vanish(client: &mut SoakClient, kind: &'static str) {
    let Some(wire) = open(client, kind, "/mcp", json!({})) else { return };
    let Some(mut stream) = client.connect("/mcp") else { return };
    (stream.session, stream.version) = (wire.session.clone(), wire.version);
    let listen = stream.head("GET", 0, &[]);
    stream.write(listen.as_bytes());
    client.pause(50, 800);
}

fn leave_a_question(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({"elicitation": {}})) else { return };
    let tool = client.random.one_of(&["ask_elicitation", "ask_forever"]);
    wire.send(&request(1, "tools/call", call_tool("legacy", tool, &json!({}))), &[]);
    client.pause(200, 1500);
    if client.random.below(2) == 0 {
        let Some(mut second) = client.connect("/mcp") else { return };
        (second.session, second.version) = (wire.session.clone(), wire.version);
        // The client had a connection of its own, and the process behind it is given time to end.
        let goodbye = second.head("DELETE", 0, &[]);
        second.write(goodbye.as_bytes());
        client.expect_call(kind, &mut second, |reply| matches!(reply.status, 204 | 404));
    }
}

fn own_server(client: &mut SoakClient, kind: &'static str) {
    let child = client.random.one_of(&["legacy", "both", "parent", "stubborn"]);
    let path = format!("/servers/{child}/mcp");
    let Some(mut wire) = open(client, kind, &path, json!({"sampling": {}})) else { return };
    wire.send(&request(1, "tools/call", json!({"name": "echo", "arguments": {}})), &[]);
    client.expect_call(kind, &mut wire, |reply| message(reply)["result"].is_object());
    if client.random.below(2) == 0 {
        let goodbye = wire.head("DELETE", 0, &[]);
        wire.write(goodbye.as_bytes());
        // A stubborn program is given time before it is killed.
        client.expect_call(kind, &mut wire, |reply| matches!(reply.status, 204 | 404));
    }
}
