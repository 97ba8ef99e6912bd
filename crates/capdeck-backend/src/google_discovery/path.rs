//! Path templates: `users/{userId}` and `v1/{+name}:cancel`.

use serde_json::{Map, Value};

use crate::{CallError, ErrorCode, arguments::scalar_text, http::encode_segment};

/// The names in a template.
pub(super) fn placeholders(template: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("its path has a `{` without `}`")?;
        names.push(name.trim_start_matches('+'));
        rest = after;
    }
    Ok(names)
}

/// Fills a template in. The outcome starts with `/`.
pub(super) fn fill(template: &str, values: &Map<String, Value>) -> Result<String, CallError> {
    let mut filled = String::from("/");
    let mut rest = template.trim_start_matches('/');
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        let keeps_slashes = name.starts_with('+');
        let name = name.trim_start_matches('+');
        let value = values.get(name).and_then(scalar_text).filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| {
            CallError::new(
                ErrorCode::RequestInvalid,
                format!("`path.{name}` must be a non-empty string, number or boolean"),
            )
            .hint(format!("call the tool with a value for `path.{name}`"))
        })?;
        if value.split(['/', '\\']).any(|segment| matches!(segment, "." | "..")) {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("`path.{name}` has a `.` or `..` segment, which could lead elsewhere"),
            )
            .hint("use the name of the resource as the API gives it"));
        }
        if keeps_slashes {
            let segments = value.split('/').map(|segment| encode_segment(segment).to_string());
            filled.push_str(&segments.collect::<Vec<_>>().join("/"));
        } else {
            filled.extend(encode_segment(&value));
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, values: Value) -> Result<String, String> {
        let Value::Object(values) = values else { unreachable!("values are an object") };
        fill(template, &values).map_err(|error| error.message)
    }

    #[test]
    fn values_stay_where_they_are_put() {
        for (template, values, expected) in [
            ("files", json!({}), "/files"),
            ("/files", json!({}), "/files"),
            ("users/{userId}/x", json!({"userId": "me"}), "/users/me/x"),
            ("users/{userId}", json!({"userId": "a/b c?#"}), "/users/a%2Fb%20c%3F%23"),
            ("v1/{+name}:cancel", json!({"name": "projects/p 1/x"}), "/v1/projects/p%201/x:cancel"),
            ("v1/{+name}", json!({"name": "a?b#c"}), "/v1/a%3Fb%23c"),
            ("x/{n}/{m}", json!({"n": 7, "m": true}), "/x/7/true"),
        ] {
            assert_eq!(filled(template, values).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for (template, values, reason) in [
            ("x/{n}", json!({"n": ".."}), "`.` or `..` segment"),
            ("x/{+n}", json!({"n": "a/../../b"}), "`.` or `..` segment"),
            ("x/{n}", json!({"n": "a\\..\\b"}), "`.` or `..` segment"),
            ("x/{n}", json!({"n": "a/./b"}), "`.` or `..` segment"),
            ("x/{n}", json!({"n": ""}), "must be a non-empty string"),
            ("x/{n}", json!({"n": ["a"]}), "must be a non-empty string"),
            ("x/{n}", json!({}), "must be a non-empty string"),
        ] {
            assert!(filled(template, values.clone()).unwrap_err().contains(reason), "{values}");
        }
        assert_eq!(placeholders("a/{b}/{+c}:d"), Ok(vec!["b", "c"]));
        assert!(placeholders("a/{b").is_err());
    }
}
