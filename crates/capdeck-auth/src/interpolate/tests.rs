//! Tables of references and their results.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::{KeySettings, VaultGrant};

fn environment() -> EnvironmentSnapshot {
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
    resolve_text(text, ReferenceLookup::of_environment(&environment())).expect(text).text
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
    let text = "$env:NOPE ${ALSO} $vault:MY-KEY.x ${vault:K}";
    let unresolved = resolve_text(text, ReferenceLookup::of_environment(&environment()))
        .expect_err("nothing is set");
    let reported: Vec<_> = unresolved
        .iter()
        .map(|one| (one.reference.as_str(), one.to_string(), one.hint()))
        .collect();
    assert_eq!(
        reported,
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
                "vault entry `MY-KEY` cannot be read: there is no vault here".to_owned(),
                "use `$env:MY-KEY`".to_owned()
            ),
            (
                "${vault:K}",
                "vault entry `K` cannot be read: there is no vault here".to_owned(),
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
    let resolved = resolve_value(&block, ReferenceLookup::of_environment(&environment()))
        .expect("all are set");
    assert_eq!(
        resolved.value,
        Block {
            args: vec!["--org=acme-industries".to_owned()],
            auth: json!({"token": "value"}),
            body: json!({"${NAME}": [{"deep": "ghp_canary"}, 1, null, true]}),
        }
    );
    let reported: Vec<_> =
        resolved.substitutions.iter().map(|one| (one.name.as_str(), one.sensitive)).collect();
    // `NAME` counts as a secret because it is inside `auth`.
    assert_eq!(reported, [("ORG", false), ("NAME", true), ("GH_TOKEN", true)]);
    assert!(!format!("{:?}", resolved.substitutions).contains("ghp_canary"));
}

#[test]
fn all_failures_of_a_block_come_at_once_with_their_place() {
    let block = Block {
        args: vec!["$env:FIRST".to_owned()],
        auth: json!({"token": "$vault:SECOND"}),
        body: json!({"a": ["${THIRD}"]}),
    };
    let error = resolve_value(&block, ReferenceLookup::of_environment(&environment()))
        .expect_err("nothing is set");
    let ResolveError::Unresolved { unresolved } = &error else { panic!("{error}") };
    let places: Vec<_> = unresolved.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["args.0", "auth.token", "body.a.0"]);
    assert_eq!(
        error.to_string(),
        "environment variable `FIRST` is not set; vault entry `SECOND` cannot be read: there is no \
         vault here; environment variable `THIRD` is not set"
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
    let variable = |name: &str| ReferenceTarget::Variable { name: name.to_owned() };
    let vault = ReferenceTarget::Vault { name: "TWO".to_owned() };
    assert_eq!(references(&block, "auth"), [variable("ONE"), vault, variable("THREE")]);
    assert_eq!(references(&block, "none"), []);
}

#[test]
fn vault_entries_are_put_in_for_whom_they_are_granted_to_and_always_secret() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path(), KeySettings::default());
    let holder = VaultHolder::new("github", "user-file", std::path::Path::new("/deck/github.md"));
    vault.set("STORED", &Secret::new("canary-$env:NAME-${vault:STORED}")).unwrap();
    let grant = |reference: &str| VaultGrant {
        holder: holder.clone(),
        reference: reference.to_owned(),
        entry: "STORED".to_owned(),
    };
    vault.grant(grant("STORED")).unwrap();
    vault.grant(grant("my-key")).unwrap();
    let environment = environment();
    let lookup = ReferenceLookup::new(&environment, &vault, &holder);
    let block = Block {
        args: vec!["a=$vault:STORED,b=${vault:my-key}!".to_owned()],
        auth: json!(null),
        body: json!({"plain": "$vault:STORED and $env:ORG"}),
    };
    let resolved = resolve_value(&block, lookup).expect("all are granted");
    // A replaced value is not searched again.
    let value = "canary-$env:NAME-${vault:STORED}";
    assert_eq!(resolved.value.args, [format!("a={value},b={value}!")]);
    assert_eq!(resolved.value.body["plain"], json!(format!("{value} and acme-industries")));
    let reported: Vec<_> =
        resolved.substitutions.iter().map(|one| (one.name.as_str(), one.sensitive)).collect();
    assert_eq!(reported, [("STORED", true), ("my-key", true), ("ORG", false)]);

    // The owner's settings need no grant.
    let own = ReferenceLookup::of_owner(&environment, &vault);
    assert_eq!(resolve_text("$vault:STORED", own).expect("it is there").text, value);
    let gone = resolve_text("$vault:GONE", own).expect_err("it is not there");
    assert_eq!(
        (gone[0].code(), gone[0].hint().as_str()),
        ("missing", "run: capdeck vault set GONE")
    );

    let other = VaultHolder { path: "/project/github.md".to_owned(), ..holder.clone() };
    let missed = resolve_text(
        "$vault:STORED $vault:gone",
        ReferenceLookup::new(&environment, &vault, &other),
    )
    .expect_err("nothing is granted");
    let reported: Vec<_> =
        missed.iter().map(|one| (one.code(), one.to_string(), one.hint())).collect();
    assert_eq!(
        reported,
        [
            (
                "ungranted",
                "`github` in `/project/github.md` may not read vault entry `STORED`".to_owned(),
                "run: capdeck vault grant github STORED".to_owned()
            ),
            (
                "missing",
                "there is no vault entry for `gone`".to_owned(),
                "run: capdeck vault set GONE --grant github --as gone".to_owned()
            ),
        ]
    );
}
