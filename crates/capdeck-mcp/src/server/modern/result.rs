//! Completes a result for the modern era without rewriting its text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request_meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::{RawObject, RequestId, raw::present};

/// Only the sender of the request may cache the result.
const PRIVATE: &str = r#""private""#;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    ttl_ms: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    cache_scope: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) input_requests: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    is_error: Option<&'a RawValue>,
}

#[derive(Default)]
pub(super) struct ResultAdditions<'a> {
    pub(super) caching: bool,
    /// True for a known principal: no shared cache may store the result, even if it says otherwise.
    pub(super) is_personal: bool,
    pub(super) server_info: Option<&'a RawValue>,
    pub(super) subscription: Option<&'a RequestId>,
    pub(super) request_state: Option<&'a RawValue>,
}

impl<'a> ResultEnvelope<'a> {
    /// Parses a result. `None` when it is not an object or has a duplicate member.
    pub(super) fn read(result: &'a RawValue) -> Option<Self> {
        if !result.get().starts_with('{') {
            return None;
        }
        serde_json::from_str(result.get()).ok()
    }

    pub(super) fn is_input_required(&self) -> bool {
        self.result_type.is_some_and(|kind| kind.get() == r#""input_required""#)
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_error.is_some_and(|truth| truth.get() == "true")
    }

    /// Returns the completed result. A complete one is returned unchanged.
    pub(super) fn complete(
        &self,
        result: &'a RawValue,
        additions: &ResultAdditions<'_>,
    ) -> Cow<'a, str> {
        let text = result.get();
        let mut head = Vec::new();
        if self.result_type.is_none() {
            head.push(r#""resultType":"complete""#.to_owned());
        }
        if additions.caching && !self.is_input_required() {
            if self.ttl_ms.is_none() {
                head.push(r#""ttlMs":0"#.to_owned());
            }
            if self.cache_scope.is_none() {
                head.push(format!(r#""cacheScope":{PRIVATE}"#));
            }
        }
        let mut edits = Vec::new();
        if let Some(scope) = self.cache_scope.filter(|_| additions.caching && additions.is_personal)
            && scope.get() != PRIVATE
        {
            let start = offset(text, scope);
            edits.push(TextEdit {
                start,
                end: start + scope.get().len(),
                text: PRIVATE.to_owned(),
            });
        }
        self.complete_meta(text, additions, &mut head, &mut edits);
        if !head.is_empty() {
            edits.push(TextEdit::members(text, 0, &head));
        }
        if let (Some(old), Some(new)) = (self.request_state, additions.request_state) {
            let start = offset(text, old);
            edits.push(TextEdit {
                start,
                end: start + old.get().len(),
                text: new.get().to_owned(),
            });
        }
        apply(text, edits)
    }

    fn complete_meta(
        &self,
        text: &str,
        additions: &ResultAdditions<'_>,
        head: &mut Vec<String>,
        edits: &mut Vec<TextEdit>,
    ) {
        let members: Option<RawObject> = match self.meta {
            None => Some(RawObject::new()),
            Some(meta) => serde_json::from_str(meta.get()).ok(),
        };
        // A `_meta` that is not an object stays as it is.
        let Some(members) = members else { return };
        let mut missing = Vec::new();
        if let Some(info) = additions.server_info
            && !members.contains_key(SERVER_INFO)
        {
            missing.push(format!("\"{SERVER_INFO}\":{}", info.get()));
        }
        if let Some(id) = additions.subscription
            && !members.contains_key(SUBSCRIPTION_ID)
        {
            missing.push(format!("\"{SUBSCRIPTION_ID}\":{}", crate::raw::raw(id).get()));
        }
        match self.meta {
            _ if missing.is_empty() => {}
            None => head.push(format!("\"_meta\":{{{}}}", missing.join(","))),
            Some(meta) => edits.push(TextEdit::members(text, offset(text, meta), &missing)),
        }
    }
}

struct TextEdit {
    start: usize,
    end: usize,
    text: String,
}

impl TextEdit {
    fn members(text: &str, brace: usize, members: &[String]) -> Self {
        let start = brace + 1;
        let rest = text.get(start..).unwrap_or_default();
        let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
        Self { start, end: start, text: format!("{}{comma}", members.join(",")) }
    }
}

fn offset(text: &str, part: &RawValue) -> usize {
    (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

fn apply(text: &str, mut edits: Vec<TextEdit>) -> Cow<'_, str> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    edits.sort_by_key(|edit| edit.start);
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut result = String::with_capacity(text.len() + added);
    let mut position = 0;
    for edit in edits {
        result.push_str(text.get(position..edit.start).unwrap_or_default());
        result.push_str(&edit.text);
        position = edit.end;
    }
    result.push_str(text.get(position..).unwrap_or_default());
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str, additions: &ResultAdditions<'_>) -> String {
        let result = RawValue::from_string(text.to_owned()).unwrap();
        let envelope = ResultEnvelope::read(&result).unwrap();
        let completed = envelope.complete(&result, additions).into_owned();
        serde_json::from_str::<&RawValue>(&completed).unwrap();
        completed
    }

    #[test]
    fn what_is_missing_is_put_in_front_and_the_rest_stays_as_written() {
        let info = crate::raw::raw(&serde_json::json!({"name": "s"}));
        let id = RequestId::from(7);
        let all = ResultAdditions {
            caching: true,
            server_info: Some(&info),
            ..ResultAdditions::default()
        };
        assert_eq!(
            complete(r#"{ "x": 1.0 }"#, &all),
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}, "x": 1.0 }"#
        );
        assert_eq!(complete("{ }", &ResultAdditions::default()), r#"{"resultType":"complete" }"#);
        let tagged = ResultAdditions {
            server_info: Some(&info),
            subscription: Some(&id),
            ..ResultAdditions::default()
        };
        assert_eq!(
            complete(r#"{"resultType":"complete","_meta":{ "a":1}}"#, &tagged),
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"io.modelcontextprotocol/subscriptionId":7, "a":1}}"#
        );
        assert_eq!(
            complete(
                r#"{"_meta":{}}"#,
                &ResultAdditions { server_info: Some(&info), ..ResultAdditions::default() }
            ),
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#
        );
    }

    #[test]
    fn a_result_that_has_everything_is_the_same_text() {
        let info = crate::raw::raw("ours");
        let additions = ResultAdditions {
            caching: true,
            server_info: Some(&info),
            ..ResultAdditions::default()
        };
        for text in [
            r#"{"tools":[ ], "resultType":"complete","ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":1}}"#,
            r#"{"resultType":"task","ttlMs":null,"cacheScope":"odd","_meta":"odd"}"#,
        ] {
            assert_eq!(complete(text, &additions), text);
        }
        let text = r#"{"resultType":"input_required","_meta":null}"#;
        assert_eq!(complete(text, &additions), text);
    }

    #[test]
    fn what_was_made_for_one_client_is_kept_for_no_other() {
        let additions =
            ResultAdditions { caching: true, is_personal: true, ..ResultAdditions::default() };
        for (said, kept) in [("\"public\"", PRIVATE), (PRIVATE, PRIVATE), ("7", PRIVATE)] {
            let text = |scope: &str| {
                format!(
                    r#"{{"tools":[ ],"resultType":"complete","ttlMs":5,"cacheScope": {scope} }}"#
                )
            };
            assert_eq!(complete(&text(said), &additions), text(kept));
        }
    }

    #[test]
    fn a_state_is_replaced_where_it_stands() {
        let sealed = crate::raw::raw("sealed");
        let additions =
            ResultAdditions { request_state: Some(&sealed), ..ResultAdditions::default() };
        assert_eq!(
            complete(r#"{"resultType":"input_required","requestState": "own" ,"x":1}"#, &additions),
            r#"{"resultType":"input_required","requestState": "sealed" ,"x":1}"#
        );
    }

    #[test]
    fn what_is_no_plain_object_is_left_alone() {
        for odd in ["[]", "null", r#"{"resultType":1,"resultType":2}"#] {
            assert!(
                ResultEnvelope::read(&RawValue::from_string(odd.to_owned()).unwrap()).is_none()
            );
        }
    }
}
