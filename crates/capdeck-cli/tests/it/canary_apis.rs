//! Planted secrets in APIs that a document describes: in credentials, headers, queries and addresses, with servers that repeat
//! all of it in answers and errors, and descriptions that are fetched with a secret.

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{
    canary::{FROM_VAULT, assert_clean, assert_clean_files, loud},
    provider::Provider,
};

const OPENAPI: &str = "openapi";
const GOOGLE: &str = "googleDiscovery";
const GRAPHQL: &str = "graphql";

/// The ways to plant a secret, by the name of the capability.
fn places() -> [(&'static str, Value, &'static str); 4] {
    [
        ("bearer", json!({"type": "bearer", "token": "$vault:STORED"}), ""),
        ("header", json!({"type": "headers", "headers": {"x-key": "$env:MY_SECRET"}}), ""),
        // Secrets in the address: as a part of the path, beside a credential of the other origin.
        ("url", json!({"type": "bearer", "token": "$env:CLIENT"}), "/$env:MY_SECRET"),
        (
            "vaulted",
            json!({"type": "headers", "headers": {"x-key": "a ${vault:STORED} b"}}),
            "/$vault:STORED",
        ),
    ]
}

fn openapi_document() -> Value {
    let get = |id: &str| json!({"get": {"operationId": id, "summary": "Tells what it was sent"}});
    json!({
        "openapi": "3.1.0",
        "paths": {
            "/echo/{more}": {"get": {"operationId": "echo", "summary": "Tells what it was sent", "parameters": [
                {"name": "more", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "q", "in": "query", "schema": {"type": "string"}}]}},
            "/refuse/400": get("bad"), "/refuse/401": get("unknown"), "/refuse/403": get("forbidden"),
            "/refuse/500": get("broken"), "/lost": {"get": {"operationId": "lost", "requestBody": {"$ref": "#/x"}}},
        },
    })
}

fn google_document() -> Value {
    let get = |id: &str, path: &str| json!({"id": id, "path": path, "httpMethod": "GET", "description": "Tells."});
    let mut echo = get("echo", "echo/{more}");
    echo["parameters"] = json!({"more": {"type": "string", "location": "path", "required": true}});
    echo["supportsMediaDownload"] = json!(true);
    json!({
        "kind": "discovery#restDescription", "name": "things", "version": "v1",
        "rootUrl": "https://api.example/", "servicePath": "",
        "methods": {
            "echo": echo, "bad": get("bad", "refuse/400"), "unknown": get("unknown", "refuse/401"),
            "forbidden": get("forbidden", "refuse/403"), "broken": get("broken", "refuse/500"),
        },
    })
}

const SCHEMA: &str = "type Query { hello: String }";

/// A capability file of this kind.
fn write(dirs: &TestDirs, id: &str, kind: &str, mut block: Value, auth: &Value) {
    block["auth"] = auth.clone();
    block["retries"] = json!(0);
    let key = match kind {
        OPENAPI => "openapiEndpoint",
        GOOGLE => "googleDiscoveryApi",
        _ => "graphqlEndpoint",
    };
    let file =
        json!({"name": id, "description": "An API that tells what it was sent.", key: block});
    dirs.write(format!("config/{id}/CAPLET.md"), format!("---\n{file}\n---\n"));
}

/// Every kind with every place, and a fetched description for each kind. Gives what to call.
fn deck(provider: &Provider) -> (TestDirs, Vec<(String, &'static str, Value)>) {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"policy": [{"allow": {}}]}));
    let (url, mut calls) = (&provider.url, Vec::new());
    let echo = json!({"path": {"more": "x"}, "query": {"q": "y"}});
    for (place, auth, suffix) in places() {
        let id = format!("openapi-{place}");
        dirs.write(format!("config/{id}/api.json"), openapi_document().to_string());
        let block = json!({"specPath": "./api.json", "baseUrl": format!("{url}/echo{suffix}")});
        write(&dirs, &id, OPENAPI, block, &auth);
        calls.push((id, "echo", echo.clone()));

        let id = format!("google-{place}");
        dirs.write(format!("config/{id}/api.json"), google_document().to_string());
        let block =
            json!({"discoveryPath": "./api.json", "baseUrl": format!("{url}/echo{suffix}/")});
        write(&dirs, &id, GOOGLE, block, &auth);
        calls.push((id.clone(), "echo", json!({"path": {"more": "x"}})));
        calls.push((id, "echo", json!({"path": {"more": "x"}, "filename": "reported.json"})));

        for kind in ["echo", "errors"] {
            let id = format!("graphql-{kind}-{place}");
            dirs.write(format!("config/{id}/schema.graphql"), SCHEMA);
            let block = json!({"schemaPath": "./schema.graphql", "endpointUrl": format!("{url}/{kind}/graphql{suffix}")});
            write(&dirs, &id, GRAPHQL, block, &auth);
            calls.push((id, "query_hello", json!({})));
        }
    }
    // Refusals of each kind.
    let auth = json!({"type": "bearer", "token": "$env:MY_SECRET"});
    dirs.write("config/openapi-refused/api.json", openapi_document().to_string());
    let block = json!({"specPath": "./api.json", "baseUrl": url});
    write(&dirs, "openapi-refused", OPENAPI, block, &auth);
    dirs.write("config/google-refused/api.json", google_document().to_string());
    let block = json!({"discoveryPath": "./api.json", "baseUrl": format!("{url}/")});
    write(&dirs, "google-refused", GOOGLE, block, &auth);
    for tool in ["bad", "unknown", "forbidden", "broken"] {
        calls.push(("openapi-refused".to_owned(), tool, json!({})));
        calls.push(("google-refused".to_owned(), tool, json!({})));
    }
    for status in ["400", "401", "403", "500"] {
        let id = format!("graphql-refused-{status}");
        dirs.write(format!("config/{id}/schema.graphql"), SCHEMA);
        let endpoint = format!("{url}/refuse/{status}");
        write(
            &dirs,
            &id,
            GRAPHQL,
            json!({"schemaPath": "./schema.graphql", "endpointUrl": endpoint}),
            &auth,
        );
        calls.push((id, "query_hello", json!({})));
    }
    // Descriptions behind a key, which repeat it: kept on disk, and asked about again.
    let repeating = |document: Value| {
        let text = document.to_string().replace("Tells", "Asked for at TARGET: tells");
        serde_json::from_str(&text).unwrap()
    };
    provider.says("/openapi.json", repeating(openapi_document()));
    provider.says("/google.json", repeating(google_document()));
    let key = "?key=$env:MY_SECRET";
    let block = json!({"specUrl": format!("{url}/openapi.json{key}"), "baseUrl": url});
    write(&dirs, "openapi-fetched", OPENAPI, block, &auth);
    let block =
        json!({"discoveryUrl": format!("{url}/google.json{key}"), "baseUrl": format!("{url}/")});
    write(&dirs, "google-fetched", GOOGLE, block, &auth);
    for id in ["openapi-fetched", "google-fetched"] {
        calls.push((id.to_owned(), "echo", json!({"path": {"more": "x"}})));
    }
    // Servers that give no description and say why, with all they were sent.
    for (id, kind, block) in [
        (
            "openapi-withheld",
            OPENAPI,
            json!({"specUrl": format!("{url}/refuse/403/api.json{key}"), "baseUrl": url}),
        ),
        (
            "google-withheld",
            GOOGLE,
            json!({"discoveryUrl": format!("{url}/refuse/403/api.json{key}"), "baseUrl": url}),
        ),
        (
            "graphql-withheld",
            GRAPHQL,
            json!({"introspection": true, "endpointUrl": format!("{url}/refuse/403")}),
        ),
        (
            "openapi-nonsense",
            OPENAPI,
            json!({"specUrl": format!("{url}/echo/api.json{key}"), "baseUrl": url}),
        ),
        (
            "google-nonsense",
            GOOGLE,
            json!({"discoveryUrl": format!("{url}/echo/api.json{key}"), "baseUrl": url}),
        ),
        (
            "graphql-nonsense",
            GRAPHQL,
            json!({"introspection": true, "endpointUrl": format!("{url}/echo/graphql")}),
        ),
    ] {
        write(&dirs, id, kind, block, &auth);
        calls.push((id.to_owned(), "echo", json!({})));
    }
    (dirs, calls)
}

/// Keeps the secret that some of them read from the vault.
fn fill_vault(dirs: &TestDirs) {
    let set = loud(dirs).args(["vault", "set", "STORED"]);
    set.stdin(FROM_VAULT).run().success();
    for kind in ["openapi", "google", "graphql-echo", "graphql-errors"] {
        for place in ["bearer", "vaulted"] {
            let id = format!("{kind}-{place}");
            loud(dirs).args(["vault", "grant", &id, "STORED"]).run().success();
        }
    }
}

#[test]
fn no_secret_comes_out_of_a_described_api() {
    let provider = Provider::start();
    let (dirs, calls) = deck(&provider);
    fill_vault(&dirs);
    let mut redacted = 0;
    let mut reported = 0;
    for (id, tool, arguments) in &calls {
        let arguments = arguments.to_string();
        let done = loud(&dirs).args(["call", id, tool, "--args", &arguments, "--json"]).run();
        assert_ne!(done.code, Some(255), "{id} {tool}: {done:?}");
        assert_clean(&format!("call {id} {tool}"), &format!("{}{}", done.stdout, done.stderr));
        redacted += usize::from(done.stdout.contains("[redacted]"));
        reported += usize::from(done.stdout.contains("target"));
    }
    assert!(redacted >= 20, "the servers did repeat what they were sent ({redacted}, {reported})");
    for kind in ["openapi", "google"] {
        for place in ["url", "refused", "fetched", "withheld", "nonsense"] {
            let id = &format!("{kind}-{place}");
            for words in
                [&["tools", id][..], &["describe", id, "echo"], &["why", id], &["inspect", id]]
            {
                let done = loud(&dirs).args(words).run();
                assert_clean(&format!("{words:?}"), &format!("{}{}", done.stdout, done.stderr));
            }
        }
    }
    for line in [
        "list --all",
        "check",
        "validate",
        "doctor",
        "budget",
        "search tells",
        "artifacts list",
        "vault list",
    ] {
        let done = loud(&dirs).args(line.split(' ')).arg("--json").run();
        assert_clean(line, &format!("{}{}", done.stdout, done.stderr));
    }
    let kept = loud(&dirs).args(["artifacts", "list", "--json"]).run().success().json();
    let kept = kept["items"].as_array().unwrap();
    assert!(kept.len() >= 4, "downloads are artifacts: {kept:?}");
    for artifact in kept {
        let uri = artifact["uri"].as_str().unwrap();
        let read = loud(&dirs).args(["artifacts", "read", uri]).run().success();
        assert!(read.stdout.contains("[redacted]"), "{}", read.stdout);
        assert_clean(uri, &format!("{}{}", read.stdout, read.stderr));
    }
    assert_clean_files(&dirs.state());
    assert_clean_files(&dirs.cache());
}

#[test]
fn no_secret_comes_out_of_a_host_over_http() {
    let provider = Provider::start();
    let (dirs, calls) = deck(&provider);
    fill_vault(&dirs);
    let log = dirs.root().join("log");
    {
        let host = loud(&dirs).stderr_to(&log).up(&[]);
        let mut client = host.client("/mcp");
        client.initialize();
        let mut redacted = 0;
        for (id, tool, arguments) in &calls {
            let arguments = json!({"name": format!("{id}__{tool}"), "data": arguments});
            let answer =
                client.request("tools/call", json!({"name": "call_tool", "arguments": arguments}));
            assert_clean(&format!("{id} {tool}"), &answer.to_string());
            redacted += usize::from(answer.to_string().contains("[redacted]"));
        }
        assert!(redacted >= 20, "the servers did repeat what they were sent ({redacted})");
        assert_clean("tools/list", &client.request("tools/list", json!({})).to_string());
        for path in ["/metrics", "/health", "/ready", "/mcp/server-card"] {
            let reply = client.send("GET", path, &[], b"");
            assert!(!reply.body.is_empty(), "{path}");
            assert_clean(path, &reply.body);
        }
        assert!(client.send("GET", "/metrics", &[], b"").body.contains("openapi-bearer"));
    }
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the host says all it can");
    assert_clean("the log", &log);
    assert_clean_files(&dirs.state());
    assert_clean_files(&dirs.cache());
}
