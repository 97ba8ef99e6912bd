//! Misbehaviour of clients without sessions.

use serde_json::{Value, json};

use super::{
    client::{MisbehaviourKind, SoakClient, message},
    wire::{RawConnection, call_tool, request},
};

/// Every kind, by how often it is chosen.
pub(super) const KINDS: &[MisbehaviourKind] = &[
    ("modern: behaves", 4, behave),
    ("modern: calls a bad child", 8, call_a_child),
    ("modern: hangs up in a call", 4, hang_up),
    ("modern: leaves a question open", 4, leave_a_question),
    ("modern: listens and vanishes", 4, listen_and_vanish),
    ("modern: wrong version", 2, wrong_version),
    ("modern: header and body differ", 2, mismatch),
    ("modern: foreign state", 2, foreign_state),
];

const VERSION: &str = "2026-07-28";

/// A request that says who sends it.
fn stand_alone(client: &SoakClient, id: u64, method: &str, mut params: Value) -> Value {
    let name = format!("soak-{}", client.number);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "0"},
    });
    request(id, method, params)
}

fn connect(client: &SoakClient) -> Option<RawConnection> {
    let mut wire = client.connect("/mcp")?;
    wire.version = Some(VERSION);
    Some(wire)
}

fn call(client: &SoakClient, wire: &mut RawConnection, child: &str, tool: &str, data: &Value) {
    let message = stand_alone(client, 1, "tools/call", call_tool(child, tool, data));
    wire.send(&message, &[("Mcp-Method", "tools/call"), ("Mcp-Name", "call_tool")]);
}

fn behave(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let discover = stand_alone(client, 0, "server/discover", json!({}));
    wire.send(&discover, &[("Mcp-Method", "server/discover")]);
    client.expect(kind, &mut wire, |reply| {
        reply.status == 200 && message(reply)["result"]["supportedVersions"].is_array()
    });
    let child = client.sound_child();
    call(client, &mut wire, child, "echo", &json!({"a": 1}));
    client.expect_call(kind, &mut wire, |reply| message(reply)["result"].is_object());
}

fn call_a_child(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let child = client.any_child();
    let tool = client.random.one_of(&["echo", "hang", "crash", "wait", "rpc_error", "nothing"]);
    call(client, &mut wire, child, tool, &json!({}));
    client.expect_call(kind, &mut wire, |reply| {
        let answer = message(reply);
        answer["result"].is_object() || answer["error"].is_object()
    });
}

fn hang_up(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let child = client.sound_child();
    let tool = client.random.one_of(&["hang", "wait"]);
    call(client, &mut wire, child, tool, &json!({"ms": 1000}));
    client.pause(10, 300);
    drop(wire);
    // What was cancelled holds up no other call.
    let Some(mut wire) = connect(client) else { return };
    call(client, &mut wire, "both", "echo", &json!({}));
    client.expect_call(kind, &mut wire, |reply| message(reply)["result"].is_object());
}

fn leave_a_question(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let (child, tool) = client.random.one_of(&[
        ("legacy", "ask_elicitation"),
        ("legacy", "ask_forever"),
        ("modern", "ask_elicitation"),
        ("modern", "ask_forever"),
    ]);
    call(client, &mut wire, child, tool, &json!({}));
    // Either the question comes, or the child was lost to the crash of another client.
    client.expect_call(kind, &mut wire, |reply| {
        let answer = message(reply);
        answer["result"]["resultType"] == "input_required" || answer["result"]["isError"] == true
    });
}

fn listen_and_vanish(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let listen = stand_alone(
        client,
        5,
        "subscriptions/listen",
        json!({
            "notifications": {"toolsListChanged": true},
        }),
    );
    wire.send(&listen, &[("Mcp-Method", "subscriptions/listen")]);
    client.pause(50, 800);
    drop(wire);
    let Some(mut wire) = connect(client) else { return };
    let discover = stand_alone(client, 0, "server/discover", json!({}));
    wire.send(&discover, &[("Mcp-Method", "server/discover")]);
    client.expect(kind, &mut wire, |reply| reply.status == 200);
}

fn wrong_version(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    wire.version = Some("2099-01-01");
    let mut list = stand_alone(client, 1, "tools/list", json!({}));
    list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    wire.send(&list, &[("Mcp-Method", "tools/list")]);
    client.expect(kind, &mut wire, |reply| {
        reply.status == 400 && message(reply)["error"]["code"] == -32022
    });
}

fn mismatch(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let list = stand_alone(client, 1, "tools/list", json!({}));
    wire.send(&list, &[("Mcp-Method", "tools/call")]);
    client.expect(kind, &mut wire, |reply| {
        reply.status == 400 && message(reply)["error"]["code"] == -32020
    });
}

fn foreign_state(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = connect(client) else { return };
    let mut params = call_tool("modern", "ask_elicitation", &json!({}));
    params["requestState"] = json!("bm90IG91cnM");
    params["inputResponses"] = json!({"1": {"action": "accept"}});
    let again = stand_alone(client, 1, "tools/call", params);
    wire.send(&again, &[("Mcp-Method", "tools/call"), ("Mcp-Name", "call_tool")]);
    client.expect(kind, &mut wire, |reply| message(reply)["error"].is_object());
}
