use serde_json::json;

use super::*;

fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

fn read(schema: &Value) -> Result<HeaderParams, HeaderParamsError> {
    HeaderParams::from_schema(&raw(schema))
}

#[test]
fn annotated_parameters_become_headers_also_nested_ones() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
        "on": {"type": "boolean", "x-mcp-header": "On"},
        "x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
        "gone": {"type": "string", "x-mcp-header": "Gone"},
    }});
    let params = read(&schema).unwrap();
    let arguments = json!({"region": "Zürich", "deep": {"count": 42.0}, "on": false, "gone": null, "query": "?"});
    let headers = params.headers(Some(&raw(&arguments)));
    let written: Vec<(&str, Option<&str>)> =
        headers.iter().map(|header| (header.name.as_str(), header.value.as_deref())).collect();
    assert_eq!(
        written,
        [
            ("Mcp-Param-Region", Some("=?base64?WsO8cmljaA==?=")),
            ("Mcp-Param-Count", Some("42")),
            ("Mcp-Param-On", Some("false")),
            ("Mcp-Param-Gone", None),
        ]
    );
    assert!(params.headers(None).iter().all(|header| header.value.is_none()));
}

#[test]
fn arguments_of_another_kind_have_no_header() {
    let schema = json!({"properties": {"a": {"type": "integer", "x-mcp-header": "A"}}});
    let params = read(&schema).unwrap();
    for wrong in [json!("1"), json!(1.5), json!([1]), json!(1e300)] {
        let headers = params.headers(Some(&raw(&json!({ "a": wrong }))));
        assert_eq!(headers[0].value, None, "{wrong}");
    }
}

#[test]
fn annotations_that_break_the_rules_are_named() {
    let property = |schema: Value| read(&json!({"properties": {"p": schema}})).unwrap_err();
    for name in
        [json!(""), json!("My Region"), json!("A:B"), json!("Région"), json!("A\t1"), json!(3)]
    {
        let error = property(json!({"type": "string", "x-mcp-header": name}));
        assert_eq!(error, HeaderParamsError::Name { parameter: "p".to_owned() }, "{name}");
    }
    for kind in [json!("object"), json!("array"), json!("null"), json!("number"), json!(null)] {
        let error = property(json!({"type": kind, "x-mcp-header": "P"}));
        assert_eq!(error, HeaderParamsError::Kind { parameter: "p".to_owned() }, "{kind}");
    }
    let twice = json!({"properties": {
        "a": {"type": "string", "x-mcp-header": "MyField"},
        "b": {"type": "string", "x-mcp-header": "myfield"},
    }});
    assert_eq!(
        read(&twice).unwrap_err(),
        HeaderParamsError::Repeated { name: "myfield".to_owned() }
    );
    let annotated = json!({"type": "string", "x-mcp-header": "P"});
    for (keyword, schema) in [
        ("items", json!({"type": "array", "items": annotated})),
        ("anyOf", json!({"anyOf": [{"type": "object", "properties": {"q": annotated}}]})),
        ("$defs", json!({"$defs": {"q": annotated}})),
    ] {
        let expected = HeaderParamsError::Unreachable { keyword: keyword.to_owned() };
        assert_eq!(property(schema), expected);
    }
}

#[test]
fn a_schema_that_is_no_object_or_too_deep_has_none() {
    assert!(read(&json!(true)).unwrap().is_empty());
    let deep = format!("{}\"x-mcp-header\"{}", "[".repeat(400), "]".repeat(400));
    assert!(
        HeaderParams::from_schema(&RawValue::from_string(deep).unwrap_or_default())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn values_survive_a_header() {
    for plain in ["", "us west 1", "=?base64?SGk", "a?="] {
        assert_eq!(encode(plain), plain);
        assert_eq!(decode(plain).unwrap(), plain);
    }
    for odd in [" padded ", "a\r\nb", "\ttab", "世界", "=?base64?SGk=?="] {
        let written = encode(odd).into_owned();
        assert!(written.starts_with("=?base64?"), "{written}");
        assert_eq!(decode(&written).unwrap(), odd);
    }
    assert_eq!(decode("=?base64?SGVsbG8?="), None);
    assert_eq!(decode("=?base64?SGVs!!!bG8=?="), None);
    assert_eq!(decode("=?base64?/w==?="), None);
    assert_eq!(decode("  x ").unwrap(), "x");
}

#[test]
fn whole_numbers_compare_by_value() {
    assert!(same("42.0", "42") && same("4.2e1", "42") && same("=?base64?SGVsbG8=?=", "Hello"));
    assert!(
        !same("42.5", "42") && !same("43", "42") && !same("4 2", "42") && !same("True", "true")
    );
}
