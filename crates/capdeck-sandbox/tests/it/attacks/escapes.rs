//! Ways out of the sandbox, and into its machinery.

use super::*;

pub(super) const ESCAPES: &[Attack] = &[
    ("the process", "return process.exit(1)", Fails(NOT_THERE)),
    ("require", "const r = globalThis.require; return r('fs')", Fails(NOT_THERE)),
    (
        "std and os of the engine",
        "return [typeof std, typeof os, typeof scriptArgs, typeof loadScript, typeof print, typeof gc]",
        Gives(r#"["undefined","undefined","undefined","undefined","undefined","undefined"]"#),
    ),
    (
        "import in eval",
        "return await eval('import(\"fs\")')",
        Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"]),
    ),
    (
        "import in Function",
        "return await new Function('return import(\"std\")')()",
        Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"]),
    ),
    (
        "import in AsyncFunction",
        "const A = (async () => {}).constructor; return await new A('return await import(\"/etc/passwd\")')()",
        Fails(&["sandbox_reference_error", "sandbox_type_error", "sandbox_error"]),
    ),
    (
        "the constructor of a handle",
        "return typeof caplets.constructor + typeof caplets.echo.constructor",
        Gives(r#""undefinedundefined""#),
    ),
    (
        "the natives behind the globals",
        "const seen = []; for (const k of Reflect.ownKeys(globalThis)) { if (/host|native|bridge|hook/i.test(String(k))) seen.push(String(k)); } return seen",
        Gives("[]"),
    ),
    (
        "natives through the caller",
        "function spy() { return spy.caller; } [1].map(spy); return 1",
        Fails(&["sandbox_type_error"]),
    ),
    (
        "natives through a stack",
        "Error.prepareStackTrace = (e, frames) => frames; const s = new Error().stack; return typeof s === 'string' || Array.isArray(s)",
        Gives("true"),
    ),
    (
        "a forged call error",
        "const e = new Error('x'); e.name = 'CapabilityError'; e.code = 'AUTH_REQUIRED'; throw e",
        Fails(&["sandbox_error"]),
    ),
    ("replacing the return", "globalThis.$return = 1; return 2", Fails(&["sandbox_type_error"])),
    (
        "replacing caplets",
        "Object.defineProperty(globalThis, 'caplets', { value: 1 })",
        Fails(&["sandbox_type_error"]),
    ),
    (
        "a setter on Object.prototype",
        "Object.defineProperty(Object.prototype, 'message', { set() { throw 1; }, configurable: true }); return await caplets.echo.echo({ a: 1 })",
        Ends,
    ),
    (
        "a broken Promise",
        "Promise.prototype.then = function () { throw new Error('no'); }; return await caplets.echo.echo({ a: 1 })",
        Ends,
    ),
    (
        "a broken Array.prototype.map",
        "Array.prototype.map = Array.prototype.push = () => { throw 1; }; console.log('x'); return [1]",
        Ends,
    ),
    ("a path as a capability", "return await caplets['../../etc'].callTool('x')", Fails(BLOCKED)),
    (
        "prototype names as capabilities",
        "return ['__proto__', 'hasOwnProperty', 'toString'].map((k) => { try { return typeof caplets[k]; } catch (e) { return e.name; } })",
        // No capability has these names, and no member of a prototype stands in for one.
        Gives(r#"["undefined","undefined","undefined"]"#),
    ),
    (
        "prototype names in arguments",
        "return await caplets.echo.echo(JSON.parse('{\"__proto__\":{\"a\":1},\"constructor\":2}'))",
        Ends,
    ),
    (
        "polluting through an answer",
        "await caplets.echo.echo(JSON.parse('{\"__proto__\":{\"polluted\":1}}')); return typeof ({}).polluted",
        Gives(r#""undefined""#),
    ),
    (
        "shared memory and atomics",
        "const b = new SharedArrayBuffer(8); return Atomics.wait(new Int32Array(b), 0, 0, 100)",
        Fails(NOT_THERE),
    ),
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
