//! Computing without end.

use super::*;

pub(super) const LOOPS: &[Attack] = &[
    ("an endless loop", "while (true) {}", Fails(TIMEOUT)),
    (
        "an endless loop that catches everything",
        "while (true) { try { while (true) {} } catch {} finally { continue; } }",
        Fails(TIMEOUT),
    ),
    ("an endless for", "for (;;) { const x = Math.sqrt(2); }", Fails(TIMEOUT)),
    ("an endless async loop", "while (true) await null;", Fails(TIMEOUT)),
    (
        "an endless chain of microtasks",
        "const f = () => Promise.resolve().then(f); f(); await new Promise(() => {});",
        // Each link keeps the one before it, so a fast machine fills the heap first.
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "an endless queueMicrotask",
        "const f = () => queueMicrotask(f); f(); await new Promise(() => {});",
        Fails(TIMEOUT),
    ),
    (
        "an endless generator",
        "function* g() { while (true) yield 1; } for (const x of g()) {}",
        Fails(TIMEOUT),
    ),
    (
        "an endless async generator",
        "async function* g() { while (true) yield 1; } for await (const x of g()) {}",
        Fails(TIMEOUT),
    ),
    (
        "an endless interval",
        "setInterval(() => {}, 0); await new Promise(() => {});",
        Fails(TIMEOUT),
    ),
    (
        "timers that start timers",
        "const f = () => setTimeout(f, 0); f(); await new Promise(() => {});",
        Fails(TIMEOUT),
    ),
    (
        "an endless loop in a timer",
        "setTimeout(() => { while (true) {} }, 1); await new Promise(() => {});",
        Fails(TIMEOUT),
    ),
    (
        "an endless loop after a call",
        "await caplets.echo.echo({}); while (true) {}",
        Fails(TIMEOUT),
    ),
    (
        "an endless loop in a getter of the value",
        "return { get a() { while (true) {} } }",
        Fails(TIMEOUT),
    ),
    ("an endless loop in toJSON", "return { toJSON() { while (true) {} } }", Fails(TIMEOUT)),
    (
        "an endless loop in the message of an error",
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { while (true) {} } }); throw e;",
        Fails(TIMEOUT),
    ),
    ("an endless loop in a thenable", "return { then() { while (true) {} } }", Fails(TIMEOUT)),
    (
        "an endless loop in a proxy",
        "return new Proxy({}, { ownKeys() { while (true) {} } })",
        Fails(TIMEOUT),
    ),
    ("an endless loop in valueOf", "return +{ valueOf() { while (true) {} } }", Fails(TIMEOUT)),
    (
        "an endless loop in logging",
        "console.log({ get a() { while (true) {} } }); return 1",
        Fails(TIMEOUT),
    ),
    ("an endless loop in a sort", "[3, 2, 1].sort(() => { while (true) {} })", Fails(TIMEOUT)),
    (
        "an endless loop in a replacer",
        "'aaa'.replace(/a/g, () => { while (true) {} })",
        Fails(TIMEOUT),
    ),
    ("an endless loop in eval", "eval('while (true) {}')", Fails(TIMEOUT)),
    ("an endless loop in new Function", "new Function('while (true) {}')()", Fails(TIMEOUT)),
    ("an endless loop in a static block", "class A { static { while (true) {} } }", Fails(TIMEOUT)),
    (
        "an endless loop in a destructor",
        "const r = new FinalizationRegistry(() => { while (true) {} }); (() => r.register({}, 1))(); await new Promise((d) => setTimeout(d, 1)); return 1",
        Ends,
    ),
    ("a backtracking regular expression", "/^(a+)+$/.test('a'.repeat(40) + 'b')", Fails(TIMEOUT)),
    ("a nested regular expression", "/^((a*)*)*$/.test('a'.repeat(35) + 'b')", Ends),
    ("a lookbehind bomb", "/(?<=(a+)+)b/.test('a'.repeat(60))", Ends),
    (
        "a search that cannot be interrupted",
        "const s = 'a'.repeat(9_000_000); return s.indexOf('a'.repeat(4_000_000) + 'b')",
        Ends,
    ),
    (
        "many searches that cannot be interrupted",
        "const s = 'ab'.repeat(8_000_000); const n = 'ab'.repeat(3_000_000) + 'c'; for (;;) s.lastIndexOf(n)",
        Fails(TIMEOUT),
    ),
    ("a BigInt bomb", "let x = 3n; while (true) x = x * x;", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    ("a BigInt power", "return String(7n ** 4_000_000n).length", Ends),
    ("a large sparse join", "return new Array(50_000_000).join('x').length", Ends),
    ("a large sparse sort", "const a = []; a[4_000_000_000] = 1; a.sort(); return 1", Ends),
    (
        "a fill of a huge array-like",
        "return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0)",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "an includes over a huge array-like",
        "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 0)",
        Fails(TIMEOUT),
    ),
    ("a decode of deep JSON", "return JSON.parse('['.repeat(5_000_000))", Ends),
];
