//! GraphQL APIs against a real server on this machine.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{body::Bytes, extract::Request, response::Response};
use capdeck_backend::{Connection, ErrorCode};
use capdeck_catalog::Discovery;
use serde_json::{Value, json};

use crate::{
    http::{respond, serve},
    support::{Deck, call, context, definition},
};

const SCHEMA: &str = r"
    type Query { person(id: ID!): Person  hello: String }
    type Mutation { rename(id: ID!, name: String!): Person }
    type Subscription { changes: String }
    type Person { id: ID!  name: String  best: Person }
";

/// What the server was asked, in order.
type Asked = Arc<Mutex<Vec<Value>>>;

/// Starts a server that answers each body with this function and remembers it.
async fn server(answer: impl Fn(&Value) -> Response + Send + Sync + 'static) -> (String, Asked) {
    let asked = Asked::default();
    let remembered = Arc::clone(&asked);
    let base = serve(move |path, request: &Request<Bytes>| {
        if request.method() == "GET" {
            let trusted = request.headers().contains_key("authorization");
            remembered.lock().unwrap().push(json!({"path": path, "trusted": trusted}));
            return respond(200, "text/plain", SCHEMA);
        }
        let mut body: Value = serde_json::from_slice(request.body()).unwrap();
        let response = answer(&body);
        body["accept"] = request.headers()["accept"].to_str().unwrap().into();
        remembered.lock().unwrap().push(body);
        response
    })
    .await;
    (base, asked)
}

fn json_answer(value: &Value) -> Response {
    respond(200, "application/json", value.to_string())
}

/// A deck with the schema in a file, and a block that names it.
fn with_schema(base: &str, more: Value) -> (Deck, Value) {
    let deck = Deck::new(&[]);
    let path = deck.folder.path().join("schema.graphql");
    std::fs::write(&path, SCHEMA).unwrap();
    let mut block = json!({
        "kind": "graphql", "endpointUrl": format!("{base}/graphql"),
        "schemaPath": path.to_str().unwrap(), "auth": {"type": "none"},
    });
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (deck, block)
}

async fn discover(connection: &Arc<dyn Connection>) -> Discovery {
    connection.discover(&context(Duration::from_secs(20))).await.unwrap()
}

fn names(discovery: &Discovery) -> Vec<&str> {
    discovery.tools.iter().map(|tool| tool.name()).collect()
}

#[tokio::test]
async fn an_operation_is_sent_as_a_document_with_variables() {
    let data = json!({"data": {"person": {"id": "1", "name": "Ada"}}, "extensions": {"cost": 3}});
    let answer = data.clone();
    let (base, asked) = server(move |_| json_answer(&answer)).await;
    let (deck, block) = with_schema(&base, json!({"selectionDepth": 1}));
    let result = deck.call(block, "query_person", json!({"id": "1"})).await.unwrap();
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["status"], 200);
    assert_eq!(result["structuredContent"]["body"], data);
    let sent = asked.lock().unwrap().pop().unwrap();
    let expected = json!({
        "query": "query query_person($id: ID!) { person(id: $id) { __typename id name }}",
        "variables": {"id": "1"},
        "operationName": "query_person",
        "accept": "application/graphql-response+json, application/json;q=0.9, */*;q=0.1",
    });
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn errors_of_the_server_are_errors_and_nothing_is_lost() {
    let partial = json!({
        "data": {"person": null, "hello": "x"},
        "errors": [{"message": "no such person", "path": ["person", 0, "name"], "extensions": {"code": "GONE"}}],
    });
    let empty = json!({"data": {"hello": "x"}, "errors": []});
    for (status, mime, body, is_error, reported) in [
        (
            200,
            "application/json",
            partial.to_string(),
            true,
            "- no such person (at `person.0.name`)",
        ),
        (200, "application/json", empty.to_string(), false, "{\"data\""),
        (
            400,
            "application/graphql-response+json",
            "{\"errors\": [{\"message\": \"bad\"}]}".to_owned(),
            true,
            "HTTP 400",
        ),
        (200, "text/html", "<html>sign in</html>".to_owned(), true, "not that of a GraphQL server"),
        (200, "application/json", "[1]".to_owned(), true, "not that of a GraphQL server"),
        (500, "text/plain", "out of order".to_owned(), true, "HTTP 500"),
    ] {
        let answer = body.clone();
        let (base, _) = server(move |_| respond(status, mime, answer.clone())).await;
        let (deck, block) = with_schema(&base, json!({}));
        let result = deck.call(block, "query_hello", json!({})).await.unwrap();
        assert_eq!(result["isError"], is_error, "{body}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(reported), "{result}");
        let structured = &result["structuredContent"];
        assert_eq!(structured["status"], status);
        let whole = serde_json::from_str(&body).unwrap_or_else(|_| Value::from(body.as_str()));
        assert_eq!(structured["body"], whole);
    }
}

#[tokio::test]
async fn errors_beyond_what_fits_a_message_are_found() {
    let filler = "x".repeat(2_000_000);
    for errors in [json!([{"message": "late"}]), json!([])] {
        let body = json!({"data": {"hello": filler}, "errors": errors}).to_string();
        let (base, _) = server(move |_| respond(200, "application/json", body.clone())).await;
        let (deck, block) = with_schema(&base, json!({}));
        let result = deck.call(block, "query_hello", json!({})).await.unwrap();
        assert_eq!(result["isError"], errors != json!([]));
        let uri = result["structuredContent"]["uri"].as_str().unwrap();
        let (_, kept) = deck.connector.artifacts().read(uri).await.unwrap();
        assert!(kept.len() > 2_000_000);
    }
}

#[tokio::test]
async fn the_schema_comes_from_a_url_with_credentials_only_at_home() {
    let (base, asked) = server(|_| json_answer(&json!({"data": {}}))).await;
    let (elsewhere, asked_elsewhere) = server(|_| json_answer(&json!({"data": {}}))).await;
    for (place, asked, trusted) in [(&base, &asked, true), (&elsewhere, &asked_elsewhere, false)] {
        let block = json!({
            "kind": "graphql", "endpointUrl": format!("{base}/graphql"),
            "schemaUrl": format!("{place}/schema.graphql"), "auth": {"type": "bearer", "token": "tok"},
        });
        let deck = Deck::new(&[]);
        let connection = deck.connect(block).await.unwrap();
        assert_eq!(
            names(&discover(&connection).await),
            ["mutation_rename", "query_hello", "query_person"]
        );
        let expected = json!({"path": "/schema.graphql", "trusted": trusted});
        assert_eq!(*asked.lock().unwrap(), [expected]);
    }
}

#[tokio::test]
async fn an_old_server_is_asked_in_its_own_words() {
    let answer = |body: &Value| {
        if body["query"].as_str().unwrap().contains("specifiedByURL") {
            let refusal = json!({"errors": [{"message": "unknown field specifiedByURL"}]});
            return respond(400, "application/json", refusal.to_string());
        }
        let string = json!({"kind": "SCALAR", "name": "String"});
        json_answer(&json!({"data": {"__schema": {
            "queryType": {"name": "Query"},
            "types": [{"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
                {"name": "hello", "args": [], "type": string, "isDeprecated": false},
            ]}],
            "directives": [],
        }}}))
    };
    let (base, asked) = server(answer).await;
    let block = json!({"kind": "graphql", "endpointUrl": base, "introspection": true, "auth": {"type": "none"}});
    let connection = Deck::new(&[]).connect(block).await.unwrap();
    assert_eq!(names(&discover(&connection).await), ["query_hello"]);
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_schema_that_is_not_given_says_what_to_do() {
    for (status, body, code, message) in [
        (401, "", ErrorCode::AuthRequired, "the schema was not given: HTTP 401 Unauthorized"),
        (
            503,
            "",
            ErrorCode::ServerUnavailable,
            "the schema was not given: HTTP 503 Service Unavailable",
        ),
        (
            200,
            "{\"errors\": [{\"message\": \"introspection is off\"}]}",
            ErrorCode::ServerUnavailable,
            "the server refused introspection: introspection is off",
        ),
        (
            200,
            "<html>",
            ErrorCode::DownstreamProtocolError,
            "the server answered the question for its schema with something that is no JSON object",
        ),
    ] {
        let (base, _) = server(move |_| respond(status, "application/json", body)).await;
        let block = json!({"kind": "graphql", "endpointUrl": base, "introspection": true, "auth": {"type": "none"}});
        let connection = Deck::new(&[]).connect(block).await.unwrap();
        let error = connection.discover(&context(Duration::from_secs(20))).await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.starts_with(message), "{error}");
        assert!(error.hint.is_some());
    }
    // The last one never ends.
    for path in ["/does/not/exist.graphql", "/dev/zero"] {
        let missing = json!({
            "kind": "graphql", "endpointUrl": "https://api.example", "schemaPath": path,
            "auth": {"type": "none"},
        });
        let connection = Deck::new(&[]).connect(missing).await.unwrap();
        let error = connection.discover(&context(Duration::from_secs(20))).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid);
        let message = format!("the description `{path}` cannot be read: ");
        assert!(error.message.starts_with(&message), "{error}");
    }
}

#[tokio::test]
async fn a_free_document_is_checked_before_it_is_sent() {
    let (base, asked) = server(|_| json_answer(&json!({"data": {"hello": "x"}}))).await;
    let (deck, block) = with_schema(&base, json!({"queryTool": true}));
    let connection = deck.connect(block).await.unwrap();
    let context = context(Duration::from_secs(20));
    for (query, code, message, hint) in [
        (
            "query {\n  helo\n}",
            ErrorCode::RequestInvalid,
            "the document does not match the schema: line 2, column 3: type `Query` does not have a field `helo`",
            "`Query.helo`: did you mean `hello`?",
        ),
        (
            "{ person(di: 1) { nme ... on Persn { id } } }",
            ErrorCode::RequestInvalid,
            "the document does not match the schema: line 1",
            "`Query.person(di:)`: did you mean `id`?; `Person.nme`: did you mean `name`?; `Persn`: did you mean `Person`?",
        ),
        (
            "{ hello",
            ErrorCode::RequestInvalid,
            "the document does not match the schema: line 1",
            "",
        ),
        (
            "query A { hello } query B { hello }",
            ErrorCode::RequestInvalid,
            "the document does not match the schema: the document has several",
            "",
        ),
        (
            "mutation { rename(id: 1, name: \"x\") { id } }",
            ErrorCode::Denied,
            "the document holds a mutation",
            "call the tool of that mutation",
        ),
        (
            "query A { hello } mutation B { rename(id: 1, name: \"x\") { id } }",
            ErrorCode::RequestInvalid,
            "the document does not match the schema: the document has several",
            "",
        ),
        (
            "subscription { changes }",
            ErrorCode::RequestInvalid,
            "the document holds a subscription",
            "",
        ),
    ] {
        let error =
            call(&connection, "query", json!({"query": query}), &context).await.unwrap_err();
        assert_eq!(error.code, code, "{query}: {error}");
        assert!(error.message.starts_with(message), "{query}: {error}");
        assert!(error.hint.unwrap_or_default().starts_with(hint), "{query}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    let arguments = json!({
        "query": "query A($id: ID!) { person(id: $id) { id } __type(name: \"Person\") { name } } query B { hello }",
        "variables": {"id": 7}, "operationName": "A",
    });
    let result = call(&connection, "query", arguments.clone(), &context).await.unwrap();
    assert_eq!(result["isError"], false);
    let sent = asked.lock().unwrap().pop().unwrap();
    for key in ["query", "variables", "operationName"] {
        assert_eq!(sent[key], arguments[key]);
    }
}

#[tokio::test]
async fn a_free_mutation_needs_the_word_of_the_file() {
    let (base, asked) = server(|_| json_answer(&json!({"data": {"rename": null}}))).await;
    let (deck, block) = with_schema(&base, json!({"queryTool": {"mutations": true}}));
    let connection = deck.connect(block).await.unwrap();
    let discovery = discover(&connection).await;
    let query = discovery.tools.iter().find(|tool| tool.name() == "query").unwrap();
    assert_eq!(query.annotation("destructiveHint"), Some(true));
    let arguments = json!({"query": "mutation { rename(id: 1, name: \"x\") { id } }"});
    let result =
        call(&connection, "query", arguments, &context(Duration::from_secs(20))).await.unwrap();
    assert_eq!(result["isError"], false);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_secret_in_a_document_is_in_no_finding() {
    let deck = Deck::new(&[("API_TOKEN", "canary_of_this_test")]);
    let path = deck.folder.path().join("schema.graphql");
    std::fs::write(&path, SCHEMA).unwrap();
    let block = json!({
        "kind": "graphql", "endpointUrl": "https://api.example", "schemaPath": path.to_str().unwrap(),
        "auth": {"type": "none"},
        "operations": {"bad": {"document": "{ ${API_TOKEN} }"}, "good": {"document": "{ hello }"}},
    });
    let discovery = discover(&deck.connect(block).await.unwrap()).await;
    assert_eq!(names(&discovery), ["good"]);
    let reported = serde_json::to_string(&discovery).unwrap();
    assert!(
        reported.contains("does not have a field") && !reported.contains("canary"),
        "{reported}"
    );
}

#[tokio::test]
async fn what_is_missing_is_reported_without_connecting() {
    let (deck, block) = with_schema("http://127.0.0.1:9", json!({}));
    assert_eq!(deck.connector.check(&definition(block.clone())).len(), 0);
    let mut broken = block;
    broken["endpointUrl"] = "http://api.example".into();
    broken["schemaPath"] = "/does/not/exist.graphql".into();
    broken["operations"] =
        json!({"a": {"documentPath": "/nor/this.graphql"}, "b": {"document": "{ hello }"}});
    let found = deck.connector.check(&definition(broken));
    let messages: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
    let [endpoint, schema, document] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(endpoint.starts_with("`endpointUrl` cannot be used"), "{endpoint}");
    assert!(
        schema.starts_with("the schema, `/does/not/exist.graphql`, cannot be read"),
        "{schema}"
    );
    assert!(document.starts_with("the document of `a`, `/nor/this.graphql`"), "{document}");
}

#[tokio::test]
async fn unknown_tools_and_addresses_are_refused() {
    let (base, _) = server(|_| json_answer(&json!({"data": {}}))).await;
    let (deck, block) = with_schema(&base, json!({}));
    let error = deck.call(block, "query", json!({"query": "{ hello }"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    for (address, reason) in [
        ("http://api.example/graphql", "plain http is allowed for this machine only"),
        ("file:///etc/passwd", "it is neither http nor https"),
        ("graphql", "relative URL without a base"),
    ] {
        let (deck, mut block) = with_schema(&base, json!({}));
        block["endpointUrl"] = address.into();
        let error = deck.connect(block).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid);
        assert_eq!(error.message, format!("`endpointUrl` cannot be used: {reason}"));
    }
}

#[tokio::test]
async fn queries_are_sent_again_and_mutations_never() {
    for (tool, arguments, times) in [
        ("query_hello", json!({}), 2),
        ("mutation_rename", json!({"id": 1, "name": "x"}), 1),
        ("query", json!({"query": "{ hello }"}), 2),
        ("query", json!({"query": "mutation { rename(id: 1, name: \"x\") { id } }"}), 1),
        (
            "query",
            json!({"query": "query A { hello } mutation B { rename(id: 1, name: \"x\") { id } }", "operationName": "A"}),
            2,
        ),
        (
            "query",
            json!({"query": "query A { hello } mutation B { rename(id: 1, name: \"x\") { id } }", "operationName": "B"}),
            1,
        ),
    ] {
        let is_first = std::sync::atomic::AtomicBool::new(true);
        let (base, asked) = server(move |_| {
            if is_first.swap(false, std::sync::atomic::Ordering::SeqCst) {
                respond(503, "text/plain", "later")
            } else {
                json_answer(&json!({"data": {"hello": "x"}}))
            }
        })
        .await;
        let (deck, block) = with_schema(&base, json!({"queryTool": {"mutations": true}}));
        let result = deck.call(block, tool, arguments.clone()).await.unwrap();
        assert_eq!(result["isError"], times == 1, "{arguments}: {result}");
        assert_eq!(asked.lock().unwrap().len(), times, "{arguments}");
    }
}
