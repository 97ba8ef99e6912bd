//! Repairs lists of servers that break the protocol: clients parse a list as a whole, so one
//! invalid row would cost them every tool. Valid and unknown members remain byte for byte.

use capdeck_catalog::RawMembers;
use serde_json::value::{RawValue, to_raw_value};

/// The first character of a member's JSON by its type in the protocol. The same in every kind of
/// list.
const FIELD_STARTS: [(&str, char); 8] = [
    ("title", '"'),
    ("description", '"'),
    ("mimeType", '"'),
    ("annotations", '{'),
    ("execution", '{'),
    ("_meta", '{'),
    ("icons", '['),
    ("arguments", '['),
];

/// Omits the members of a row whose type breaks the protocol, such as a `null`.
pub(super) fn drop_invalid_fields(row: &mut RawMembers) {
    row.retain(|key, value| {
        let start = FIELD_STARTS.iter().find(|(known, _)| known == key);
        start.is_none_or(|(_, start)| value.get().starts_with(*start))
    });
}

/// The same for a tool, whose input schema must describe an object.
pub(super) fn repair_tool(tool: &mut RawMembers) {
    drop_invalid_fields(tool);
    match tool.get("inputSchema").map(|schema| repair_schema(schema)) {
        Some(None) => {}
        Some(Some(schema)) => drop(tool.insert("inputSchema".to_owned(), schema)),
        None => drop(tool.insert("inputSchema".to_owned(), any_object())),
    }
    if tool.get("outputSchema").is_some_and(|schema| !schema.get().starts_with('{')) {
        tool.shift_remove("outputSchema");
    }
}

/// A replacement for a schema that clients reject. `None` when it is valid.
fn repair_schema(schema: &RawValue) -> Option<Box<RawValue>> {
    let Ok(mut members) = serde_json::from_str::<RawMembers>(schema.get()) else {
        return Some(any_object());
    };
    let mut is_changed = false;
    if members.get("type").is_none_or(|kind| kind.get() != r#""object""#) {
        members.insert("type".to_owned(), to_raw_value("object").ok()?);
        is_changed = true;
    }
    if let Some(properties) = members.get("properties") {
        match serde_json::from_str::<RawMembers>(properties.get()) {
            Err(_) => {
                members.shift_remove("properties");
                is_changed = true;
            }
            Ok(mut properties) => {
                let unlawful = properties.values_mut().filter(|one| !one.get().starts_with('{'));
                let mut count = 0;
                for property in unlawful {
                    // `true` and `false` are schemas, too, only not in the protocol.
                    let same = if property.get() == "false" { r#"{"not":{}}"# } else { "{}" };
                    *property = RawValue::from_string(same.to_owned()).ok()?;
                    count += 1;
                }
                if count > 0 {
                    members.insert("properties".to_owned(), to_raw_value(&properties).ok()?);
                    is_changed = true;
                }
            }
        }
    }
    let required = members.get("required");
    if required.is_some_and(|names| serde_json::from_str::<Vec<String>>(names.get()).is_err()) {
        members.shift_remove("required");
        is_changed = true;
    }
    is_changed.then(|| to_raw_value(&members).ok()).flatten()
}

fn any_object() -> Box<RawValue> {
    RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: &str, listed: &str) {
        let mut tool: RawMembers = serde_json::from_str(sent).unwrap();
        repair_tool(&mut tool);
        assert_eq!(serde_json::to_string(&tool).unwrap(), listed);
    }

    #[test]
    fn a_sound_tool_stays_as_it_is() {
        let sound = r#"{"name":"t","x":null,"inputSchema":{"type":"object","properties":{"a":{"const":1.0}},"required":["a"],"$defs":{"x":true}},"outputSchema":{"type":"array"}}"#;
        check(sound, sound);
    }

    #[test]
    fn a_schema_is_that_of_an_object() {
        for (sent, listed) in [
            (r#""x":1"#, r#""x":1,"inputSchema":{"type":"object"}"#),
            (r#""inputSchema":null"#, r#""inputSchema":{"type":"object"}"#),
            (r#""inputSchema":{}"#, r#""inputSchema":{"type":"object"}"#),
            (r#""inputSchema":{"type":"string"}"#, r#""inputSchema":{"type":"object"}"#),
            (
                r#""inputSchema":{"properties":{"a":true,"b":false,"c":5,"d":{}}}"#,
                r#""inputSchema":{"properties":{"a":{},"b":{"not":{}},"c":{},"d":{}},"type":"object"}"#,
            ),
            (
                r#""inputSchema":{"type":["object","null"],"properties":[1],"required":true,"x":1.0}"#,
                r#""inputSchema":{"type":"object","x":1.0}"#,
            ),
        ] {
            check(&format!(r#"{{"name":"t",{sent}}}"#), &format!(r#"{{"name":"t",{listed}}}"#));
        }
    }

    #[test]
    fn members_of_the_wrong_kind_are_left_out() {
        check(
            r#"{"name":"t","title":null,"description":7,"annotations":null,"_meta":[],"icons":{},"outputSchema":true,"inputSchema":{"type":"object"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object"}}"#,
        );
    }
}
