//! Which server a description leads to, as tables.

use serde_json::json;

use super::*;

fn document(value: Value) -> OpenApiDocument {
    OpenApiDocument::read(value.to_string().as_bytes(), None).unwrap()
}

fn rules(spec_url: Option<&str>, has_credentials: bool) -> ServerRules {
    ServerRules { base: None, spec_url: spec_url.map(|url| url.parse().unwrap()), has_credentials }
}

#[track_caller]
fn check(rules: &ServerRules, value: Value, expected: Result<&str, &str>) {
    let root = rules.root(&document(value.clone())).map(String::from);
    assert_eq!(root.as_deref().map_err(String::as_str), expected, "{value}");
}

fn servers(url: &str) -> Value {
    json!({"openapi": "3.0.0", "servers": [{"url": url}]})
}

#[test]
fn a_file_has_to_name_a_whole_address() {
    let file = rules(None, true);
    check(&file, servers("https://api.example/v1"), Ok("https://api.example/v1"));
    check(&file, servers("http://localhost:8080/v1"), Ok("http://localhost:8080/v1"));
    for (url, reason) in [
        ("/v1", "it is relative, and the description is a file"),
        ("api.example", "it is relative, and the description is a file"),
        ("http://api.example", "plain http is allowed for this machine only"),
        ("ftp://api.example", "it is neither http nor https"),
        ("https://me:secret@api.example", "it holds a user name or password"),
    ] {
        let message = format!("the server `{url}` cannot be used: {reason}");
        check(&file, servers(url), Err(&message));
    }
    check(
        &file,
        servers("https://api.example?key=1"),
        Err("the server `https://api.example` cannot be used: it has a query or a fragment"),
    );
    check(&file, json!({"openapi": "3.0.0"}), Err("it names no server"));
    check(&file, json!({"openapi": "3.0.0", "servers": []}), Err("it names no server"));
    check(&file, json!({"openapi": "3.0.0", "servers": [{}]}), Err("a server has no `url`"));
    check(&file, json!({"swagger": "2.0"}), Err("it names no `host`"));
}

#[test]
fn an_address_on_the_web_is_relative_to_the_description() {
    let web = rules(Some("https://docs.example/specs/api.json?v=2"), true);
    check(&web, servers("/v1"), Ok("https://docs.example/v1"));
    check(&web, servers("v1"), Ok("https://docs.example/specs/v1"));
    check(&web, json!({"openapi": "3.0.0"}), Ok("https://docs.example/"));
    check(&web, json!({"swagger": "2.0", "basePath": "v2"}), Ok("https://docs.example/v2"));
    check(&web, json!({"swagger": "2.0", "host": "docs.example"}), Ok("https://docs.example/"));
}

#[test]
fn a_description_from_elsewhere_does_not_get_the_credentials() {
    let elsewhere = servers("https://other.example");
    let address = Some("https://docs.example/api.json");
    check(&rules(address, false), elsewhere.clone(), Ok("https://other.example/"));
    check(
        &rules(address, true),
        elsewhere.clone(),
        Err(
            "the server `https://other.example` cannot be used: the description came from another origin, which must not decide where credentials go",
        ),
    );
    let base = "https://api.example/v3".parse().unwrap();
    let overridden = ServerRules { base: Some(base), ..rules(address, true) };
    check(&overridden, elsewhere, Ok("https://api.example/v3"));
    let part = document(json!({"openapi": "3.0.0", "x": servers("https://other.example")}));
    let node = part.root().get("x").unwrap();
    assert_eq!(overridden.of_part(&part, node), Ok(None));
}

#[test]
fn variables_take_their_defaults() {
    let file = rules(None, false);
    let with = |variables: Value| {
        json!({"openapi": "3.1.0", "servers": [
            {"url": "https://{region}.api.example:{port}/{base}", "variables": variables},
        ]})
    };
    check(
        &file,
        with(
            json!({"region": {"default": "eu", "enum": ["eu", "us"]}, "port": {"default": 8443}, "base": {"default": "v2"}}),
        ),
        Ok("https://eu.api.example:8443/v2"),
    );
    check(
        &file,
        with(
            json!({"region": {"enum": ["us"]}, "port": {"default": "443"}, "base": {"default": ""}}),
        ),
        Ok("https://us.api.example/"),
    );
    check(
        &file,
        with(json!({"region": {"default": "eu", "enum": ["us"]}})),
        Err(
            "the server `https://{region}.api.example:{port}/{base}` has a default for `region` that is none of its choices: `eu`",
        ),
    );
    check(
        &file,
        with(json!({"region": {"default": "eu"}})),
        Err("the server `https://{region}.api.example:{port}/{base}` has no default for `port`"),
    );
}

#[test]
fn swagger_has_its_own_words() {
    let file = rules(None, true);
    for (schemes, expected) in [
        (json!(["http", "https"]), "https://api.example:8443/v2"),
        (json!(["https"]), "https://api.example:8443/v2"),
        (json!([]), "https://api.example:8443/v2"),
        (json!("nonsense"), "https://api.example:8443/v2"),
    ] {
        let value = json!({"swagger": "2.0", "host": "api.example:8443", "basePath": "/v2", "schemes": schemes});
        check(&file, value, Ok(expected));
    }
    check(
        &file,
        json!({"swagger": 2.0, "host": "localhost:1", "schemes": ["http"]}),
        Ok("http://localhost:1/"),
    );
}
