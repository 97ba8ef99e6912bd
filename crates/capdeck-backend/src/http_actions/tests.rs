//! Tables of the mapping from a call's arguments to a request.

use capdeck_auth::{AuthHeader, Secret};
use serde_json::{Map, Value, json};

use super::{fill_path, map_body, map_pairs, map_value, result_schema, *};
use crate::{ErrorCode, http::below};

fn arguments() -> Map<String, Value> {
    json!({
        "text": "a b", "number": 5, "float": 2.0, "truth": false, "none": null, "empty": "",
        "list": [1, "two"], "deep": {"er": {"est": "found"}}, "dots": "..", "slash": "a/b",
        "percent": "%2e%2e", "query": "x?y#z", "back": "a\\b", "host": "//evil.example",
        "ref": "$input.text", "objects": [{"a": 1}],
    })
    .as_object()
    .unwrap()
    .clone()
}

#[test]
fn only_a_whole_string_is_a_reference_and_types_are_kept() {
    for (declared, expected) in [
        (json!("$input"), Some(Value::Object(arguments()))),
        (json!("$input.text"), Some(json!("a b"))),
        (json!("$input.number"), Some(json!(5))),
        (json!("$input.truth"), Some(json!(false))),
        (json!("$input.none"), Some(Value::Null)),
        (json!("$input.list"), Some(json!([1, "two"]))),
        (json!("$input.deep.er"), Some(json!({"est": "found"}))),
        (json!("$input.deep.er.est"), Some(json!("found"))),
        (json!("$input.list.0"), None),
        (json!("$input.none.x"), None),
        (json!("$input.missing"), None),
        (json!("$input."), None),
        (json!("$input.deep..est"), None),
        // A replaced value is not searched again.
        (json!("$input.ref"), Some(json!("$input.text"))),
        (json!("x $input.text"), Some(json!("x $input.text"))),
        (json!("$input.text "), None),
        (json!("$inputs"), Some(json!("$inputs"))),
        (json!("$input[0]"), Some(json!("$input[0]"))),
        (json!(7), Some(json!(7))),
        (json!(null), Some(json!(null))),
        (json!(["$input.number", "$input.missing", "x"]), Some(json!([5, null, "x"]))),
        (
            json!({"a": {"b": "$input.truth", "c": "$input.missing"}, "d": ["$input.missing"]}),
            Some(json!({"a": {"b": false}, "d": [null]})),
        ),
    ] {
        assert_eq!(map_value(&declared, &arguments()), expected, "{declared}");
    }
}

#[test]
fn a_missing_body_is_refused_and_an_undeclared_one_is_fine() {
    assert_eq!(map_body(None, &arguments()).unwrap(), None);
    assert_eq!(map_body(Some(&json!("$input.none")), &arguments()).unwrap(), Some(Value::Null));
    let error = map_body(Some(&json!("$input.missing")), &arguments()).unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);
    assert_eq!(error.message, "the request body is missing: `$input.missing` has no value");
}

#[test]
fn query_and_headers_take_scalars_and_leave_out_what_is_not_there() {
    let declared: indexmap::IndexMap<String, Value> = serde_json::from_value(json!({
        "q": "$input.text", "n": "$input.float", "t": true, "gone": "$input.missing",
        "none": "$input.none", "e": "$input.empty", "many": "$input.list",
    }))
    .unwrap();
    let pairs = map_pairs(QUERY, &declared, &arguments()).unwrap();
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(pairs, ["q=a b", "n=2", "t=true", "e=", "many=1", "many=two"]);
    for (declared, message) in [
        (
            json!({"o": "$input.deep"}),
            "the value for query parameter `o` must be a string, a number or a boolean",
        ),
        (
            json!({"o": "$input.objects"}),
            "the value for query parameter `o` must be a string, a number or a boolean",
        ),
    ] {
        let declared: indexmap::IndexMap<String, Value> = serde_json::from_value(declared).unwrap();
        assert_eq!(map_pairs(QUERY, &declared, &arguments()).unwrap_err().message, message);
        assert!(map_pairs("header", &declared, &arguments()).is_err());
    }
}

#[test]
fn paths_stay_below_the_base() {
    let refused_dots =
        Err("the path has a `.` or `..` segment, which would leave the API's base path");
    for (base, path, expected) in [
        ("https://api.example", "/users", Ok("https://api.example/users")),
        ("https://api.example/v1", "/users", Ok("https://api.example/v1/users")),
        ("https://api.example/v1/", "/", Ok("https://api.example/v1/")),
        ("https://api.example/v1", "/u/{text}/x", Ok("https://api.example/v1/u/a%20b/x")),
        ("https://api.example/v1", "/{number}-{truth}", Ok("https://api.example/v1/5-false")),
        ("https://api.example/v1", "/{slash}", Ok("https://api.example/v1/a%2Fb")),
        ("https://api.example/v1", "/{query}", Ok("https://api.example/v1/x%3Fy%23z")),
        ("https://api.example/v1", "/{percent}", Ok("https://api.example/v1/%252e%252e")),
        ("https://api.example/v1", "/{back}", Ok("https://api.example/v1/a%5Cb")),
        ("https://api.example", "/{host}", Ok("https://api.example/%2F%2Fevil.example")),
        ("https://api.example/v1", "/{dots}", refused_dots),
        ("https://api.example/v1", "/a/{dots}/{dots}/b", refused_dots),
        ("https://api.example/v1", "/../admin", refused_dots),
        ("https://api.example/v1", "/%2E%2e/admin", refused_dots),
        ("https://api.example/v1", "/.%2e/admin", refused_dots),
        ("https://api.example/v1", "/a\\..\\..\\admin", refused_dots),
        (
            "https://api.example/v1",
            "/{empty}",
            Err(
                "argument `empty` is part of the path and must be a non-empty string, number or boolean",
            ),
        ),
        (
            "https://api.example/v1",
            "/{list}",
            Err(
                "argument `list` is part of the path and must be a non-empty string, number or boolean",
            ),
        ),
        (
            "https://api.example/v1",
            "/{deep.er}",
            Err(
                "argument `deep.er` is part of the path and must be a non-empty string, number or boolean",
            ),
        ),
    ] {
        let base = parse_base(base).unwrap();
        let url = fill_path(path, &arguments()).and_then(|path| below(&base, &path));
        let url = url.map(String::from).map_err(|error| error.message);
        assert_eq!(url.as_deref().map_err(String::as_str), expected, "{path}");
    }
}

#[test]
fn base_urls_follow_the_rules_after_interpolation_too() {
    for (text, expected) in [
        ("https://api.example/v1", None),
        ("http://localhost:1/", None),
        ("http://127.0.0.1:1", None),
        ("http://[::1]:1", None),
        ("http://api.example", Some("plain http is allowed for this machine only")),
        ("ftp://api.example", Some("it is neither http nor https")),
        ("https://user:pass@api.example", Some("it holds a user name or password")),
        ("https://api.example?x=1", Some("it has a query or a fragment")),
        ("https://api.example#x", Some("it has a query or a fragment")),
        ("nonsense", Some("relative URL without a base")),
    ] {
        let message = parse_base(text).err().map(|error| error.message);
        let expected = expected.map(|reason| format!("`baseUrl` cannot be used: {reason}"));
        assert_eq!(message, expected, "{text}");
    }
}

#[test]
fn headers_cannot_be_smuggled_or_overridden() {
    let base = parse_base("https://api.example").unwrap();
    let auth = [AuthHeader { name: "X-Api-Key".to_owned(), value: Secret::new("canary-1") }];
    for (headers, message) in [
        (json!({"x-api-key": "mine"}), "header `x-api-key` cannot be set by an action"),
        (json!({"Authorization": "mine"}), "header `Authorization` cannot be set by an action"),
        (json!({"Host": "evil.example"}), "header `Host` cannot be set by an action"),
        (json!({"bad name": "x"}), "`bad name` is not a header name"),
        (
            json!({"X-Free": "$input.text"}),
            "the value for header `X-Free` holds a line break or another control character",
        ),
    ] {
        let action =
            serde_json::from_value(json!({"method": "GET", "path": "/", "headers": headers}))
                .unwrap();
        let arguments = json!({"text": "a\r\nX-Admin: yes"}).as_object().unwrap().clone();
        let error = build_request(&base, &action, &auth, &arguments).unwrap_err();
        assert_eq!(error.message, message);
    }
}

#[test]
fn an_output_schema_is_that_of_the_body() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let given = object(json!({
        "type": "object",
        "properties": {"pet": {"$ref": "#/$defs/Pet"}},
        "$defs": {"Pet": {"type": "object"}},
    }));
    let whole = result_schema(&given);
    let body = &whole["anyOf"][0]["properties"]["body"];
    assert_eq!(body["properties"]["pet"]["$ref"], "#/$defs/Pet");
    assert_eq!((&body["$defs"], &whole["$defs"]), (&Value::Null, &given["$defs"]));
    let list = object(json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(result_schema(&list)["anyOf"][0]["properties"]["body"], Value::Object(list.clone()));
    for as_is in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"status": {"type": "integer"}, "body": {}}}),
    ] {
        let as_is = object(as_is);
        assert_eq!(*result_schema(&as_is), as_is);
    }
}
