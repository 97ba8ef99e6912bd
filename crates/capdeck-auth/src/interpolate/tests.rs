//! References and what becomes of them, as tables.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;

fn environment() -> Environment {
    [
        ("NAME", "value"),
        ("_UNDER_9", "under"),
        ("EMPTY", ""),
        ("GH_TOKEN", "ghp_canary"),
        ("NESTED", "${NAME} $env:NAME $vault:X"),
        ("ORG", "acme-industries"),
    ]
    .into_iter()
    .collect()
}

fn resolved(text: &str) -> String {
    resolve_text(text, &environment()).expect(text).text
}

#[test]
fn references_are_replaced_and_lookalikes_are_not() {
    for (text, expected) in [
        ("plain", "plain"),
        ("", ""),
        ("${NAME}", "value"),
        ("$env:NAME", "value"),
        ("a${NAME}b$env:NAME-c", "avaluebvalue-c"),
        ("${NAME}${NAME}", "valuevalue"),
        ("${_UNDER_9}", "under"),
        ("$env:_UNDER_9/x", "under/x"),
        ("${EMPTY}", ""),
        ("${NAME:-fallback}", "value"),
        ("${EMPTY:-fallback}", "fallback"),
        ("${UNSET:-fallback}", "fallback"),
        ("${UNSET:-}", ""),
        ("${UNSET:-http://localhost:1/x}", "http://localhost:1/x"),
        ("${UNSET:-${NAME}}", "${NAME}"),
        ("${NESTED}", "${NAME} $env:NAME $vault:X"),
        ("$NAME", "$NAME"),
        ("$5 and ${", "$5 and ${"),
        ("${}", "${}"),
        ("${a b}", "${a b}"),
        ("${9X}", "${9X}"),
        ("${NAME", "${NAME"),
        ("${NAME-x}", "${NAME-x}"),
        ("$env:", "$env:"),
        ("$env:9", "$env:9"),
        ("${vault:}", "${vault:}"),
        ("$vault:", "$vault:"),
        ("$$env:NAME", "$value"),
        ("$input.name", "$input.name"),
        ("é${NAME}é", "évalueé"),
    ] {
        assert_eq!(resolved(text), expected, "{text}");
    }
}

#[test]
fn what_is_missing_is_named_with_the_next_step() {
    let unresolved = resolve_text("$env:NOPE ${ALSO} $vault:MY-KEY.x ${vault:K}", &environment())
        .expect_err("nothing is set");
    let told: Vec<_> = unresolved
        .iter()
        .map(|one| (one.reference.as_str(), one.to_string(), one.hint()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "$env:NOPE",
                "environment variable `NOPE` is not set".to_owned(),
                "set it where capdeck is started, for example `export NOPE=…`".to_owned()
            ),
            (
                "${ALSO}",
                "environment variable `ALSO` is not set".to_owned(),
                "set it where capdeck is started, for example `export ALSO=…`".to_owned()
            ),
            (
                "$vault:MY-KEY",
                "vault entry `MY-KEY` cannot be read: the vault is not available in this version"
                    .to_owned(),
                "use `$env:MY-KEY`".to_owned()
            ),
            (
                "${vault:K}",
                "vault entry `K` cannot be read: the vault is not available in this version"
                    .to_owned(),
                "use `$env:K`".to_owned()
            ),
        ]
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Block {
    args: Vec<String>,
    auth: Value,
    body: Value,
}

#[test]
fn every_string_at_any_depth_is_resolved_but_no_key() {
    let block = Block {
        args: vec!["--org=$env:ORG".to_owned()],
        auth: json!({"token": "${NAME}"}),
        body: json!({"${NAME}": [{"deep": "$env:GH_TOKEN"}, 1, null, true]}),
    };
    let resolved = resolve_value(&block, &environment()).expect("all are set");
    assert_eq!(
        resolved.value,
        Block {
            args: vec!["--org=acme-industries".to_owned()],
            auth: json!({"token": "value"}),
            body: json!({"${NAME}": [{"deep": "ghp_canary"}, 1, null, true]}),
        }
    );
    let told: Vec<_> =
        resolved.substitutions.iter().map(|one| (one.name.as_str(), one.sensitive)).collect();
    // `NAME` counts as a secret here because it stands inside `auth`.
    assert_eq!(told, [("ORG", false), ("NAME", true), ("GH_TOKEN", true)]);
    assert!(!format!("{:?}", resolved.substitutions).contains("ghp_canary"));
}

#[test]
fn all_failures_of_a_block_come_at_once_with_their_place() {
    let block = Block {
        args: vec!["$env:FIRST".to_owned()],
        auth: json!({"token": "$vault:SECOND"}),
        body: json!({"a": ["${THIRD}"]}),
    };
    let error = resolve_value(&block, &environment()).expect_err("nothing is set");
    let ResolveError::Unresolved { unresolved } = &error else { panic!("{error}") };
    let places: Vec<_> = unresolved.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["args.0", "auth.token", "body.a.0"]);
    assert_eq!(
        error.to_string(),
        "environment variable `FIRST` is not set; vault entry `SECOND` cannot be read: the vault is \
         not available in this version; environment variable `THIRD` is not set"
    );
}

#[test]
fn a_lone_reference_is_recognised_without_an_environment() {
    assert!(has_reference("https://$env:HOST/x"));
    assert!(!has_reference("https://example.com/$x"));
}

#[test]
fn references_are_named_without_being_looked_up() {
    let block = serde_json::json!({
        "baseUrl": "${ELSEWHERE}",
        "auth": {"headers": {
            "A": "Token ${ONE}", "B": "$env:ONE", "C": "$vault:TWO", "D": ["${THREE:-3}", 7, null],
        }},
    });
    let variable = |name: &str| Reference::Variable { name: name.to_owned() };
    let vault = Reference::Vault { name: "TWO".to_owned() };
    assert_eq!(references(&block, "auth"), [variable("ONE"), vault, variable("THREE")]);
    assert_eq!(references(&block, "none"), []);
}
