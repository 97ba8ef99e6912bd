//! The timeouts of a server in the words of its client.

use serde_json::{Map, Value, json};

/// A bare number up to this is read as seconds: agents that count seconds allow an hour at most, and limits in
/// milliseconds are longer than four seconds.
const MAX_SECONDS: f64 = 3600.0;

/// Keys, what they bound, and how many milliseconds one of their units has. Where that is not known the number tells.
const TIMEOUTS: [(&str, &str, Option<f64>); 8] = [
    ("startup_timeout_sec", STARTUP, Some(1000.0)),
    ("startup_timeout_ms", STARTUP, Some(1.0)),
    ("tool_timeout_sec", CALL, Some(1000.0)),
    ("tool_timeout_ms", CALL, Some(1.0)),
    (STARTUP, STARTUP, Some(1.0)),
    (CALL, CALL, Some(1.0)),
    ("initTimeout", STARTUP, Some(1.0)),
    ("timeout", CALL, None),
];

const STARTUP: &str = "startupTimeoutMs";
const CALL: &str = "callTimeoutMs";

/// Takes a key that is a timeout. False for every other key, and for one whose value is no time.
///
/// `is_startup`: the client's bare `timeout` bounds the start of a server and not a call.
pub(super) fn take(
    key: &str,
    value: &Value,
    is_startup: bool,
    server: &mut Map<String, Value>,
) -> bool {
    let Some((_, field, unit)) = TIMEOUTS.iter().find(|(known, ..)| *known == key) else {
        return false;
    };
    let Some(number) = value.as_f64().filter(|number| *number > 0.0) else { return false };
    let unit = unit.unwrap_or(if number <= MAX_SECONDS { 1000.0 } else { 1.0 });
    let milliseconds = (number * unit).ceil();
    if milliseconds > f64::from(u32::MAX) {
        return false;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, positive and bounded"
    )]
    let milliseconds = milliseconds as u64;
    let field = if key == "timeout" && is_startup { STARTUP } else { field };
    server.insert(field.to_owned(), json!(milliseconds));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_becomes_milliseconds() {
        for (key, value, is_startup, expected) in [
            ("startup_timeout_sec", json!(20), false, json!({ "startupTimeoutMs": 20_000 })),
            ("startup_timeout_sec", json!(1.5), false, json!({ "startupTimeoutMs": 1500 })),
            ("startup_timeout_ms", json!(20), false, json!({ "startupTimeoutMs": 20 })),
            ("tool_timeout_sec", json!(60), false, json!({ "callTimeoutMs": 60_000 })),
            ("timeout", json!(300), false, json!({ "callTimeoutMs": 300_000 })),
            ("timeout", json!(600_000), false, json!({ "callTimeoutMs": 600_000 })),
            ("timeout", json!(15_000), true, json!({ "startupTimeoutMs": 15_000 })),
            ("timeout", json!(0), false, json!({})),
            ("timeout", json!("5s"), false, json!({})),
            ("timeout", json!(1e300), false, json!({})),
            ("timeouts", json!(5), false, json!({})),
        ] {
            let mut server = Map::new();
            let taken = take(key, &value, is_startup, &mut server);
            assert_eq!(Value::Object(server), expected, "{key} {value}");
            assert_eq!(taken, expected != json!({}), "{key} {value}");
        }
    }
}
