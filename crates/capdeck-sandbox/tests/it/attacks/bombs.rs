//! Memory, stack and traffic without end.

use super::*;

pub(super) const BOMBS: &[Attack] = &[
    (
        "a growing array",
        "const a = []; while (true) a.push(new Array(1000).fill(1));",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    ("a doubling string", "let s = 'x'; while (true) s += s;", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    (
        "a doubling string that catches",
        "let s = 'x'; while (true) { try { s += s; } catch {} }",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    ("a huge string", "return 'x'.repeat(2 ** 29).length", Fails(LIMIT_OR_TIMEOUT_OR_ERROR)),
    (
        "a huge buffer",
        "return new ArrayBuffer(2 ** 33).byteLength",
        Fails(LIMIT_OR_TIMEOUT_OR_ERROR),
    ),
    (
        "many buffers",
        "const a = []; while (true) a.push(new Uint8Array(1_000_000));",
        Fails(LIMIT_OR_TIMEOUT_OR_ERROR),
    ),
    (
        "a growing map",
        "const m = new Map(); let i = 0; while (true) m.set(i++, {});",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "a growing object",
        "const o = {}; let i = 0; while (true) o['k' + i++] = i;",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "many closures",
        "let f = () => 0; while (true) { const g = f; f = () => g; }",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "many promises",
        "const a = []; while (true) a.push(new Promise(() => {}));",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "a promise that waits for the next one, and so on",
        "const f = () => Promise.resolve().then(f); await f();",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "many waiting functions",
        "const a = []; const f = async () => { await new Promise(() => {}); }; while (true) a.push(f());",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "many rejected promises",
        "for (let i = 0; i < 100000; i += 1) Promise.reject(i); return 1",
        Ends,
    ),
    ("many timers", "for (;;) setTimeout(() => {}, 100000);", Fails(LIMIT)),
    (
        "many symbols",
        "const a = []; let i = 0; while (true) a.push(Symbol.for('s' + i++));",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    ("deep recursion", "const f = () => f() + 1; return f();", Fails(LIMIT)),
    (
        "deep mutual recursion",
        "function a() { return b() + 1; } function b() { return a() + 1; } return a();",
        Fails(LIMIT),
    ),
    (
        "deep recursion that catches",
        "const f = () => { try { return f(); } catch { return f(); } }; return f();",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "deep recursion in toString",
        "const o = { toString() { return `${o}`; } }; return `${o}`;",
        Fails(LIMIT),
    ),
    (
        "deep recursion in a proxy",
        "const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x;",
        Fails(LIMIT),
    ),
    (
        "deep recursion in JSON",
        "const a = []; a.toJSON = () => ({ a }); return a",
        Fails(&["SERIALIZATION_ERROR", "sandbox_limit", "sandbox_timeout"]),
    ),
    (
        "a large value to clone",
        "let o = {}; for (let i = 0; i < 200000; i += 1) o = { o }; return structuredClone(o)",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "a log flood",
        "for (let i = 0; i < 100000; i += 1) console.log('x'.repeat(100)); return 1",
        Gives("1"),
    ),
    ("one huge log", "console.log('x'.repeat(20_000_000)); return 1", Gives("1")),
    (
        "a huge exception",
        "throw new Error('x'.repeat(20_000_000))",
        Fails(&["sandbox_error", "sandbox_limit"]),
    ),
    (
        "a huge thrown value",
        "throw 'x'.repeat(20_000_000)",
        Fails(&["sandbox_error", "sandbox_limit"]),
    ),
    (
        "too many calls",
        "for (let i = 0; i < 5000; i += 1) caplets.echo.echo({}); await new Promise(() => {});",
        Fails(LIMIT_OR_TIMEOUT_OR_ERROR),
    ),
    (
        "a flood of awaited calls",
        "while (true) await caplets.echo.echo({});",
        Fails(LIMIT_OR_TIMEOUT),
    ),
    (
        "huge arguments",
        "return await caplets.echo.echo({ a: 'x'.repeat(10_000_000) })",
        Fails(&["CONTENT_TOO_LARGE"]),
    ),
    (
        "a huge answer",
        "return (await caplets.echo.big({ bytes: 3000000 })).length",
        Gives("3000000"),
    ),
    (
        "an answer beyond the memory",
        "const a = []; for (let i = 0; i < 40; i += 1) a.push(await caplets.echo.big({ bytes: 2000000 })); return a.length",
        Fails(LIMIT_OR_TIMEOUT_OR_ERROR),
    ),
];
