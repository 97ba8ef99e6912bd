//! Names, groups, descriptions, answers, filters and their problems.

use super::*;

#[test]
fn operations_become_tools_with_groups() {
    let description = json!({
        "openapi": "3.0.3",
        "paths": {"/repos/{owner}/issues/{number}": {
            "parameters": [
                {"name": "owner", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "page", "in": "query", "schema": {"type": "string"}, "description": "replaced"},
            ],
            "get": {
                "operationId": " issues/get ",
                "summary": "Get an issue",
                "description": "Get an issue",
                "parameters": [
                    {"name": "page", "in": "query", "schema": {"type": "integer", "default": 1}, "description": "Page"},
                    {"name": "state", "in": "query", "required": true, "schema": {"enum": ["open", "closed"]}},
                    {"name": "X-Version", "in": "header", "schema": {"type": "string", "default": "2022"}},
                    {"name": "session", "in": "cookie", "deprecated": true, "schema": {"type": "string"}},
                    {"name": "lost", "in": "path", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}},
            },
        }},
    });
    let imported = imported(&description);
    assert_eq!(problems(&imported), Vec::<String>::new());
    assert_eq!(
        input_schema(&imported, "issues/get"),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "object", "properties": {"owner": {"type": "string"}, "number": {"type": "string"}},
                         "required": ["owner", "number"], "additionalProperties": false},
                "query": {"type": "object", "properties": {
                    "page": {"type": "integer", "default": 1, "description": "Page"},
                    "state": {"enum": ["open", "closed"]},
                }, "required": ["state"], "additionalProperties": false},
                "header": {"type": "object", "properties": {"X-Version": {"type": "string", "default": "2022"}}, "additionalProperties": false},
                "cookie": {"type": "object", "properties": {"session": {"type": "string", "deprecated": true}}, "additionalProperties": false},
            },
            "required": ["path", "query"],
            "additionalProperties": false,
        })
    );
    let tool = imported.tools.first().unwrap();
    assert_eq!(tool.title().as_deref(), Some("Get an issue"));
    assert_eq!(tool.description().as_deref(), Some("Get an issue"));
    let output: Value = serde_json::from_str(tool.output_schema().unwrap().get()).unwrap();
    assert_eq!(output["anyOf"][0]["properties"]["body"], json!({"type": "object"}));
}

#[test]
fn names_are_the_ids_and_otherwise_the_places() {
    let operation = |id: &str| json!({"operationId": id, "responses": {}});
    let imported = imported(&json!({"openapi": "3.1.0", "paths": {
        "/b": {"get": operation("same"), "post": {}},
        "/a": {"get": operation("same"), "put": operation("  "), "trace": {}, "query": {}, "x-note": {}},
        "/c": {"get": operation("GET /a")},
        "x-other": {"get": {}},
    }}));
    let names: Vec<&str> = imported.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["GET /a", "GET /c", "POST /b", "PUT /a", "TRACE /a", "same"]);
    assert_eq!(imported.operations["GET /a"].method, "GET");
    assert_eq!(problems(&imported), Vec::<String>::new());
}

#[test]
fn methods_tell_what_a_call_does() {
    let methods = ["get", "head", "options", "put", "post", "patch", "delete"];
    let operations: Map<String, Value> =
        methods.iter().map(|method| ((*method).to_owned(), json!({}))).collect();
    let imported = imported(&json!({"openapi": "3.0.0", "paths": {"/x": operations}}));
    for (method, expected) in [
        ("GET", [true, false, true]),
        ("HEAD", [true, false, true]),
        ("OPTIONS", [true, false, true]),
        ("PUT", [false, false, true]),
        ("POST", [false, false, false]),
        ("PATCH", [false, false, false]),
        ("DELETE", [false, true, true]),
    ] {
        let name = format!("{method} /x");
        let tool = imported.tools.iter().find(|tool| tool.name() == name).unwrap();
        let actual = ["readOnlyHint", "destructiveHint", "idempotentHint"]
            .map(|hint| tool.annotation(hint).unwrap());
        assert_eq!(actual, expected, "{method}");
    }
}

#[test]
fn descriptions_are_summaries_first_and_not_endless() {
    for (operation, title, expected) in [
        (json!({}), None, "POST /x".to_owned()),
        (json!({"summary": "S"}), Some("S"), "S".to_owned()),
        (json!({"description": "D"}), None, "D".to_owned()),
        (
            json!({"summary": "S", "description": "D", "deprecated": true}),
            Some("S"),
            "Deprecated. S\n\nD".to_owned(),
        ),
        (
            json!({"description": format!("{}\n\n{}", "a".repeat(300), "b".repeat(900))}),
            None,
            format!("{} …", "a".repeat(300)),
        ),
        (
            json!({"description": format!("{}. {}", "ä".repeat(300), "b".repeat(900))}),
            None,
            format!("{}. …", "ä".repeat(300)),
        ),
        (json!({"description": "ä".repeat(2000)}), None, format!("{}…", "ä".repeat(600))),
    ] {
        let imported = one_operation(operation);
        let tool = imported.tools.first().unwrap();
        assert_eq!(tool.title().as_deref(), title);
        assert_eq!(tool.description(), Some(expected));
    }
}

#[test]
fn answers_are_described_even_when_they_differ() {
    let body = |schema: Value| json!({"description": "", "content": {"application/json": {"schema": schema}}});
    for (responses, expected) in [
        (json!({"200": body(json!({"type": "string"}))}), Some(json!({"type": "string"}))),
        (
            json!({"200": body(json!({"type": "string"})), "201": body(json!({"type": "string"})), "204": {}}),
            Some(json!({"type": "string"})),
        ),
        (
            json!({"200": body(json!({"type": "string"})), "2XX": body(json!({"type": "object"}))}),
            Some(json!({"anyOf": [{"type": "string"}, {"type": "object"}]})),
        ),
        (
            json!({"default": body(json!({"type": "string"})), "404": body(json!({}))}),
            Some(json!({"type": "string"})),
        ),
        (json!({"200": {"content": {"text/plain": {}}}}), Some(json!({"type": "string"}))),
        (
            json!({"200": {"content": {"application/problem+json; charset=utf-8": {"schema": {"type": "null"}}}}}),
            Some(json!({"type": "null"})),
        ),
        (json!({"200": {"content": {"image/png": {}}}}), None),
        (json!({"204": {"description": ""}}), None),
        (json!({"404": body(json!({}))}), None),
        (json!(null), None),
    ] {
        let imported = one_operation(json!({"responses": responses}));
        let output = imported.tools.first().unwrap().output_schema().map(|raw| {
            let schema: Value = serde_json::from_str(raw.get()).unwrap();
            schema["anyOf"][0]["properties"]["body"].clone()
        });
        assert_eq!(output, expected, "{responses}");
    }
}

#[test]
fn filters_choose_by_id_place_and_tag() {
    let description = json!({"openapi": "3.0.0", "paths": {
        "/issues": {"get": {"operationId": "issues/list", "tags": ["issues"]}, "post": {"operationId": "issues/create", "tags": ["issues"]}},
        "/me": {"get": {"operationId": "whoami", "tags": ["users", "me"]}, "delete": {"tags": ["users"]}},
    }});
    for (include, exclude, expected) in [
        (vec![], vec![], vec!["DELETE /me", "issues/create", "issues/list", "whoami"]),
        (vec!["tag:issues"], vec!["POST *"], vec!["issues/list"]),
        (vec!["GET *"], vec![], vec!["issues/list", "whoami"]),
        (vec![], vec!["issues/*", "tag:me"], vec!["DELETE /me"]),
    ] {
        let block: OpenApiEndpoint = serde_json::from_value(json!({
            "specPath": "x", "includeOperations": include, "excludeOperations": exclude,
        }))
        .unwrap();
        let imported =
            imported_with(&description, &OpenApiImportRules { filter: filter(&block), ..rules() });
        let names: Vec<&str> = imported.tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, expected);
        assert_eq!(problems(&imported), Vec::<String>::new());
    }
    let block: OpenApiEndpoint =
        serde_json::from_value(json!({"specPath": "x", "includeOperations": ["isues/*"]})).unwrap();
    let imported =
        imported_with(&description, &OpenApiImportRules { filter: filter(&block), ..rules() });
    assert_eq!(problems(&imported), ["filters: the pattern `isues/*` meets no operation"]);
}

#[test]
fn one_broken_part_leaves_the_rest() {
    let imported = imported(&json!({"openapi": "3.0.0", "paths": {
        "/good": {"get": {"operationId": "good"}},
        "/broken-parameter": {"get": {"operationId": "partly", "parameters": [
            {"$ref": "#/components/parameters/Missing"}, 7, {"name": "a"}, {"in": "query"},
            {"name": "b", "in": "nowhere"}, {"name": "c", "in": "query", "style": "matrix"},
            {"name": "fine", "in": "query", "schema": {"$ref": "#/missing"}},
        ]}},
        "/broken-body": {"post": {"requestBody": {"$ref": "#/missing"}}, "put": {"requestBody": {}}, "patch": {"requestBody": {"content": {}}}},
        "/text": "nonsense",
        "/reference": {"$ref": "#/missing"},
        "/operation": {"get": []},
        "relative": {"get": {}},
    }}));
    let names: Vec<&str> = imported.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["good", "partly"]);
    assert_eq!(
        problems(&imported),
        [
            "/text: a path item is no object",
            "/reference: the reference `#/missing` leads to nothing",
            "GET /operation: the operation is no object",
            "GET /broken-parameter: the reference `#/components/parameters/Missing` leads to nothing; it is left out",
            "GET /broken-parameter: a parameter is no object; it is left out",
            "GET /broken-parameter: a parameter does not say where it goes (`in`); it is left out",
            "GET /broken-parameter: a parameter has no `name`; it is left out",
            "GET /broken-parameter: parameter `b` goes to an unknown place: `nowhere`; it is left out",
            "GET /broken-parameter: parameter `c` has the style `matrix`, which has no meaning in `query`; it is left out",
            "GET /broken-parameter: the reference `#/missing` leads to nothing; any value is accepted there",
            "PUT /broken-body: its request body has no `content`",
            "POST /broken-body: the reference `#/missing` leads to nothing",
            "PATCH /broken-body: its request body names no media type",
            "GET relative: the path does not start with `/`",
        ]
    );
}

#[test]
fn what_security_asks_and_the_definition_does_not_give_is_reported_once() {
    let description = json!({
        "openapi": "3.0.0",
        "security": [{"token": []}],
        "paths": {"/a": {"get": {}, "post": {"security": [{}, {"token": []}]}, "put": {"security": []}},
                  "/b": {"get": {}, "post": {"security": [{"basic": []}, {"key": []}]}, "put": {"security": [{"lost": []}]}}},
        "components": {"securitySchemes": {
            "token": {"type": "http", "scheme": "Bearer"},
            "basic": {"type": "http", "scheme": "basic"},
            "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        }},
    });
    let security_problems = |offer: AvailableAuth| {
        problems(&imported_with(&description, &OpenApiImportRules { offer, ..rules() }))
    };
    let not_given = "which the definition's `auth` does not give";
    let basic = format!(
        "security `basic`: 1 operation asks for a user name and password (HTTP basic), {not_given}"
    );
    let lost = format!(
        "security `lost`: 1 operation asks for a sign-in that the description does not explain, {not_given}"
    );
    let token = format!("security `token`: 2 operations ask for a bearer token, {not_given}");
    assert_eq!(
        security_problems(AvailableAuth::Nothing),
        [basic.clone(), lost.clone(), token.clone()]
    );
    assert_eq!(security_problems(AvailableAuth::Bearer), [basic, lost.clone()]);
    assert_eq!(
        security_problems(AvailableAuth::Headers(vec!["x-api-key".to_owned()])),
        [lost, token]
    );
}

#[test]
fn a_server_that_cannot_be_used_stops_only_those_that_need_it() {
    let mut description = json!({"openapi": "3.0.0", "servers": [{"url": "/v1"}], "paths": {
        "/a": {"get": {"operationId": "a"}},
        "/b": {"servers": [{"url": "https://b.example"}], "get": {"operationId": "b"},
               "post": {"operationId": "c", "servers": [{"url": "https://c.example/x"}]},
               "put": {"operationId": "d", "servers": [{"url": "http://d.example/x"}]}},
    }});
    let servers = ServerRules { base: None, ..rules().servers };
    let rules = OpenApiImportRules { servers, ..rules() };
    let imported = imported_with(&description, &rules);
    assert_eq!(imported.operations["b"].server.as_str(), "https://b.example/");
    assert_eq!(imported.operations["c"].server.as_str(), "https://c.example/x");
    assert_eq!(
        problems(&imported),
        [
            "PUT /b: the server `http://d.example/x` cannot be used: plain http is allowed for this machine only",
            "servers: the server `/v1` cannot be used: it is relative, and the description is a file; 1 operations have no other",
        ]
    );
    description["paths"].as_object_mut().unwrap().shift_remove("/b");
    let document = OpenApiDocument::read(description.to_string().as_bytes(), None).unwrap();
    assert_eq!(
        import(&document, &rules).unwrap_err(),
        "the server `/v1` cannot be used: it is relative, and the description is a file"
    );
}
