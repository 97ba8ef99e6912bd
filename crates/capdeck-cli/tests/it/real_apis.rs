//! Published capability files of web APIs, against servers on this machine that answer like the real ones.

use std::{fs, path::PathBuf};

use capdeck_test::{FakeApi, FakeApiReply, FakeApiRequest, TestDirs};
use serde_json::{Value, json};

use crate::{json, run};

/// The text of a published file. `None` when the shared data is not there.
#[expect(clippy::print_stdout, reason = "the reader of the run sees what it left out")]
fn published(file: &str) -> Option<String> {
    let caplets = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/caplets");
    let text = fs::read_to_string(caplets.join(file)).ok();
    if text.is_none() {
        println!("skipped: no shared data");
    }
    text
}

/// The file, allowed to follow its description to this machine.
fn nearby(file: &str) -> String {
    file.replace("openapiEndpoint:", "openapiEndpoint:\n  network: private")
}

fn not_found() -> FakeApiReply {
    FakeApiReply { status: 404, ..FakeApiReply::json(&json!({"message": "Not Found"})) }
}

/// Calls a tool that must succeed, and gives the body of the answer.
fn body(dirs: &TestDirs, capability: &str, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let result = json(dirs, &["call", capability, tool, "--args", &arguments]);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"]["body"].clone()
}

#[test]
fn pypi_answers() {
    let Some(file) = published("pypi/CAPLET.md") else { return };
    let api = FakeApi::start(|request: &FakeApiRequest| match request.target.as_str() {
        "/pypi/requests/json" => {
            FakeApiReply::json(&json!({"info": {"name": "requests", "version": "2.32.3"}}))
        }
        "/pypi/requests/2.32.3/json" => {
            FakeApiReply::json(&json!({"info": {"version": "2.32.3"}, "urls": []}))
        }
        // The real one answers with HTML unless it is asked for JSON.
        "/simple/requests/"
            if request.header("accept") == Some("application/vnd.pypi.simple.v1+json") =>
        {
            FakeApiReply {
                content_type: "application/vnd.pypi.simple.v1+json".to_owned(),
                ..FakeApiReply::json(&json!({"name": "requests", "files": []}))
            }
        }
        _ => not_found(),
    });
    let dirs = TestDirs::new();
    let spec = published("pypi/pypi.openapi.yaml").unwrap();
    dirs.write("config/pypi/CAPLET.md", nearby(&file));
    dirs.write("config/pypi/pypi.openapi.yaml", spec.replace("https://pypi.org", api.url()));
    let project = json!({"path": {"project": "requests"}});
    assert_eq!(body(&dirs, "pypi", "get_project", &project)["info"]["version"], "2.32.3");
    let release = json!({"path": {"project": "requests", "version": "2.32.3"}});
    assert_eq!(body(&dirs, "pypi", "get_release", &release)["urls"], json!([]));
    assert_eq!(body(&dirs, "pypi", "get_simple_project", &project)["name"], "requests");
    let missing = json!({"path": {"project": "no-such-project"}}).to_string();
    let finished = run(&dirs, &["call", "pypi", "get_project", "--args", &missing]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
}

/// What the file's own text promises about the registry's description.
const NPM: &str = "
openapi: 3.1.0
servers: [{url: SERVER}]
paths:
  /{package}:
    get:
      operationId: get_package
      parameters: [{name: package, in: path, required: true, schema: {type: string}}]
  /{package}/{version}:
    get:
      operationId: get_package_version
      parameters:
        - {name: package, in: path, required: true, schema: {type: string}}
        - {name: version, in: path, required: true, schema: {type: string}}
  /-/package/{package}/dist-tags:
    get:
      operationId: get_dist_tags
      parameters: [{name: package, in: path, required: true, schema: {type: string}}]
  /-/v1/search:
    get:
      operationId: search_packages
      parameters:
        - {name: text, in: query, required: true, schema: {type: string}}
        - {name: size, in: query, schema: {type: integer, maximum: 250}}
";

#[test]
fn npm_answers() {
    let Some(file) = published("npm/CAPLET.md") else { return };
    let registry = FakeApi::start(|request: &FakeApiRequest| match request.target.as_str() {
        "/%40scope%2Fname" => FakeApiReply::json(&json!({"name": "@scope/name"})),
        "/left-pad/1.3.0" => FakeApiReply::json(&json!({"version": "1.3.0"})),
        "/-/package/left-pad/dist-tags" => FakeApiReply::json(&json!({"latest": "1.3.0"})),
        "/-/v1/search?text=left%20pad&size=2" => FakeApiReply::json(&json!({"objects": []})),
        _ => not_found(),
    });
    let description = NPM.replace("SERVER", registry.url());
    let documents = FakeApi::start(move |_request| FakeApiReply {
        status: 200,
        content_type: "text/plain; charset=utf-8".to_owned(),
        body: description.clone(),
    });
    let dirs = TestDirs::new();
    let local = file.replace(
        "https://raw.githubusercontent.com/npm/api",
        &format!("{}/npm/api", documents.url()),
    );
    assert_ne!(local, file);
    dirs.write("config/npm/CAPLET.md", nearby(&local));
    let path = |package: &str| json!({"path": {"package": package}});
    assert_eq!(body(&dirs, "npm", "get_package", &path("@scope/name"))["name"], "@scope/name");
    let version = json!({"path": {"package": "left-pad", "version": "1.3.0"}});
    assert_eq!(body(&dirs, "npm", "get_package_version", &version)["version"], "1.3.0");
    assert_eq!(body(&dirs, "npm", "get_dist_tags", &path("left-pad"))["latest"], "1.3.0");
    let search = json!({"query": {"text": "left pad", "size": 2}});
    assert_eq!(body(&dirs, "npm", "search_packages", &search)["objects"], json!([]));
    let asked = documents.requests();
    assert!(asked.iter().all(|one| one.target == "/npm/api-documentation/main/api/base.yaml"));
}

#[test]
fn osv_answers() {
    let Some(file) = published("osv/CAPLET.md") else { return };
    let api = FakeApi::start(|request: &FakeApiRequest| {
        let sent: Value = serde_json::from_str(&request.body).unwrap_or_default();
        match (request.method.as_str(), request.target.as_str()) {
            ("POST", "/v1/query")
                if sent["package"]["name"] == "lodash" && sent["version"] == "4.17.20" =>
            {
                FakeApiReply::json(&json!({"vulns": [{"id": "GHSA-35jh-r3h4-6jhm"}]}))
            }
            ("POST", "/v1/query") if sent["package"]["purl"].is_string() => {
                FakeApiReply::json(&json!({"vulns": []}))
            }
            _ => not_found(),
        }
    });
    let dirs = TestDirs::new();
    dirs.write("config/osv/CAPLET.md", file.replace("https://api.osv.dev", api.url()));
    let package = json!({"name": "lodash", "ecosystem": "npm", "version": "4.17.20"});
    let found = body(&dirs, "osv", "query_package_version", &package);
    assert_eq!(found["vulns"][0]["id"], "GHSA-35jh-r3h4-6jhm");
    let purl = json!({"purl": "pkg:npm/lodash@4.17.21"});
    assert_eq!(body(&dirs, "osv", "query_purl", &purl)["vulns"], json!([]));
}
