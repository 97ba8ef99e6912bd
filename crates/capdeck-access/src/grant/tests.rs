use proptest::{prelude::*, sample::select};

use super::*;

fn capsule(role: Role, allowed: &[&str], denied: &[&str]) -> GrantTarget {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    GrantTarget::Capsule {
        capsule: "cap_a".to_owned(),
        role,
        uri_prefixes: list(allowed),
        denied_prefixes: list(denied),
    }
}

fn deck(capabilities: &[&str], tools: &[&str], denied: &[&str], modes: &[&str]) -> GrantTarget {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    GrantTarget::Deck(DeckGrant {
        capabilities: list(capabilities),
        tools: list(tools),
        denied_tools: list(denied),
        modes: list(modes),
    })
}

#[test]
fn item_20_a_narrower_part_is_within_and_a_wider_one_is_not() {
    let whole = capsule(Role::Writer, &[], &[]);
    let docs = capsule(Role::Writer, &["docs://"], &["docs://secret"]);
    for (inner, outer, expected) in [
        (&capsule(Role::Reader, &[], &[]), &whole, true),
        (&capsule(Role::Owner, &[], &[]), &whole, false),
        (&docs, &whole, true),
        (&whole, &docs, false),
        (&capsule(Role::Writer, &["docs://team"], &[]), &docs, true),
        (&capsule(Role::Writer, &["docs://"], &[]), &docs, false),
        (&capsule(Role::Writer, &["docs://secret/a"], &[]), &docs, false),
        (&capsule(Role::Writer, &["docs://se*"], &["docs://secret"]), &docs, true),
        (&capsule(Role::Writer, &["docs://se*"], &["docs://secret/a"]), &docs, false),
        (&capsule(Role::Writer, &["docs://", "notes://"], &["docs://secret"]), &docs, false),
        (&capsule(Role::Writer, &[], &["notes://"]), &docs, false),
        (&GrantTarget::whole_deck(), &whole, false),
        (&whole, &GrantTarget::whole_deck(), false),
        (&GrantTarget::capsule("cap_b", Role::Reader), &whole, false),
    ] {
        assert_eq!(inner.is_within(outer), expected, "{inner:?}\n{outer:?}");
    }
}

#[test]
fn item_20_a_part_of_the_deck_is_within_by_every_one_of_its_lists() {
    let outer = deck(&["git*"], &["git*/read_*"], &["*/read_secret"], &["search"]);
    for (inner, expected) in [
        (deck(&["github"], &["github/read_*"], &["*/read_secret"], &["search"]), true),
        (deck(&["github"], &["github/read_file"], &["*"], &["search"]), true),
        (deck(&["*"], &["github/read_*"], &["*/read_secret"], &["search"]), false),
        (deck(&["github"], &[], &["*/read_secret"], &["search"]), false),
        (deck(&["github"], &["github/*"], &["*/read_secret"], &["search"]), false),
        (deck(&["github"], &["github/read_*"], &[], &["search"]), false),
        (deck(&["github"], &["github/read_*"], &["*/read_secret"], &[]), false),
        (deck(&["github"], &["github/read_*"], &["*/read_secret"], &["direct"]), false),
    ] {
        assert_eq!(inner.is_within(&outer), expected, "{inner:?}");
    }
    assert!(outer.is_within(&GrantTarget::whole_deck()));
}

#[test]
fn what_is_no_target_is_refused() {
    for wrong in [
        GrantTarget::capsule("", Role::Reader),
        GrantTarget::capsule("a\nb", Role::Reader),
        capsule(Role::Reader, &["docs"], &[]),
        capsule(Role::Reader, &[], &["docs://../x"]),
        capsule(Role::Reader, &["docs://"; 201], &[]),
        deck(&[], &[], &[], &[]),
        deck(&[""], &[], &[], &[]),
        deck(&["*"], &["a b"], &[], &[]),
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
    assert!(GrantTarget::whole_deck().check().is_ok());
}

#[test]
fn a_target_is_written_with_its_type_and_nothing_unknown_is_skipped() {
    let target = capsule(Role::Appender, &["docs://"], &[]);
    let text = serde_json::to_string(&target).unwrap();
    assert_eq!(
        text,
        r#"{"type":"capsule","capsule":"cap_a","role":"appender","uri_prefixes":["docs://"],"denied_prefixes":[]}"#
    );
    assert_eq!(serde_json::from_str::<GrantTarget>(&text).unwrap(), target);
    let later = text.replace("denied_prefixes", "forbidden_prefixes");
    assert!(serde_json::from_str::<GrantTarget>(&later).is_err());
}

/// Whether an entry is reached, the obvious way.
fn reaches(target: &GrantTarget, uri: &str) -> bool {
    let GrantTarget::Capsule { uri_prefixes, denied_prefixes, .. } = target else { return false };
    let covers = |prefix: &String| match prefix.strip_suffix('*') {
        Some(start) => uri.starts_with(start),
        None if prefix.ends_with("://") => uri.starts_with(prefix),
        None => uri == prefix || uri.starts_with(&format!("{prefix}/")),
    };
    (uri_prefixes.is_empty() || uri_prefixes.iter().any(covers))
        && !denied_prefixes.iter().any(covers)
}

const PREFIXES: [&str; 9] = [
    "docs://",
    "docs://a",
    "docs://a/b",
    "docs://a*",
    "docs://ab",
    "docs://a/*",
    "notes://",
    "docs://*",
    "notes://a",
];
const ENTRIES: [&str; 8] = [
    "docs://a",
    "docs://a/b",
    "docs://a/b/c",
    "docs://ab",
    "docs://ab/c",
    "docs://b",
    "notes://a",
    "notes://b",
];

fn any_capsule() -> impl Strategy<Value = GrantTarget> {
    let list = || prop::collection::vec(select(&PREFIXES[..]), 0..4);
    let role = select(&[Role::Reader, Role::Appender, Role::Writer, Role::Owner][..]);
    (role, list(), list()).prop_map(|(role, allowed, denied)| capsule(role, &allowed, &denied))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn item_20_what_is_within_never_reaches_more(inner in any_capsule(), outer in any_capsule()) {
        if inner.is_within(&outer) {
            prop_assert!(inner.role() <= outer.role());
            for entry in ENTRIES {
                prop_assert!(!reaches(&inner, entry) || reaches(&outer, entry), "{}", entry);
            }
        }
    }

    #[test]
    fn everything_is_within_itself(target in any_capsule()) {
        prop_assert!(target.is_within(&target));
    }
}
