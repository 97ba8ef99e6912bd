use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "filter": {"type": "object"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"type": ["string", "integer"]},
            "loose": {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]},
            "level": {"enum": [1, 2, 3]},
            "unit": {"$ref": "#/$defs/unit"},
            "any": {},
            "page": {"anyOf": [
                {"type": "object", "properties": {
                    "size": {"type": "integer"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "sort": {"$ref": "#/$defs/sort"}
                }},
                {"type": "null"}
            ]},
            "a.b": {"type": "integer"},
            "a": {"type": "object"}
        },
        "$defs": {
            "unit": {"$ref": "#/$defs/number"},
            "number": {"type": "number"},
            "sort": {"type": "object", "properties": {"down": {"type": "boolean"}}}
        }
    })
}

#[track_caller]
fn check(given: Option<&str>, words: &[&str], expected: &str) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let built = parse_pairs(&words).and_then(|pairs| build(given, &pairs, &schema()));
    match built {
        Ok(arguments) => assert_eq!(arguments.get(), expected),
        Err(failure) => assert_eq!(format!("error: {failure}"), expected),
    }
}

#[test]
fn values_take_the_type_the_schema_declares() {
    check(None, &["text=5", "count=5"], r#"{"text":"5","count":5}"#);
    check(
        None,
        &["ratio=1e3", "deep=true", "unit=2.50"],
        r#"{"ratio":1e3,"deep":true,"unit":2.50}"#,
    );
    check(None, &["maybe=null", "level=2"], r#"{"maybe":null,"level":2}"#);
    check(None, &[r#"filter={"a": [1]}"#], r#"{"filter":{"a": [1]}}"#);
}

#[test]
fn a_string_stays_one_where_it_is_allowed() {
    check(None, &["either=5", "loose=true", "any=7"], r#"{"either":"5","loose":"true","any":"7"}"#);
    check(None, &["unknown=true", "text=null"], r#"{"unknown":"true","text":"null"}"#);
    check(None, &["text=a=b", "text2="], r#"{"text":"a=b","text2":""}"#);
}

#[test]
fn what_does_not_fit_is_left_to_the_schema_check() {
    check(None, &["count=many"], r#"{"count":"many"}"#);
}

#[test]
fn lists_are_json_or_repeated() {
    check(None, &["tags=a", "tags=1"], r#"{"tags":["a","1"]}"#);
    check(None, &["loose=a", "loose=b"], r#"{"loose":["a","b"]}"#);
    check(None, &["ids=1", "ids=2"], r#"{"ids":[1,2]}"#);
    check(None, &[r#"tags=["a", "b"]"#], r#"{"tags":["a", "b"]}"#);
}

#[test]
fn json_can_be_forced() {
    check(None, &["text:=5", "any:=[1]"], r#"{"text":5,"any":[1]}"#);
    check(
        None,
        &["any:=[1"],
        "error: `any` is not JSON: EOF while parsing a list at line 1 column 2",
    );
}

#[test]
fn the_given_object_is_kept_to_the_letter() {
    let exact = r#"{"count": 12345678901234567890123, "a": 1.0}"#;
    check(Some(exact), &[], exact);
    check(Some(r#"{"count": 1.50, "text": "x"}"#), &["text=y"], r#"{"count":1.50,"text":"y"}"#);
    check(None, &[], "{}");
}

#[test]
fn mistakes_are_reported() {
    check(
        Some("[1]"),
        &[],
        "error: --args is not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
    );
    check(
        Some("{bad"),
        &[],
        "error: --args is not a JSON object: key must be a string at line 1 column 2",
    );
    check(None, &["lonely"], "error: `lonely` is not an argument");
    check(None, &["=x"], "error: `=x` is not an argument");
    check(None, &["count=1", "count=2"], "error: `count` is given twice");
}

#[test]
fn a_dot_leads_into_an_object() {
    check(
        None,
        &["page.size=5", "page.labels=ui", "page.labels=5", "page.sort.down=true", "text=a"],
        r#"{"text":"a","page":{"size":5,"labels":["ui","5"],"sort":{"down":true}}}"#,
    );
    check(
        Some(r#"{"page": {"size": 1, "kept": null}}"#),
        &["page.size:=12345678901234567890"],
        r#"{"page":{"size":12345678901234567890,"kept":null}}"#,
    );
    check(None, &["filter.state=open"], r#"{"filter":{"state":"open"}}"#);
    // A name with a dot comes first, and without an object of that name the dot is part of the name.
    check(None, &["a.b=5", "a.c=5", "x.y=5"], r#"{"a.b":5,"x.y":"5","a":{"c":"5"}}"#);
    check(
        Some(r#"{"page": null}"#),
        &["page.size=5"],
        "error: `page` is given as something else than an object",
    );
}
