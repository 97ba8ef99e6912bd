//! Whether a script of one client can make another client wait.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{super::load::percentile, AttackFigures, BenchStage, deck};
use crate::HttpClient;

/// How long a script may go on.
const TIMEOUT_MS: u64 = 2_000;

/// What a script does, and how.
const ATTACKS: [(&str, &str); 10] = [
    ("nothing", "return 1"),
    ("loops forever", "while (true) {}"),
    ("loops forever and catches everything", "while (true) { try { while (true) {} } catch {} }"),
    (
        "fills its memory",
        "const held = []; while (true) held.push(new Array(1e5).fill(held.length))",
    ),
    (
        "recurses without end",
        "function deeper(n) { return deeper(n + 1) + 1 } while (true) { try { deeper(0) } catch {} }",
    ),
    (
        "floods itself with promises",
        "const again = () => Promise.resolve().then(again); for (let i = 0; i < 100; i += 1) again(); await new Promise(() => {})",
    ),
    ("matches a pattern that explodes", "return /^(a+)+$/.test('a'.repeat(40) + 'b')"),
    (
        "calls a built-in function that cannot be interrupted",
        "const long = 'a'.repeat(1 << 24); return (long + 'b').indexOf('a'.repeat(1 << 23) + 'c')",
    ),
    ("logs without end", "while (true) console.log('x'.repeat(1000))"),
    ("calls without end", "while (true) await caplets.fake.echo({ text: 'hello' })"),
];

/// One client attacks, the other calls a tool by name, over HTTP.
pub(super) fn measure(stage: &BenchStage) -> Vec<AttackFigures> {
    let dirs = deck(stage);
    let host = stage.up(&dirs);
    ATTACKS.map(|(attack, code)| under(&format!("{}/mcp", host.url), attack, code)).to_vec()
}

fn under(url: &str, attack: &str, code: &str) -> AttackFigures {
    let mut victim = client(url);
    let echo = json!({"name": "fake__echo", "arguments": {"text": "hello"}});
    victim.request("tools/call", echo.clone());
    let over = AtomicBool::new(false);
    let mut samples = Vec::new();
    let outcome = thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let asked = json!({"code": code, "timeoutMs": TIMEOUT_MS});
            let asked = json!({"name": "code_mode", "arguments": asked});
            let answer = client(url).request("tools/call", asked);
            over.store(true, Ordering::Release);
            outcome(&answer)
        });
        let least = Instant::now() + Duration::from_millis(TIMEOUT_MS / 4);
        while !over.load(Ordering::Acquire) || Instant::now() < least {
            let started = Instant::now();
            let answer = victim.request("tools/call", echo.clone());
            assert!(answer["result"]["content"].is_array(), "a call failed: {answer}");
            samples.push(started.elapsed());
        }
        attacker.join().unwrap()
    });
    samples.sort_unstable();
    let at = |share| percentile(&samples, share).as_secs_f64() * 1e3;
    AttackFigures {
        attack: attack.to_owned(),
        outcome,
        calls: samples.len(),
        p50_ms: at(0.5),
        longest_ms: at(1.0),
    }
}

fn client(url: &str) -> HttpClient {
    let mut client = HttpClient::new(url);
    client.initialize();
    client
}

fn outcome(answer: &Value) -> String {
    let envelope = &answer["result"]["structuredContent"];
    match envelope["error"]["code"].as_str() {
        Some(code) => format!("`{code}`"),
        None => "a value".to_owned(),
    }
}
