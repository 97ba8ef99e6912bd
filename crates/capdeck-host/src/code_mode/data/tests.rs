use serde_json::json;

use super::*;

fn parts(result: Value) -> (Value, Value) {
    let parts = read(&RawValue::from_string(result.to_string()).unwrap());
    (raw::value(&parts.data).unwrap(), serde_json::to_value(&parts.facts).unwrap())
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn structured_content_is_the_data_and_its_repetition_is_dropped() {
    let data = json!({"a": [1, "two \" words"], "b": {}});
    let again = text(&serde_json::to_string_pretty(&data).unwrap());
    let (got, facts) = parts(json!({"content": [again], "structuredContent": data}));
    assert_eq!((got, facts), (data.clone(), json!({})));
    let other = text("Two things were found.");
    let (got, facts) = parts(json!({"content": [other], "structuredContent": data}));
    assert_eq!((got, facts), (data, json!({"content": [other]})));
}

#[test]
fn the_body_of_a_response_is_the_data_and_the_rest_is_facts() {
    let (data, facts) = parts(json!({
        "content": [text("{\"id\":1}")],
        "structuredContent": {"status": 201, "statusText": "Created", "headers": {"content-type": "application/json"}, "kind": "inline", "body": {"id": 1}, "elapsedMs": 3},
        "_meta": {"capdeck/status": 201, "capdeck/responseHeaders": {"content-type": "application/json", "x-page": "2"}, "own": true},
    }));
    assert_eq!(data, json!({"id": 1}));
    assert_eq!(
        facts,
        json!({"status": 201, "statusText": "Created", "headers": {"content-type": "application/json", "x-page": "2"}, "elapsedMs": 3, "_meta": {"own": true}})
    );
}

#[test]
fn an_object_with_a_body_that_is_no_response_stays_whole() {
    let issue = json!({"status": "open", "headers": [], "body": "It broke", "id": 7});
    let (data, _) = parts(json!({"content": [], "structuredContent": issue}));
    assert_eq!(data, issue);
}

#[test]
fn a_response_without_a_body_stays_whole() {
    let response =
        json!({"status": 204, "statusText": "No Content", "headers": {}, "kind": "inline"});
    let (data, facts) =
        parts(json!({"content": [text("HTTP 204")], "structuredContent": response}));
    assert_eq!(data, response);
    assert_eq!(facts["status"], 204);
}

#[test]
fn a_file_is_named_in_the_facts() {
    let response = json!({
        "status": 200, "statusText": "OK", "headers": {}, "kind": "remote-reference",
        "uri": "capdeck://artifacts/a/b/c.pdf", "filename": "c.pdf", "byteLength": 9, "sha256": "00",
    });
    let (data, facts) = parts(json!({"content": [], "structuredContent": response}));
    assert_eq!(data, response);
    assert_eq!(facts["artifacts"][0]["uri"], "capdeck://artifacts/a/b/c.pdf");
}

#[test]
fn text_that_is_json_is_parsed_and_other_text_is_whole() {
    assert_eq!(parts(json!({"content": [text(" {\"a\": 1}")]})).0, json!({"a": 1}));
    assert_eq!(parts(json!({"content": [text("[1, 2]")]})).0, json!([1, 2]));
    assert_eq!(parts(json!({"content": [text("{not json")]})).0, json!("{not json"));
    assert_eq!(parts(json!({"content": [text("12")]})).0, json!("12"), "a text, not a number");
    let long = "x".repeat(3_000_000);
    assert_eq!(parts(json!({"content": [text(&long)]})).0, json!(long));
    assert_eq!(parts(json!({"content": [text("a"), text("b")]})).0, json!("a\nb"));
}

#[test]
fn pictures_are_facts_beside_text_and_data_alone() {
    let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let (data, facts) = parts(json!({"content": [text("a cat"), picture]}));
    assert_eq!((data, facts), (json!("a cat"), json!({"content": [picture]})));
    let (data, facts) = parts(json!({"content": [picture]}));
    assert_eq!((data, facts), (json!([picture]), json!({})));
    assert_eq!(parts(json!({"content": []})).0, json!([]));
}

#[test]
fn what_is_no_result_is_data_as_it_is() {
    assert_eq!(parts(json!({"content": "odd"})).0, json!({"content": "odd"}));
    assert_eq!(parts(json!(7)).0, json!(7));
}
