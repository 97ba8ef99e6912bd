//! CMP tools: a manifest and its intents.

use capdeck_definition::{Backend, Deck};

use super::{Row, check, cmp_tool};

const MANIFEST: &str =
    r#"{"domain": "email", "name": "mail", "summary": "Mail", "version": "1.0.0"}"#;
const CAPABILITY: &str = r#"{"intents": [{"patterns": ["check mail"], "command": "mail list"}]}"#;

const MANIFESTS: [Row; 14] = [
    ("whole", MANIFEST, "mail cmp"),
    (
        "a short version",
        r#"{"domain": "d", "name": "mail", "summary": "s", "version": "1.0"}"#,
        "mail cmp | W:bad-version",
    ),
    (
        "a version with a letter",
        r#"{"domain": "d", "name": "mail", "summary": "s", "version": "v1.0.0"}"#,
        "mail cmp | W:bad-version",
    ),
    (
        "a number as version",
        r#"{"domain": "d", "name": "mail", "summary": "s", "version": 1.0}"#,
        "- | E:wrong-type",
    ),
    (
        "two lines of summary",
        r#"{"domain": "d", "name": "mail", "summary": "a\nb", "version": "1.0.0"}"#,
        "mail cmp | W:not-one-line",
    ),
    (
        "a long summary",
        r#"{"domain": "d", "name": "mail", "summary": "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789", "version": "1.0.0"}"#,
        "mail cmp | W:long-summary",
    ),
    ("no summary", r#"{"domain": "d", "name": "mail", "version": "1.0.0"}"#, "- | E:missing-key"),
    (
        "an empty summary",
        r#"{"domain": "d", "name": "mail", "summary": "", "version": "1.0.0"}"#,
        "- | E:empty-value",
    ),
    ("no domain", r#"{"name": "mail", "summary": "s", "version": "1.0.0"}"#, "- | E:missing-key"),
    (
        "a name with a blank",
        r#"{"domain": "d", "name": "my mail", "summary": "s", "version": "1.0.0"}"#,
        "my-mail cmp",
    ),
    (
        "an unknown key",
        r#"{"domain": "d", "name": "mail", "summary": "s", "version": "1.0.0", "author": "me"}"#,
        "mail cmp | W:unknown-key",
    ),
    (
        "an adapter of nothing",
        r#"{"domain": "d", "name": "mail", "summary": "s", "version": "1.0.0", "adapter": true}"#,
        "mail cmp | W:missing-key",
    ),
    ("a list", "[]", "- | E:wrong-type"),
    ("half a file", "{", "- | E:invalid-json"),
];

const INTENTS: [Row; 25] = [
    ("one", r#"{"patterns": ["a"], "command": "x"}"#, "mail cmp"),
    (
        "a parameter",
        r#"{"patterns": ["a"], "command": "x {n}", "params": {"n": {"type": "integer"}}}"#,
        "mail cmp",
    ),
    (
        "an undeclared parameter",
        r#"{"patterns": ["a"], "command": "x {n}"}"#,
        "mail cmp | W:undeclared-parameter",
    ),
    (
        "a listed type",
        r#"{"patterns": ["a"], "command": "x {n}", "params": {"n": {"type": "array<integer>"}}}"#,
        "mail cmp",
    ),
    (
        "a type of this program only",
        r#"{"patterns": ["a"], "command": "x {n}", "params": {"n": {"type": "number"}}}"#,
        "mail cmp | W:unlisted-type",
    ),
    ("the home folder", r#"{"patterns": ["a"], "command": "~/bin/x --in $HOME/mail"}"#, "mail cmp"),
    (
        "another variable",
        r#"{"patterns": ["a"], "command": "x $USER"}"#,
        "mail cmp | W:shell-variable",
    ),
    ("a variable in quotes", r#"{"patterns": ["a"], "command": "x '$USER'"}"#, "mail cmp"),
    ("a regular expression", r#"{"patterns": ["re:^a.*b$"], "command": "x"}"#, "mail cmp"),
    (
        "one bad pattern of two",
        r#"{"patterns": ["re:(", "a"], "command": "x"}"#,
        "mail cmp | E:bad-pattern",
    ),
    (
        "a default of another type",
        r#"{"patterns": ["a"], "command": "x {n}", "params": {"n": {"type": "integer", "default": "many"}}}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:bad-default",
    ),
    (
        "an unknown type beside a good intent",
        r#"{"patterns": ["a"], "command": "x {n}", "params": {"n": {"type": "strng"}}}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:unknown-type",
    ),
    (
        "no command beside a good intent",
        r#"{"patterns": ["a"]}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:missing-key",
    ),
    (
        "a number as command beside a good intent",
        r#"{"patterns": ["a"], "command": 5}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:wrong-type",
    ),
    (
        "a text beside a good intent",
        r#""a", {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:wrong-type",
    ),
    (
        "a mistyped flag beside a good intent",
        r#"{"patterns": ["a"], "command": "x", "destructve": true}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:unknown-key",
    ),
    (
        "a pipe beside a good intent",
        r#"{"patterns": ["a"], "command": "x | y"}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:needs-shell",
    ),
    (
        "an open quote beside a good intent",
        r#"{"patterns": ["a"], "command": "x 'y"}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:bad-command",
    ),
    (
        "a value in a shell script",
        r#"{"patterns": ["a"], "command": "sh -c 'x {n}'"}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:shell-placeholder",
    ),
    (
        "a program that is a value",
        r#"{"patterns": ["a"], "command": "{n} x"}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:open-program",
    ),
    (
        "no patterns",
        r#"{"patterns": [], "command": "x"}, {"patterns": ["b"], "command": "y"}"#,
        "mail cmp | E:no-patterns",
    ),
    ("only a bad one", r#"{"patterns": ["a"], "command": "x | y"}"#, "- | E:needs-shell"),
    (
        "the same phrase twice",
        r#"{"patterns": ["a"], "command": "x"}, {"patterns": ["a"], "command": "y"}"#,
        "mail cmp",
    ),
    (
        "a loose flag",
        r#"{"patterns": ["a"], "command": "x -n {n}", "params": {"n": {"type": "integer"}}}"#,
        "mail cmp | W:loose-flag",
    ),
    ("none", "", "- | E:no-intents"),
];

fn with_intents(list: &str) -> Deck {
    cmp_tool(MANIFEST, &format!(r#"{{"intents": [{list}]}}"#))
}

#[test]
fn manifests() {
    check(&MANIFESTS, |text| cmp_tool(text, CAPABILITY));
}

#[test]
fn intents() {
    check(&INTENTS, with_intents);
}

#[test]
fn a_bad_intent_costs_itself_and_no_other() {
    for (name, list, outcome) in INTENTS {
        let deck = with_intents(list);
        let Some(definition) = deck.definitions.first() else { continue };
        let Backend::Cmp(tool) = &definition.backend else { panic!("{name}: {outcome}") };
        let names: Vec<&str> = tool.intents.keys().map(String::as_str).collect();
        let expected: &[&str] = match name {
            "the same phrase twice" => &["a", "a_2"],
            "a regular expression" => &["intent_1"],
            name if name.ends_with("beside a good intent") => &["b"],
            "a default of another type"
            | "a value in a shell script"
            | "a program that is a value"
            | "no patterns" => &["b"],
            _ => &["a"],
        };
        assert_eq!(names, expected, "{name}");
    }
}
