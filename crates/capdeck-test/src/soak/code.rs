//! Misbehaviour of clients that run code.

use serde_json::{Value, json};

use super::{
    client::{MisbehaviourKind, SoakClient, message},
    legacy::{end, open},
    wire::{RawConnection, request},
};
use crate::HttpReply;

/// Every kind, by how often it is chosen.
pub(super) const KINDS: &[MisbehaviourKind] = &[
    ("code: behaves", 6, behave),
    ("code: keeps names and forgets its session", 3, keep_names),
    ("code: calls a bad child", 4, call_a_child),
    ("code: hangs up in a run", 3, hang_up),
    ("code: never ends", 2, never_end),
    ("code: fills its memory", 1, fill_memory),
    ("code: is no program", 2, send_garbage),
];

/// Less than a call of a child may take.
const RUN_TIMEOUT_MS: u64 = 1000;

fn run(wire: &mut RawConnection, id: u64, arguments: Value) {
    let call = json!({"name": "code_mode", "arguments": arguments});
    wire.send(&request(id, "tools/call", call), &[]);
}

fn envelope(reply: &HttpReply) -> Value {
    message(reply)["result"]["structuredContent"].take()
}

fn fails(reply: &HttpReply) -> bool {
    envelope(reply)["ok"] == false
}

fn behave(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    for id in 1..4 {
        let number = client.random.below(1000);
        run(&mut wire, id, json!({"code": format!("return {number} + 1;")}));
        client.expect_call(kind, &mut wire, |reply| envelope(reply)["value"] == number + 1);
    }
    end(client, kind, &mut wire);
}

fn keep_names(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    run(&mut wire, 1, json!({"code": "const kept = 'x'.repeat(1 << 20); return kept.length;"}));
    let is_session = |reply: &HttpReply| envelope(reply)["meta"]["sessionId"].is_string();
    let Some(reply) = client.expect_call(kind, &mut wire, is_session) else { return };
    let session = envelope(&reply)["meta"]["sessionId"].take();
    run(&mut wire, 2, json!({"code": "return kept.length;", "sessionId": session}));
    client.expect_call(kind, &mut wire, |reply| envelope(reply)["value"] == 1 << 20);
}

fn call_a_child(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let child = client.any_child();
    let tool = client.random.one_of(&["echo", "hang", "crash", "wait", "big_result"]);
    let code = format!(
        "const calls = [1, 2, 3].map(() => caplets[{child:?}].callTool({tool:?}, {{}})); \
         return (await Promise.allSettled(calls)).length;"
    );
    run(&mut wire, 1, json!({"code": code}));
    client.expect_call(kind, &mut wire, |reply| envelope(reply)["ok"].is_boolean());
    end(client, kind, &mut wire);
}

fn hang_up(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    run(&mut wire, 1, json!({"code": "await new Promise((done) => setTimeout(done, 5000));"}));
    client.pause(10, 300);
}

fn never_end(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let code = client.random.one_of(&[
        "while (true) {}",
        "while (true) { try { throw 1 } catch {} }",
        "(function again() { Promise.resolve().then(again) })(); await new Promise(() => {});",
    ]);
    run(&mut wire, 1, json!({"code": code, "timeoutMs": RUN_TIMEOUT_MS}));
    client.expect_call(kind, &mut wire, fails);
    end(client, kind, &mut wire);
}

fn fill_memory(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let code = "const all = []; while (true) all.push(new Uint8Array(1 << 20).fill(1));";
    run(&mut wire, 1, json!({"code": code, "timeoutMs": RUN_TIMEOUT_MS}));
    client.expect_call(kind, &mut wire, fails);
    end(client, kind, &mut wire);
}

fn send_garbage(client: &mut SoakClient, kind: &'static str) {
    let Some(mut wire) = open(client, kind, "/mcp", json!({})) else { return };
    let deep = "[".repeat(10_000);
    let code = client.random.one_of(&["return (", "import fs from 'fs'", "\u{0}", &deep]);
    run(&mut wire, 1, json!({"code": code}));
    client.expect_call(kind, &mut wire, fails);
    end(client, kind, &mut wire);
}
