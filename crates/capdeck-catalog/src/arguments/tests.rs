use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn tool(schema: &Value) -> Tool {
    serde_json::from_value(json!({"name": "read_file", "inputSchema": schema})).unwrap()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "mode": {"enum": ["text", "binary"]},
            "limit": {"type": ["integer", "null"], "maximum": 100},
            "range": {"type": "object", "properties": {"from": {"type": "integer"}}, "required": ["from"]}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

#[test]
fn good_arguments_pass() {
    let tool = tool(&schema());
    for arguments in [json!({"path": "a"}), json!({"path": "a", "mode": "text", "limit": null})] {
        assert_eq!(tool.argument_check().check(&arguments), Ok(()));
    }
}

#[test]
fn a_null_for_an_optional_argument_counts_as_left_out() {
    let tool = tool(&schema());
    let check = |arguments: Value| tool.argument_check().check(&arguments);
    assert_eq!(check(json!({"path": "a", "mode": null, "range": null})), Ok(()));
    assert!(check(json!({"path": null})).is_err());
    assert!(check(json!({"path": "a", "mode": null, "limit": 500})).is_err());
}

#[test]
fn bad_arguments_say_everything_needed_to_correct_them() {
    let bad = tool(&schema())
        .argument_check()
        .check(&json!({"pth": "secret-value", "mode": "hex", "limit": 500, "range": {}}))
        .unwrap_err();
    let mut written = serde_json::to_value(&*bad).unwrap();
    let errors = written.as_object_mut().unwrap().shift_remove("schemaErrors").unwrap();
    let mut errors: Vec<Value> = errors.as_array().unwrap().clone();
    errors.sort_by_key(|error| format!("{}{}", error["path"], error["rule"]));
    assert_eq!(
        Value::from(errors),
        json!([
            {"path": "", "rule": "additionalProperties", "unexpected": ["pth"]},
            {"path": "", "rule": "required", "missing": "path"},
            {"path": "/limit", "rule": "maximum", "expected": 100},
            {"path": "/mode", "rule": "enum", "allowed": ["text", "binary"]},
            {"path": "/range", "rule": "required", "missing": "from"},
        ])
    );
    assert_eq!(
        written,
        json!({
            "tool": "read_file",
            "requiredArgs": ["path"],
            "acceptedArgs": ["limit", "mode", "path", "range"],
            "unexpectedArgs": [{"name": "pth", "nearest": "path"}],
            "minimalArgsTemplate": {"path": ""},
        })
    );
    let arguments = "path: string, mode?: \"text\" | \"binary\", limit?: number | null, range?: { from: number }";
    assert_eq!(bad.arguments, arguments);
    let sentence = bad.to_string();
    assert!(sentence.starts_with("invalid arguments for `read_file`: "), "{sentence}");
    assert!(sentence.ends_with("; did you mean `path` instead of `pth`?"), "{sentence}");
    assert!(!format!("{sentence}{written}").contains("secret-value"));
}

#[test]
fn values_are_never_repeated() {
    let tool = tool(&json!({"properties": {
        "a": {"anyOf": [{"type": "integer"}]},
        "b": {"not": {"type": "string"}},
        "c": {"type": "string", "pattern": "^x"},
    }}));
    for name in ["a", "b", "c"] {
        let bad = tool.argument_check().check(&json!({name: "hunter2"})).unwrap_err();
        let written = serde_json::to_string(&*bad).unwrap();
        assert!(!written.contains("hunter2") && !bad.to_string().contains("hunter2"), "{written}");
    }
}

#[test]
fn arguments_must_be_an_object_whatever_the_schema_says() {
    let bad = tool(&json!({})).argument_check().check(&json!([1])).unwrap_err();
    assert_eq!(bad.errors, [ArgumentError::not_an_object()]);
}

#[test]
fn many_errors_are_cut() {
    let properties: Value =
        (0..20).map(|number| (format!("a{number}"), json!({"type": "string"}))).collect();
    let arguments: Value = (0..20).map(|number| (format!("a{number}"), json!(1))).collect();
    let bad =
        tool(&json!({ "properties": properties })).argument_check().check(&arguments).unwrap_err();
    assert_eq!(bad.errors.len(), InvalidArguments::MAX_ERRORS);
}

#[test]
fn drafts_are_honoured_and_unknown_ones_read_as_the_newest() {
    // Draft 4's `exclusiveMaximum` is a boolean beside `maximum`; later drafts refuse that.
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"maximum": 5, "exclusiveMaximum": true}}});
    let check = ArgumentCheck::compile(&tool(&old));
    assert_eq!(check.problem(), None);
    assert!(check.check(&json!({"a": 5})).is_err());

    let unknown = json!({"$schema": "https://example.com/house-style", "required": ["a"]});
    let check = ArgumentCheck::compile(&tool(&unknown));
    assert_eq!(check.problem(), None);
    assert!(check.check(&json!({})).is_err());
}

#[test]
fn a_broken_schema_accepts_everything_and_says_so() {
    for schema in [
        json!({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}),
        json!({"type": 7}),
        json!({"properties": {"a": {"pattern": "("}}}),
    ] {
        let check = ArgumentCheck::compile(&tool(&schema));
        assert!(
            check.problem().is_some_and(|text| text.starts_with("the input schema is not sound"))
        );
        assert_eq!(check.check(&json!({"anything": true})), Ok(()));
    }
}

#[test]
fn a_tool_compiles_its_check_once() {
    let tool = Arc::new(tool(&schema()));
    assert!(std::ptr::eq(tool.argument_check(), tool.argument_check()));
}
