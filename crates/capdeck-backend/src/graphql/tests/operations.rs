//! Tests of the operations and their documents.

use super::*;

const SHOP: &str = r#"
    type Query { hello: String!  person(id: ID!): Person  search(text: String!): [Hit!]!  nodes(first: Int = 5): [Node] }
    type Mutation { rename(id: ID!, name: String): Person }
    type Subscription { changes: String }
    interface Node { id: ID! }
    type Person implements Node {
        id: ID!  name: String  old: String @deprecated(reason: "gone")  friends(first: Int): [Person!]
        best: Person  note(lang: String!): String  secret(lang: String!): Person
    }
    type Place implements Node { id: ID!  name: String!  people(first: Int = 3): [Person] }
    union Hit = Person | Place
"#;

#[test]
fn each_root_field_is_an_operation_and_subscriptions_are_left_out() {
    let api = api(SHOP, json!({}));
    let expected =
        ["mutation_rename", "query_hello", "query_nodes", "query_person", "query_search"];
    assert_eq!(names(&api), expected);
    let left_out = "subscriptions cannot be called as tools: 1 left out (`changes`)";
    assert_eq!(problems(&api), [("Subscription".to_owned(), left_out.to_owned())]);
    let discovery = api.discovery();
    let rename = tool(&discovery, "mutation_rename");
    assert_eq!(rename["annotations"], json!({"readOnlyHint": false, "destructiveHint": true}));
    assert_eq!(rename["description"], "`Mutation.rename`, which gives `Person`");
    let hello = tool(&discovery, "query_hello");
    assert_eq!(hello["annotations"], json!({"readOnlyHint": true, "destructiveHint": false}));
}

#[test]
fn documents_are_whole_at_every_depth() {
    for (tool, depth, expected) in [
        ("query_hello", 3, "query query_hello { hello }"),
        (
            "query_person",
            1,
            "query query_person($id: ID!) { person(id: $id) { __typename id name }}",
        ),
        (
            "query_person",
            2,
            "query query_person($id: ID!) { person(id: $id) { __typename id name \
             friends(first: 10) { __typename id name } best { __typename id name } }}",
        ),
        (
            "mutation_rename",
            1,
            "mutation mutation_rename($id: ID!, $name: String) { rename(id: $id, name: $name) { __typename id name }}",
        ),
        (
            "query_search",
            1,
            "query query_search($text: String!) { search(text: $text) { __typename \
             ... on Person { id name } ... on Place { id name_Place: name } }}",
        ),
        (
            "query_nodes",
            1,
            "query query_nodes($first: Int) { nodes(first: $first) { __typename id \
             ... on Person { name } ... on Place { name_Place: name } }}",
        ),
    ] {
        assert_eq!(document(SHOP, tool, depth), expected, "{tool} at {depth}");
    }
}

#[test]
fn deprecated_fields_are_asked_for_on_request_only() {
    let api = api(SHOP, json!({"selectionDepth": 1, "includeDeprecated": true}));
    let (_, document) = api.documents().find(|(name, _)| *name == "query_person").unwrap();
    assert!(document.contains(" old "), "{document}");
}

#[test]
fn configured_operations_are_checked_one_by_one() {
    let operations = json!({
        "person": {"document": "query ($id: ID!) { person(id: $id) { name } }", "description": "One person", "useWhen": "often"},
        "typo": {"document": "query {\n  hello\n  persn(id: 1) { name }\n}"},
        "several": {"document": "query A { hello } query B { hello }"},
        "chosen": {"document": "query A { hello } mutation B { rename(id: 1) { id } }", "operationName": "B"},
        "unnamed": {"document": "{ hello }", "operationName": "B"},
        "live": {"document": "subscription { changes }"},
        "nowhere": {"documentPath": "/does/not/exist.graphql"},
    });
    let api = api(SHOP, json!({"operations": operations}));
    assert_eq!(names(&api), ["chosen", "person"]);
    let discovery = api.discovery();
    let person = tool(&discovery, "person");
    assert_eq!(
        (&person["description"], &person["useWhen"]),
        (&json!("One person"), &json!("often"))
    );
    let chosen = tool(&discovery, "chosen");
    assert_eq!(chosen["description"], "The GraphQL mutation `B`");
    assert_eq!(chosen["annotations"]["destructiveHint"], true);
    let found = problems(&api);
    let reasons: Vec<(&str, &str)> =
        found.iter().map(|(place, reason)| (place.as_str(), reason.as_str())).collect();
    let [typo, several, unnamed, live, nowhere] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert_eq!(*typo, ("typo", "line 3, column 3: type `Query` does not have a field `persn`"));
    let expected = "the document has several operations: name one of `A`, `B` in `operationName`";
    assert_eq!(*several, ("several", expected));
    assert_eq!(unnamed.1, "the document has no operation `B`; its one has no name");
    assert_eq!(*live, ("live", "subscriptions cannot be called as tools"));
    assert!(nowhere.1.starts_with("`/does/not/exist.graphql` cannot be read"), "{nowhere:?}");
}

#[test]
fn the_query_tool_is_offered_on_request_and_marked_by_what_it_may_do() {
    assert!(!names(&api(SHOP, json!({"queryTool": false}))).contains(&"query".to_owned()));
    for (setting, mutations) in
        [(json!(true), false), (json!({"mutations": true}), true), (json!({}), false)]
    {
        let discovery = api(SHOP, json!({"queryTool": setting})).discovery();
        let expected = json!({"readOnlyHint": !mutations, "destructiveHint": mutations});
        assert_eq!(tool(&discovery, "query")["annotations"], expected, "{setting}");
    }
    let operations = json!({"query": {"document": "{ hello }"}});
    let api = api(SHOP, json!({"queryTool": true, "operations": operations}));
    assert_eq!(names(&api), ["query"]);
    assert_eq!(problems(&api).len(), 1);
}
