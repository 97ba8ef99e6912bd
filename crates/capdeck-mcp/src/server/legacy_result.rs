//! Removes modern members from a result for a legacy client, when a modern server or another host answered.

use serde_json::value::RawValue;

use crate::{RawObject, raw, request_meta::SERVER_INFO};

const MODERN_RESULT_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Returns the result in the legacy form. One without a type is returned unparsed.
pub(super) fn legacy_result(result: Box<RawValue>) -> Box<RawValue> {
    if !result.get().contains(r#""resultType""#) {
        return result;
    }
    let Ok(mut members) = serde_json::from_str::<RawObject>(result.get()) else { return result };
    if members.get("resultType").is_none_or(|kind| kind.get() != r#""complete""#) {
        return result;
    }
    members.retain(|name, _| !MODERN_RESULT_MEMBERS.contains(&name.as_str()));
    if let Some(mut meta) = raw::object_member(&members, "_meta")
        && meta.shift_remove(SERVER_INFO).is_some()
    {
        match meta.is_empty() {
            true => members.shift_remove("_meta"),
            false => members.insert("_meta".to_owned(), raw::raw(&meta)),
        };
    }
    raw::raw(&members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        legacy_result(RawValue::from_string(text.to_owned()).unwrap()).get().to_owned()
    }

    #[test]
    fn what_the_modern_era_adds_is_taken_away() {
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"s"}"#;
        assert_eq!(
            shown(&format!(
                r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{{{info}}},"tools":[1.0]}}"#
            )),
            r#"{"tools":[1.0]}"#
        );
        assert_eq!(
            shown(&format!(
                r#"{{"content":[],"resultType":"complete","_meta":{{{info},"own":1}}}}"#
            )),
            r#"{"content":[],"_meta":{"own":1}}"#
        );
    }

    #[test]
    fn everything_else_is_the_same_text() {
        for text in [
            r#"{ "content": [ {"text": "resultType"} ] }"#,
            r#"{ "content": [ {"resultType": "complete"} ], "ttlMs": 1 }"#,
            r#"{ "resultType": "mine", "ttlMs": 1 }"#,
            r#"[ "resultType" ]"#,
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
