//! Checks of every operation.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{openapi, operation::OperationDeclaration, operations};

fn document() -> Value {
    openapi::document(&operations(), "0.0.0-test")
}

#[test]
fn every_operation_is_in_the_document_and_nothing_else_is() {
    let table = operations();
    let declared: BTreeSet<(String, String)> = table
        .iter()
        .map(|one| {
            (
                one.declared.path.replace("{*", "{"),
                one.declared.method.as_str().to_ascii_lowercase(),
            )
        })
        .collect();
    assert_eq!(declared.len(), table.len(), "no operation is declared twice");
    let document = document();
    let reported: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
        })
        .collect();
    assert_eq!(declared, reported);
    let names: BTreeSet<&str> = table.iter().map(|one| one.declared.name).collect();
    assert_eq!(names.len(), table.len(), "operation names are unique");
}

#[test]
fn schemas_are_sound_and_refer_to_what_is_there() {
    for operation in operations() {
        assert!(operation.query.is_valid(), "{operation:?}");
    }
    let document = document();
    let known = document["components"]["schemas"].as_object().unwrap();
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let exists = reference
            .strip_prefix("#/components/schemas/")
            .is_none_or(|name| known.contains_key(name));
        assert!(exists, "{reference}");
    }
}

#[test]
fn every_operation_says_who_may_and_what_can_go_wrong() {
    let document = document();
    for operation in operations() {
        let OperationDeclaration { path, method, .. } = &operation.declared;
        let method = method.as_str().to_ascii_lowercase();
        let reported = &document["paths"][path.replace("{*", "{")][method];
        assert!(reported["description"].as_str().unwrap().contains("Who may: "), "{operation:?}");
        for status in ["400", "401", "403"] {
            assert!(reported["responses"][status].is_object(), "{operation:?} {status}");
        }
        let places = reported["parameters"].as_array().unwrap();
        let named =
            |name: &str| places.iter().any(|one| one["in"] == "path" && one["name"] == name);
        for place in operation.declared.places() {
            assert!(named(place), "{operation:?} {place}");
        }
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|inner| collect_references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect_references(inner, found)),
        _ => {}
    }
}
