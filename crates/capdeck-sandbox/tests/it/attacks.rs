//! Scripts that want to do harm. Each must end in time with an envelope, while another session goes on answering.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use capdeck_sandbox::{ErrorCode, Limits, Run, SandboxPool, SessionId};
use serde_json::Value;

use crate::support::{envelope, pool, run};

/// What an attack must come to.
enum Expect {
    /// Any of these codes.
    Fails(&'static [&'static str]),
    /// A value; the attack had no effect.
    Gives(&'static str),
    /// Whatever the outcome, as long as it comes in time.
    Ends,
}
use Expect::{Ends, Fails, Gives};

const TIMEOUT: &[&str] = &["sandbox_timeout"];
const LIMIT: &[&str] = &["sandbox_limit"];
const LIMIT_OR_TIMEOUT: &[&str] = &["sandbox_limit", "sandbox_timeout"];
const NOT_THERE: &[&str] = &["sandbox_forbidden_global", "sandbox_reference_error", "sandbox_type_error"];
const BLOCKED: &[&str] = &["diagnostic_blocked"];

/// Computing without end.
const LOOPS: &[(&str, &str, Expect)] = &[
    ("an endless loop", "while (true) {}", Fails(TIMEOUT)),
    ("an endless loop that catches everything", "while (true) { try { while (true) {} } catch {} finally { continue; } }", Fails(TIMEOUT)),
    ("an endless for", "for (;;) { const x = Math.sqrt(2); }", Fails(TIMEOUT)),
    ("an endless async loop", "while (true) await null;", Fails(TIMEOUT)),
    ("an endless chain of microtasks", "const f = () => Promise.resolve().then(f); f(); await new Promise(() => {});", Fails(TIMEOUT)),
    ("an endless queueMicrotask", "const f = () => queueMicrotask(f); f(); await new Promise(() => {});", Fails(TIMEOUT)),
    ("an endless generator", "function* g() { while (true) yield 1; } for (const x of g()) {}", Fails(TIMEOUT)),
    ("an endless async generator", "async function* g() { while (true) yield 1; } for await (const x of g()) {}", Fails(TIMEOUT)),
    ("an endless interval", "setInterval(() => {}, 0); await new Promise(() => {});", Fails(TIMEOUT)),
    ("timers that start timers", "const f = () => setTimeout(f, 0); f(); await new Promise(() => {});", Fails(TIMEOUT)),
    ("an endless loop in a timer", "setTimeout(() => { while (true) {} }, 1); await new Promise(() => {});", Fails(TIMEOUT)),
    ("an endless loop after a call", "await caplets.echo.echo({}); while (true) {}", Fails(TIMEOUT)),
    ("an endless loop in a getter of the value", "return { get a() { while (true) {} } }", Fails(TIMEOUT)),
    ("an endless loop in toJSON", "return { toJSON() { while (true) {} } }", Fails(TIMEOUT)),
    ("an endless loop in the message of an error", "const e = new Error(); Object.defineProperty(e, 'message', { get() { while (true) {} } }); throw e;", Fails(TIMEOUT)),
    ("an endless loop in a thenable", "return { then() { while (true) {} } }", Fails(TIMEOUT)),
    ("an endless loop in a proxy", "return new Proxy({}, { ownKeys() { while (true) {} } })", Fails(TIMEOUT)),
    ("an endless loop in valueOf", "return +{ valueOf() { while (true) {} } }", Fails(TIMEOUT)),
    ("an endless loop in logging", "console.log({ get a() { while (true) {} } }); return 1", Fails(TIMEOUT)),
    ("an endless loop in a sort", "[3, 2, 1].sort(() => { while (true) {} })", Fails(TIMEOUT)),
    ("an endless loop in a replacer", "'aaa'.replace(/a/g, () => { while (true) {} })", Fails(TIMEOUT)),
    ("an endless loop in eval", "eval('while (true) {}')", Fails(TIMEOUT)),
    ("an endless loop in new Function", "new Function('while (true) {}')()", Fails(TIMEOUT)),
    ("an endless loop in a static block", "class A { static { while (true) {} } }", Fails(TIMEOUT)),
    ("an endless loop in a destructor", "const r = new FinalizationRegistry(() => { while (true) {} }); (() => r.register({}, 1))(); await new Promise((d) => setTimeout(d, 1)); return 1", Ends),
    ("a backtracking regular expression", "/^(a+)+$/.test('a'.repeat(40) + 'b')", Fails(TIMEOUT)),
    ("a nested regular expression", "/^((a*)*)*$/.test('a'.repeat(35) + 'b')", Ends),
    ("a lookbehind bomb", "/(?<=(a+)+)b/.test('a'.repeat(60))", Ends),
    ("a search that cannot be interrupted", "const s = 'a'.repeat(9_000_000); return s.indexOf('a'.repeat(4_000_000) + 'b')", Ends),
    ("many searches that cannot be interrupted", "const s = 'ab'.repeat(8_000_000); const n = 'ab'.repeat(3_000_000) + 'c'; for (;;) s.lastIndexOf(n)", Fails(TIMEOUT)),
    ("a BigInt bomb", "let x = 3n; while (true) x = x * x;", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a BigInt power", "return String(7n ** 4_000_000n).length", Ends),
    ("a large sparse join", "return new Array(50_000_000).join('x').length", Ends),
    ("a large sparse sort", "const a = []; a[4_000_000_000] = 1; a.sort(); return 1", Ends),
    ("a fill of a huge array-like", "return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0)", Fails(LIMIT_OR_TIMEOUT)),
    ("an includes over a huge array-like", "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 0)", Fails(TIMEOUT)),
    ("a decode of deep JSON", "return JSON.parse('['.repeat(5_000_000))", Ends),
];
const LIMIT_OR_TIMEOUT_OR_ERROR: &[&str] = &["sandbox_limit", "sandbox_timeout", "sandbox_error"];

/// Memory and stack without end.
const BOMBS: &[(&str, &str, Expect)] = &[
    ("a growing array", "const a = []; while (true) a.push(new Array(1000).fill(1));", Fails(LIMIT_OR_TIMEOUT)),
    ("a doubling string", "let s = 'x'; while (true) s += s;", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a doubling string that catches", "let s = 'x'; while (true) { try { s += s; } catch {} }", Fails(LIMIT_OR_TIMEOUT)),
    ("a huge string", "return 'x'.repeat(2 ** 29).length", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a huge buffer", "return new ArrayBuffer(2 ** 33).byteLength", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("many buffers", "const a = []; while (true) a.push(new Uint8Array(1_000_000));", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a growing map", "const m = new Map(); let i = 0; while (true) m.set(i++, {});", Fails(LIMIT_OR_TIMEOUT)),
    ("a growing object", "const o = {}; let i = 0; while (true) o['k' + i++] = i;", Fails(LIMIT_OR_TIMEOUT)),
    ("many closures", "let f = () => 0; while (true) { const g = f; f = () => g; }", Fails(LIMIT_OR_TIMEOUT)),
    ("many promises", "const a = []; while (true) a.push(new Promise(() => {}));", Fails(LIMIT_OR_TIMEOUT)),
    ("many waiting functions", "const a = []; const f = async () => { await new Promise(() => {}); }; while (true) a.push(f());", Fails(LIMIT_OR_TIMEOUT)),
    ("many rejected promises", "for (let i = 0; i < 100000; i += 1) Promise.reject(i); return 1", Ends),
    ("many timers", "for (;;) setTimeout(() => {}, 100000);", Fails(LIMIT)),
    ("many symbols", "const a = []; let i = 0; while (true) a.push(Symbol.for('s' + i++));", Fails(LIMIT_OR_TIMEOUT)),
    ("deep recursion", "const f = () => f() + 1; return f();", Fails(LIMIT)),
    ("deep mutual recursion", "function a() { return b() + 1; } function b() { return a() + 1; } return a();", Fails(LIMIT)),
    ("deep recursion that catches", "const f = () => { try { return f(); } catch { return f(); } }; return f();", Fails(LIMIT_OR_TIMEOUT)),
    ("deep recursion in toString", "const o = { toString() { return `${o}`; } }; return `${o}`;", Fails(LIMIT)),
    ("deep recursion in a proxy", "const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x;", Fails(LIMIT)),
    ("deep recursion in JSON", "const a = []; a.toJSON = () => ({ a }); return a", Fails(&["SERIALIZATION_ERROR", "sandbox_limit", "sandbox_timeout"])),
    ("a large value to clone", "let o = {}; for (let i = 0; i < 200000; i += 1) o = { o }; return structuredClone(o)", Fails(LIMIT_OR_TIMEOUT)),
    ("a log flood", "for (let i = 0; i < 100000; i += 1) console.log('x'.repeat(100)); return 1", Gives("1")),
    ("one huge log", "console.log('x'.repeat(20_000_000)); return 1", Gives("1")),
    ("a huge exception", "throw new Error('x'.repeat(20_000_000))", Fails(&["sandbox_error", "sandbox_limit"])),
    ("a huge thrown value", "throw 'x'.repeat(20_000_000)", Fails(&["sandbox_error", "sandbox_limit"])),
    ("too many calls", "for (let i = 0; i < 5000; i += 1) caplets.echo.echo({}); await new Promise(() => {});", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a flood of awaited calls", "while (true) await caplets.echo.echo({});", Fails(LIMIT_OR_TIMEOUT)),
    ("huge arguments", "return await caplets.echo.echo({ a: 'x'.repeat(10_000_000) })", Fails(&["CONTENT_TOO_LARGE"])),
    ("a huge answer", "return (await caplets.echo.big({ bytes: 3000000 })).length", Gives("3000000")),
    ("an answer beyond the memory", "const a = []; for (let i = 0; i < 40; i += 1) a.push(await caplets.echo.big({ bytes: 2000000 })); return a.length", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
];

/// Ways out.
const ESCAPES: &[(&str, &str, Expect)] = &[
    ("the process", "return process.exit(1)", Fails(NOT_THERE)),
    ("require", "const r = globalThis.require; return r('fs')", Fails(NOT_THERE)),
    ("std and os of the engine", "return [typeof std, typeof os, typeof scriptArgs, typeof loadScript, typeof print, typeof gc]", Gives(r#"["undefined","undefined","undefined","undefined","undefined","undefined"]"#)),
    ("import in eval", "return await eval('import(\"fs\")')", Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"])),
    ("import in Function", "return await new Function('return import(\"std\")')()", Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"])),
    ("import in AsyncFunction", "const A = (async () => {}).constructor; return await new A('return await import(\"/etc/passwd\")')()", Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"])),
    ("the constructor of a handle", "return typeof caplets.constructor + typeof caplets.echo.constructor", Gives(r#""undefinedundefined""#)),
    ("the natives behind the globals", "const seen = []; for (const k of Reflect.ownKeys(globalThis)) { if (/host|native|bridge|hook/i.test(String(k))) seen.push(String(k)); } return seen", Gives("[]")),
    ("natives through the caller", "function spy() { return spy.caller; } [1].map(spy); return 1", Fails(&["sandbox_type_error"])),
    ("natives through a stack", "Error.prepareStackTrace = (e, frames) => frames; const s = new Error().stack; return typeof s === 'string' || Array.isArray(s)", Gives("true")),
    ("a forged call error", "const e = new Error('x'); e.name = 'CapabilityError'; e.code = 'AUTH_REQUIRED'; throw e", Fails(&["sandbox_error"])),
    ("replacing the return", "globalThis.$return = 1; return 2", Fails(&["sandbox_type_error"])),
    ("replacing caplets", "Object.defineProperty(globalThis, 'caplets', { value: 1 })", Fails(&["sandbox_type_error"])),
    ("a setter on Object.prototype", "Object.defineProperty(Object.prototype, 'message', { set() { throw 1; }, configurable: true }); return await caplets.echo.echo({ a: 1 })", Ends),
    ("a broken Promise", "Promise.prototype.then = function () { throw new Error('no'); }; return await caplets.echo.echo({ a: 1 })", Ends),
    ("a broken Array.prototype.map", "Array.prototype.map = Array.prototype.push = () => { throw 1; }; console.log('x'); return [1]", Ends),
    ("a path as a capability", "return await caplets['../../etc'].callTool('x')", Fails(BLOCKED)),
    ("prototype names as capabilities", "return ['__proto__', 'hasOwnProperty', 'toString'].map((k) => { try { return typeof caplets[k]; } catch (e) { return e.name; } })", Gives(r#"["TypeError","TypeError","TypeError"]"#)),
    ("prototype names in arguments", "return await caplets.echo.echo(JSON.parse('{\"__proto__\":{\"a\":1},\"constructor\":2}'))", Ends),
    ("polluting through an answer", "await caplets.echo.echo(JSON.parse('{\"__proto__\":{\"polluted\":1}}')); return typeof ({}).polluted", Gives(r#""undefined""#)),
    ("shared memory and atomics", "const b = new SharedArrayBuffer(8); return Atomics.wait(new Int32Array(b), 0, 0, 100)", Ends),
    ("a web worker", "return new Worker('x')", Fails(NOT_THERE)),
    ("web assembly", "return typeof WebAssembly", Gives(r#""undefined""#)),
    ("bracket bomb", "BRACKETS", Fails(BLOCKED)),
    ("operator bomb", "OPERATORS", Ends),
    ("addition bomb", "ADDITIONS", Ends),
    ("template bomb", "TEMPLATES", Ends),
    ("type bomb", "TYPES", Ends),
    ("else-if bomb", "ELSE_IFS", Ends),
    ("member chain bomb", "MEMBERS", Ends),
    ("arrow bomb", "ARROWS", Ends),
];

/// Code that is too long to write down.
fn expand(code: &str) -> String {
    match code {
        "BRACKETS" => "[".repeat(100_000),
        "OPERATORS" => format!("return {}1", "-!~".repeat(30_000)),
        "ADDITIONS" => format!("return {}1", "1+".repeat(200_000)),
        "TEMPLATES" => format!("return {}1{}", "`${".repeat(390), "}`".repeat(390)),
        "TYPES" => format!("type T = {}string; return 1", "string | ".repeat(100_000)),
        "ELSE_IFS" => format!("{}{{}}", "if (0) {} else ".repeat(50_000)),
        "MEMBERS" => format!("return {}", "a.".repeat(200_000) + "a"),
        "ARROWS" => format!("return {}1", "x => ".repeat(50_000)),
        code => code.to_owned(),
    }
}

fn attack(code: &str, expect: &Expect) -> Run {
    let mut run = Run::new(expand(code));
    // What ends by itself gets the time it needs on a busy machine; what does not is not waited for.
    run.timeout = Some(match expect {
        Fails(codes) if codes.contains(&"sandbox_timeout") => Duration::from_millis(500),
        Ends => Duration::from_millis(1000),
        Fails(_) | Gives(_) => Duration::from_secs(20),
    });
    run.limits = Limits { cpu: Duration::from_secs(2), ..Limits::default() };
    run.owner = "attacker".to_owned();
    run
}

/// Runs each attack while another session answers, and fails with the list of those that got through.
async fn withstand(attacks: &[(&str, &str, Expect)]) {
    let pool = pool();
    let other = other_session(&pool).await;
    let mut failures = Vec::new();
    for (name, code, expect) in attacks {
        let started = Instant::now();
        let over = Cell::new(false);
        let attacking = async {
            let report = run(&pool, attack(code, expect)).await;
            over.set(true);
            report
        };
        let asking = async {
            while !over.get() {
                assert_eq!(ask(&pool, &other).await, 42, "{name} kept another session from answering");
            }
        };
        let (report, ()) = tokio::join!(attacking, asking);
        let took = started.elapsed();
        let actual = envelope(&report);
        let code = actual.pointer("/error/code").and_then(Value::as_str);
        let right = match expect {
            Fails(codes) => code.is_some_and(|code| codes.contains(&code)),
            Gives(value) => actual.get("value").is_some_and(|actual| actual.to_string() == *value),
            Ends => true,
        };
        // A busy machine may be slow to kill; the point is that the attack does not run on.
        if !right || took > Duration::from_secs(30) {
            let mut text = actual.to_string();
            text.truncate(text.floor_char_boundary(400));
            failures.push(format!("{name}: after {took:?} {text}"));
        }
        assert_eq!(ask(&pool, &other).await, 42, "{name} harmed another session");
        pool.close_sessions_of("attacker");
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), attacks.len(), failures.join("\n"));
}

async fn other_session(pool: &SandboxPool) -> SessionId {
    let report = run(pool, Run::new("const answer = 42;")).await;
    report.envelope.meta.session_id.unwrap()
}

async fn ask(pool: &SandboxPool, session: &SessionId) -> i64 {
    let report = run(pool, Run::new("return answer").in_session(session.clone())).await;
    match &report.envelope.outcome {
        Ok(value) => serde_json::from_str(value.get()).unwrap(),
        Err(error) => {
            assert_ne!(error.code, ErrorCode::SessionClosed, "{error:?}");
            panic!("{error:?}");
        }
    }
}

#[tokio::test]
async fn computing_without_end() {
    withstand(LOOPS).await;
}

#[tokio::test]
async fn memory_without_end() {
    withstand(BOMBS).await;
}

#[tokio::test]
async fn ways_out() {
    withstand(ESCAPES).await;
}
