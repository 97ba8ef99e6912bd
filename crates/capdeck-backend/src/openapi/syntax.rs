//! The text of a description as a JSON value. JSON and YAML are both taken, whatever the file is called.

use serde_json::Value;

/// How deep a description may nest, about as deep as the JSON reader goes.
const MAX_DEPTH: usize = 120;

/// Reads a text. The error says where and why. Needs a large stack: the readers go down with the nesting.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_json {
        match serde_json::from_slice(bytes) {
            Ok(value) => return Ok(value),
            // YAML may start with a brace, too; its reader is only asked when it is not plainly broken JSON.
            Err(error) => {
                let yaml = std::str::from_utf8(bytes).ok().and_then(|text| parse_yaml(text).ok());
                return yaml.ok_or_else(|| format!("it is not valid JSON: {error}"));
            }
        }
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    parse_yaml(text).map_err(|error| format!("it is not valid YAML: {error}"))
}

fn parse_yaml(text: &str) -> Result<Value, String> {
    let length = text.len();
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            // No element is shorter than one character, so these only stop what aliases multiply.
            max_events: length.saturating_mul(2) + 1_000,
            max_nodes: length + 1_000,
            max_aliases: 100_000,
            max_anchors: 100_000,
            max_recorded_anchor_events: 1_000_000,
            max_total_scalar_bytes: length.saturating_mul(2) + 1_000,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000_000,
            max_replay_stack_depth: 16,
        },
        // `on`, `off`, `yes` and `no` are ordinary words in descriptions.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let told = error.to_string();
        told.lines().next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::large_stack::on_large_stack;

    #[test]
    fn both_syntaxes_give_the_same_value() {
        let expected = json!({"a": ["on", "no", 1, 1.5, true, null], "200": {"b": "x"}});
        for text in [
            r#"{"a": ["on", "no", 1, 1.5, true, null], "200": {"b": "x"}}"#,
            "\u{feff}{\"a\": [\"on\", \"no\", 1, 1.5, true, null], \"200\": {\"b\": \"x\"}}",
            "a: [on, no, 1, 1.5, true, null]\n200:\n  b: x\n",
            "# note\n---\na: [on, no, 1, 1.5, true, ~]\n'200': &here\n  b: x\n",
            "{a: [on, no, 1, 1.5, true, null], '200': {b: x}}",
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(expected.clone()), "{text}");
        }
    }

    #[test]
    fn broken_and_hostile_text_is_told() {
        let deep_json = "{\"a\":".repeat(5_000);
        let deep_yaml = "- ".repeat(5_000);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", alias.trim_end_matches(", ")));
        }
        for (text, expected) in [
            (r#"{"a": 1,}x"#.as_bytes(), "it is not valid JSON: "),
            (deep_json.as_bytes(), "it is not valid JSON: "),
            (deep_yaml.as_bytes(), "it is not valid YAML: "),
            (bomb.as_bytes(), "it is not valid YAML: "),
            (b"a: [1\nb: 2", "it is not valid YAML: "),
            (b"\xff\xfe\x00", "it is not UTF-8 text"),
        ] {
            let told = on_large_stack(|| parse(text)).unwrap().unwrap_err();
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.contains('\n'), "{told}");
        }
    }
}
