use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn compiled(code: &str) -> CompiledCell {
    compile(code, &SessionBindings::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn refused(code: &str) -> Vec<(String, Option<u32>, Option<u32>)> {
    let problems = compile(code, &SessionBindings::default()).unwrap_err();
    problems.into_iter().map(|problem| (problem.code, problem.line, problem.column)).collect()
}

#[test]
fn the_top_level_becomes_a_script_that_keeps_its_names() {
    let code =
        compiled("const a: number = 1; class B {}; if (a) return a; function f() { return 2; }")
            .code;
    assert!(code.contains("var a = 1"), "{code}");
    assert!(code.contains("var B = class B"), "{code}");
    assert!(code.contains("break $cell"), "{code}");
    assert!(code.find("function f()").unwrap() < code.find("$cell:").unwrap(), "{code}");
}

#[test]
fn places_lead_back_to_the_author() {
    let code = "type Long = { a: string;\n b: number };\nconst x: Long = null!;\nboom(x);\n";
    let compiled = compiled(code);
    let line = compiled.code.lines().position(|line| line.contains("boom")).unwrap();
    let place = compiled.positions.source(u32::try_from(line).unwrap() + 1, 1).unwrap();
    assert_eq!((place.line, place.column), (4, 1));
}

#[test]
fn declared_names_have_their_kind() {
    let declares = compiled(
        "var a; let b; const c = 1; function d() {} class E {} enum F { X } namespace G { export const y = 1; } interface H {} type I = 1; declare const j: number;",
    )
    .declares;
    let expected = [
        ("a", BindingKind::Var),
        ("b", BindingKind::Let),
        ("c", BindingKind::Const),
        ("d", BindingKind::Function),
        ("E", BindingKind::Class),
        ("F", BindingKind::Enum),
        ("G", BindingKind::Namespace),
    ];
    let expected: Vec<(String, BindingKind)> =
        expected.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    assert_eq!(declares, expected);
}

#[test]
fn uses_carry_literal_arguments_and_only_those() {
    let arguments = |code: &str| -> Option<Value> {
        let uses = compiled(code).uses;
        let member = uses.first()?.member.clone()?;
        serde_json::from_str(&member.arguments?).ok()
    };
    for (code, expected) in [
        (
            "caplets.a.t({ b: 1, 'c-d': [true, null, -2.5, `x`], e: { f: 'g' } })",
            Some(json!({"b": 1, "c-d": [true, null, -2.5, "x"], "e": {"f": "g"}})),
        ),
        ("caplets.a.t()", Some(json!({}))),
        ("caplets.a.callTool('t', { b: 1 } as const)", Some(json!({"b": 1}))),
        ("const b = 1; caplets.a.t({ b })", None),
        ("caplets.a.t({ ...{} })", None),
        ("caplets.a.t({ b: 1 + 1 })", None),
        ("const k = 'b'; caplets.a.t({ [k]: 1 })", None),
        ("caplets.a.t({ b() {} })", None),
    ] {
        assert_eq!(arguments(code), expected, "{code}");
    }
}

#[test]
fn only_the_global_caplets_is_looked_at() {
    assert!(compiled("function f(caplets) { return caplets.nope.tool(); }").uses.is_empty());
    assert!(compiled("const o = { caplets: 1 }; o.caplets.nope").uses.is_empty());
    assert!(
        compiled("caplets.search('x'); caplets.debug.readLogs({}); caplets[name].tool()")
            .uses
            .is_empty()
    );
    assert_eq!(compiled("for (const x of [caplets.a]) x.tool()").uses.len(), 1);
}

#[test]
fn problems_have_places() {
    assert_eq!(
        refused("let a = 1;\nlet a = 2;").first().map(|(code, ..)| code.as_str()),
        Some("SYNTAX_ERROR")
    );
    assert_eq!(refused("é;\n  import('x')"), [("IMPORT_UNAVAILABLE".to_owned(), Some(2), Some(3))]);
    assert_eq!(
        refused("const é = 1; fetch()"),
        [("FETCH_UNAVAILABLE".to_owned(), Some(1), Some(14))]
    );
    assert!(!refused("<div/>").is_empty());
    assert!(!refused("return (").is_empty());
    assert!(!refused(&"(".repeat(1000)).is_empty());
}

#[test]
fn a_replaced_fetch_is_the_authors_own() {
    assert!(
        compile("function fetch() { return 1; } fetch();", &SessionBindings::default()).is_ok()
    );
    let mut session = SessionBindings::default();
    session.declare("fetch".to_owned(), BindingKind::Function);
    assert!(compile("fetch()", &session).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compiled code is JavaScript that a strict parser accepts; no input makes the compiler panic.
    #[test]
    fn any_code_compiles_or_is_refused(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24)) {
        let code = words.join(" ");
        if let Ok(compiled) = compile_or_panic(&code, &SessionBindings::default()) {
            let allocator = Allocator::default();
            // A script with top-level `await` is closest to the body of an async function.
            let wrapped = format!("(async () => {{ {} }})", compiled.code);
            let parsed = Parser::new(&allocator, &wrapped, SourceType::cjs()).parse();
            prop_assert!(!parsed.diagnostics.has_errors(), "{code}\n{}", compiled.code);
        }
    }

    #[test]
    fn any_text_is_read(code in "\\PC{0,120}") {
        let _read = compile_or_panic(&code, &SessionBindings::default());
    }
}

const WORDS: &[&str] = &[
    "const",
    "let",
    "var",
    "function",
    "class",
    "enum",
    "namespace",
    "interface",
    "type",
    "return",
    "await",
    "async",
    "for",
    "of",
    "in",
    "if",
    "else",
    "try",
    "catch",
    "finally",
    "throw",
    "new",
    "a",
    "b",
    "caplets",
    "caplets.a.b",
    "1",
    "'s'",
    "`t`",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "=",
    "=>",
    ":",
    ";",
    ",",
    ".",
    "?.",
    "...",
    "<",
    ">",
    "!",
    "as",
    "any",
    "number",
    "extends",
    "a()",
    "x: number",
    "return 1;",
    "const c = 1;",
    "class D {}",
    "enum E { F }",
    "{ a: 1 }",
    "/re/g",
    "import",
    "export",
    "static",
    "declare",
    "abstract",
    "@d",
    "#p",
    "yield",
    "*",
    "\n",
];
