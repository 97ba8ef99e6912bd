//! Tests of scrubbing texts and streams.

use super::*;

fn scrubber(values: &[&str]) -> SecretScrubber {
    let secrets: Vec<Secret> = values.iter().map(|value| Secret::new(*value)).collect();
    SecretScrubber::new(&secrets)
}

#[test]
fn values_go_and_trivial_ones_stay() {
    let scrubber = scrubber(&["canary-1", "canary-1-longer", "1", "true", ""]);
    assert_eq!(
        scrubber.text("a canary-1 b canary-1-longer c 1 true"),
        "a [redacted] b [redacted] c 1 true"
    );
    assert!(matches!(scrubber.text("nothing here"), Cow::Borrowed(_)));
}

#[test]
fn escaped_forms_are_known() {
    let scrubber = scrubber(&["pass\"word/1"]);
    assert_eq!(scrubber.text(r#"{"a":"pass\"word/1"}"#), r#"{"a":"[redacted]"}"#);
    assert_eq!(scrubber.text("?p=pass%22word%2F1&q"), "?p=[redacted]&q");
}

#[test]
fn a_stream_gives_the_same_as_the_whole_text_however_it_is_cut() {
    let scrubber = scrubber(&["canary-1", "canary-1-longer", "aab-aab-aac"]);
    let text = "x canary-1 canary-1-longer canary- aab-aab-aab-aac aab-aab canary-1";
    let expected = "x [redacted] [redacted] canary- aab-[redacted] aab-aab [redacted]";
    assert_eq!(scrubber.text(text), expected);
    for size in 1..=text.len() {
        let mut stream = scrubber.stream();
        let mut passed = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            passed.extend(stream.push(chunk));
        }
        passed.extend(stream.finish());
        assert_eq!(String::from_utf8(passed).expect("text"), expected, "chunks of {size}");
    }
}

#[test]
fn an_empty_scrubber_passes_everything_at_once() {
    let mut stream = SecretScrubber::default().stream();
    assert_eq!(stream.push(b"abc"), b"abc");
    assert_eq!(stream.finish(), b"");
}

#[test]
fn debug_shows_no_value() {
    let mut stream = scrubber(&["canary-1"]).stream();
    stream.push(b"canary");
    let shown = format!("{:?} {stream:?}", scrubber(&["canary-1"]));
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn results_lose_secrets_only_and_logs_lose_all() {
    let substitutions = [
        ReferenceSubstitution {
            name: "ORG".into(),
            value: Secret::new("acme-inc"),
            sensitive: false,
        },
        ReferenceSubstitution {
            name: "TOKEN".into(),
            value: Secret::new("canary-1"),
            sensitive: true,
        },
    ];
    let text = "acme-inc canary-1";
    assert_eq!(SecretScrubber::of_sensitive(&substitutions).text(text), "acme-inc [redacted]");
    assert_eq!(SecretScrubber::of_all(&substitutions).text(text), "[redacted] [redacted]");
}
