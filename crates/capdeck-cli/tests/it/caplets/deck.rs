//! The deck of the cases: one capability of each kind, written as for Caplets, and the API behind them.

use std::{fs, path::Path};

use capdeck_test::{FakeApi, FakeApiReply, FakeApiRequest, FakePlan, TestDirs};
use serde_json::{Value, json};

/// Writes the files of `deck/` with the address of the API, and a server on pipes.
pub(super) fn write(dirs: &TestDirs, api: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/caplets/deck");
    copy(dirs, &folder, "config", api);
    let structured = json!({
        "name": "measure",
        "description": "Measures a thing.",
        "inputSchema": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
        "outputSchema": {"type": "object", "properties": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}},
        "annotations": {"readOnlyHint": true},
    });
    let office = FakePlan { extra_tools: vec![structured], ..FakePlan::default() };
    let bare = FakePlan { everything: false, behaviours: false, tools: 3, ..FakePlan::default() };
    let entry = |plan: &FakePlan, name: &str, exposure: &str| {
        let mut entry = plan.deck_entry();
        entry["name"] = json!(name);
        entry["description"] = json!("A server of the tests that offers everything.");
        entry["exposure"] = json!(exposure);
        entry
    };
    dirs.write_config(&json!({
        "version": 1,
        "options": {"exposure": "progressive_and_code_mode"},
        "mcpServers": {
            "office": entry(&office, "Office", "progressive_and_code_mode"),
            "bare": entry(&bare, "Bare", "progressive_and_code_mode"),
            "gone": {"name": "Gone", "description": "A server that is not installed.", "command": "/nowhere/gone"},
        },
    }));
}

fn copy(dirs: &TestDirs, folder: &Path, into: &str, api: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        let target = format!("{into}/{}", name.to_str().unwrap());
        if path.is_dir() {
            copy(dirs, &path, &target, api);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            dirs.write(target, text.replace("{API}", api));
        }
    }
}

/// An API that shows what it was asked, except at a few paths.
pub(super) fn api() -> FakeApi {
    FakeApi::start(answer)
}

fn answer(request: &FakeApiRequest) -> FakeApiReply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let status = |status| FakeApiReply {
        status,
        ..FakeApiReply::json(
            &json!({"error": {"code": "E42", "message": "no such pet", "author": "ann"}}),
        )
    };
    match path.rsplit('/').next().unwrap_or_default() {
        "missing" => status(404),
        "forbidden" => status(403),
        "unauthorized" => status(401),
        "broken" => status(500),
        "plain" => FakeApiReply {
            content_type: "text/plain".to_owned(),
            body: "plain text".to_owned(),
            status: 200,
        },
        "invalid" => FakeApiReply {
            content_type: "application/json".to_owned(),
            body: "{not json".to_owned(),
            status: 200,
        },
        "empty" => FakeApiReply { content_type: String::new(), body: String::new(), status: 204 },
        "image" => FakeApiReply {
            content_type: "image/png".to_owned(),
            body: "PNG data".to_owned(),
            status: 200,
        },
        "long" => FakeApiReply::json(&json!({"text": "x".repeat(5_000)})),
        "pet" => FakeApiReply::json(
            &json!({"id": 7, "name": "Rex", "owner": {"name": "Ann", "mail": "a@example.com"}}),
        ),
        "graphql" => graphql(&request.body),
        _ => FakeApiReply::json(&json!({
            "method": request.method,
            "path": path,
            "query": query,
            "body": serde_json::from_str::<Value>(&request.body).unwrap_or_else(|_| json!(request.body)),
            "type": request.header("content-type"),
            "mark": request.header("x-mark"),
            "authorization": request.header("authorization"),
        })),
    }
}

fn graphql(body: &str) -> FakeApiReply {
    let asked: Value = serde_json::from_str(body).unwrap_or_default();
    let query = asked["query"].as_str().unwrap_or_default();
    if query.contains("broken") {
        return FakeApiReply::json(&json!({"data": null, "errors": [{"message": "it broke"}]}));
    }
    FakeApiReply::json(&json!({"data": {"asked": asked}}))
}
