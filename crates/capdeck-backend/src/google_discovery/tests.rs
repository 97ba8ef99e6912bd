//! A small document that has everything, imported.

use capdeck_catalog::ImportProblem;
use capdeck_definition::CapabilityId;
use serde_json::{Value, json};

use super::*;

fn small() -> Value {
    json!({
        "kind": "discovery#restDescription",
        "rootUrl": "https://things.example/", "servicePath": "things/v1/",
        "parameters": {
            "alt": {"type": "string", "location": "query"},
            "access_token": {"type": "string", "location": "query"},
            "prettyPrint": {"type": "boolean", "location": "query", "default": "true"},
        },
        "schemas": {"Thing": {"type": "object", "properties": {
            "name": {"type": "string", "annotations": {"required": ["things.insert", "things.make"]}}}}},
        "resources": {"things": {"methods": {
            "list": {"id": "things.list", "httpMethod": "GET", "path": "things", "description": "Lists.",
                "parameters": {"label": {"type": "string", "repeated": true}},
                "scopes": ["https://www.googleapis.com/auth/things", "https://www.googleapis.com/auth/things.readonly"]},
            "get": {"id": "things.get", "path": "things/{thingId}", "supportsMediaDownload": true, "deprecated": true,
                "parameters": {"thingId": {"type": "string", "location": "path", "required": true}},
                "response": {"$ref": "Thing"}},
            "insert": {"id": "things.insert", "httpMethod": "POST", "path": "things", "request": {"$ref": "Thing"},
                "scopes": ["https://www.googleapis.com/auth/things"],
                "mediaUpload": {"accept": ["image/*"], "maxSize": "1024", "protocols": {
                    "simple": {"path": "/upload/things", "multipart": true}}}},
            "make": {"id": "things.make", "httpMethod": "POST", "path": "things", "request": {"$ref": "Thing"}},
            "emptyTrash": {"id": "things.emptyTrash", "httpMethod": "POST", "path": "things/trash"},
            "unnamed": {"httpMethod": "DELETE", "path": "things"},
        }}},
    })
}

fn imported(document: &Value, include: &[&str]) -> GoogleApi {
    let document = DiscoveryDocument::read(document.to_string().as_bytes()).unwrap();
    let include = include.iter().map(|pattern| (*pattern).to_owned()).collect();
    let id = CapabilityId::new("thing").unwrap();
    let filter = OperationFilter { include, exclude: Vec::new(), matches: matches_method };
    let bases = document.bases(Some("https://things.example/things/v1/")).unwrap();
    GoogleApi::import(&document, bases, &id, &filter, &BackendAuth::None {}).unwrap()
}

fn tool(import: &GoogleApi, name: &str) -> Value {
    let tools = &import.discovery.tools;
    let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
    serde_json::to_value(tool).unwrap()
}

#[test]
fn every_method_is_a_tool() {
    let import = imported(&small(), &[]);
    let names: Vec<&str> = import.discovery.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(
        names,
        [
            "thing.things.unnamed",
            "things.emptyTrash",
            "things.get",
            "things.insert",
            "things.list",
            "things.make"
        ]
    );
    assert_eq!(import.discovery.problems, []);
    assert_eq!(
        import.discovery.scopes,
        [
            "https://www.googleapis.com/auth/things",
            "https://www.googleapis.com/auth/things.readonly"
        ]
    );

    let list = tool(&import, "things.list");
    assert_eq!(
        list["inputSchema"],
        json!({"type": "object", "additionalProperties": false, "properties": {"query": {
            "type": "object", "additionalProperties": false, "properties": {
                "label": {"type": "array", "items": {"type": "string"}},
                "alt": {"type": "string"},
                "prettyPrint": {"type": "boolean", "default": true}}}}})
    );
    let hints = |name: &str| tool(&import, name)["annotations"].clone();
    let expected = |read: bool, destroys: bool, again: bool| json!({"readOnlyHint": read, "destructiveHint": destroys, "idempotentHint": again});
    assert_eq!(hints("things.list"), expected(true, false, true));
    assert_eq!(hints("things.insert"), expected(false, false, false));
    assert_eq!(hints("things.emptyTrash"), expected(false, true, false));
    assert_eq!(hints("thing.things.unnamed"), expected(false, true, true));

    let get = tool(&import, "things.get");
    assert_eq!(get["description"], "Deprecated.");
    assert_eq!(get["inputSchema"]["required"], json!(["path"]));
    assert!(get["inputSchema"]["properties"]["filename"].is_object());
    assert_eq!(
        get["outputSchema"]["anyOf"][0]["properties"]["body"]["properties"]["name"],
        json!({"type": "string"})
    );
    let insert = tool(&import, "things.insert");
    // What the body must have may come as media instead.
    assert_eq!(insert["inputSchema"]["required"], Value::Null);
    assert_eq!(insert["inputSchema"]["properties"]["body"]["required"], Value::Null);
    let make = tool(&import, "things.make");
    assert_eq!(make["inputSchema"]["required"], json!(["body"]));
    assert_eq!(make["inputSchema"]["properties"]["body"]["required"], json!(["name"]));
    let media = insert["inputSchema"]["properties"]["media"]["description"].as_str().unwrap();
    assert!(media.ends_with("Accepted: image/*."), "{media}");
}

#[test]
fn only_what_is_exposed_asks_for_rights() {
    let import = imported(&small(), &["*.list", "things.gone"]);
    assert_eq!(import.discovery.tools.len(), 1);
    assert_eq!(import.discovery.scopes, ["https://www.googleapis.com/auth/things.readonly"]);
    assert_eq!(
        import.discovery.problems,
        [ImportProblem {
            place: "includeOperations".to_owned(),
            reason: "`things.gone` names no method of the document".to_owned(),
        }]
    );
}

#[test]
fn a_broken_method_is_listed_and_the_rest_works() {
    let mut document = small();
    let methods = &mut document["resources"]["things"]["methods"];
    methods["noPath"] = json!({"id": "things.noPath", "httpMethod": "GET"});
    methods["verb"] = json!({"id": "things.verb", "httpMethod": "FETCH", "path": "x"});
    methods["hole"] = json!({"id": "things.hole", "path": "x/{y}"});
    methods["brace"] = json!({"id": "things.brace", "path": "x/{y"});
    methods["text"] = json!("x");
    methods["place"] =
        json!({"id": "things.place", "path": "x", "parameters": {"a": {"location": "moon"}}});
    methods["list2"] = json!({"id": "things.list", "path": "x"});
    let import = imported(&document, &[]);
    let problems: Vec<String> = import
        .discovery
        .problems
        .iter()
        .map(|problem| format!("{}: {}", problem.place, problem.reason))
        .collect();
    assert_eq!(
        problems,
        [
            "things.noPath: it has no `path`",
            "things.verb: there is no verb `FETCH`",
            "things.hole: its path needs `y`, which is not a parameter",
            "things.brace: its path has a `{` without `}`",
            "things.text: it is not a method",
            "things.place: its parameter `a` has the unknown location `moon`",
        ]
    );
    // Two methods of one id differ in their place.
    assert_eq!(import.discovery.tools.len(), 7);
    assert!(import.operations.contains_key("thing.things.list2"));
}

#[test]
fn a_broken_method_without_a_name_has_a_place() {
    let mut document = small();
    document["methods"] = json!({"": {"httpMethod": "FETCH", "path": "x"}});
    let problems = imported(&document, &[]).discovery.problems;
    let reason = "there is no verb `FETCH`".to_owned();
    assert_eq!(problems, [ImportProblem { place: "methods".to_owned(), reason }]);
}

#[test]
fn every_input_schema_compiles() {
    for tool in &imported(&small(), &[]).discovery.tools {
        assert_eq!(tool.argument_check().problem(), None, "{}", tool.name());
    }
}

fn scopes(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{SCOPE_PREFIX}{name}")).collect()
}

#[test]
fn the_narrowest_scope_is_asked_for() {
    for (offered, expected) in [
        (&["drive", "drive.readonly", "drive.file"][..], "drive.readonly"),
        (&["drive", "drive.appdata", "drive.file"], "drive.file"),
        (&["drive", "drive.metadata"], "drive.metadata"),
        (&["drive.metadata.readonly", "drive.readonly"], "drive.metadata.readonly"),
        (&["cloud-platform", "pubsub"], "pubsub"),
        (&["cloud-platform", "cloud-platform.read-only"], "cloud-platform.read-only"),
        (&["cloud-platform"], "cloud-platform"),
        (&["devstorage.full_control", "devstorage.read_write"], "devstorage.read_write"),
        (&["gmail.modify", "gmail.compose"], "gmail.compose"),
    ] {
        let offered = scopes(offered);
        assert_eq!(narrowest(&offered), scopes(&[expected]).first(), "{offered:?}");
    }
    assert_eq!(narrowest(&[]), None);
    let mail = ["https://mail.google.com/".to_owned(), format!("{SCOPE_PREFIX}gmail.readonly")];
    assert_eq!(narrowest(&mail), mail.get(1));
}

#[test]
fn a_broad_scope_includes_the_narrow_ones_of_its_name() {
    let check = |granted: &[&str], wanted: &[&str]| suffices(&scopes(granted), &scopes(wanted));
    assert!(check(&["drive"], &["drive.file"]));
    assert!(check(&["gmail.modify"], &["gmail.readonly", "gmail.modify"]));
    assert!(check(&[], &["drive"]));
    assert!(check(&["drive"], &[]));
    assert!(!check(&["drive.file"], &["drive"]));
    assert!(!check(&["drive"], &["driveapps"]));
    assert!(!check(&["drive.readonly"], &["drive.file", "drive"]));
    let foreign = ["https://api.example/x".to_owned()];
    assert!(!suffices(&foreign, &["https://api.example/x.y".to_owned()]));
}

#[test]
fn patterns_stand_for_parts_of_names() {
    for (pattern, method, expected) in [
        ("drive.files.list", "drive.files.list", true),
        ("drive.files.list", "drive.files.listLabels", false),
        ("drive.files.*", "drive.files.list", true),
        ("drive.files.*", "drive.files.labels.list", false),
        ("drive.*", "drive.files.list", false),
        ("*.list", "drive.files.list", true),
        ("*.files.list", "drive.files.list", true),
        ("*.list", "list", false),
        ("*", "drive.files.list", true),
        ("*.*.list", "drive.files.list", true),
        ("drive.*.list", "drive.files.list", true),
        ("drive.files.get*", "drive.files.getMedia", true),
        ("drive.files.*s", "drive.files.generateIds", true),
        ("drive.files.g*e*s", "drive.files.generateIds", true),
        ("drive.files.g*x*s", "drive.files.generateIds", false),
        (" drive.files.list ", "drive.files.list", true),
        ("", "drive.files.list", false),
    ] {
        assert_eq!(matches_method(pattern, method), expected, "{pattern} {method}");
    }
}

#[test]
fn exclusion_comes_last_and_idle_patterns_are_reported() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let filter = OperationFilter {
        include: owned(&["*.list", "a.b.gone"]),
        exclude: owned(&["a.c.*", "x.*"]),
        matches: matches_method,
    };
    assert!(filter.accepts(&["a.b.list".to_owned()]));
    assert!(!filter.accepts(&["a.c.list".to_owned()]));
    assert!(!filter.accepts(&["a.b.get".to_owned()]));
    let methods: Vec<String> = owned(&["a.b.list", "a.c.list"]);
    let idle: Vec<_> = filter.unused_patterns(&methods).collect();
    assert_eq!(idle, [("includeOperations", "a.b.gone"), ("excludeOperations", "x.*")]);
}
