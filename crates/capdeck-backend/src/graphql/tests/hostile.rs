//! Broken, false and hostile schemas.

use std::fmt::Write as _;

use super::*;

#[test]
fn one_broken_part_takes_only_what_needs_it() {
    let schema = r"
        type Query {
            good: Good  lost: Nowhere  wrong: Filter  needs(a: Nowhere!): Int  spares(a: Nowhere, b: Int): Int
            deep(f: Filter): Int  deeper(f: Filter!): Int  __mine: Int  twice: Int  twice: String
        }
        type Good implements Missing & Filter { a: Int }
        type Hollow { x: Nowhere }
        union Both = Good | Hollow | Filter
        enum None
        input Filter { x: Nowhere! }
    ";
    let api = api(schema, json!({}));
    assert_eq!(names(&api), ["query_deep", "query_good", "query_spares", "query_twice"]);
    let found = problems(&api);
    let of = |place: &str| -> Vec<&str> {
        found.iter().filter(|(one, _)| one == place).map(|(_, reason)| reason.as_str()).collect()
    };
    assert_eq!(of("Query.lost"), ["its type `Nowhere` is not defined"]);
    assert_eq!(of("Query.wrong"), ["its type `Filter` is for input only"]);
    let expected = "its required argument `a` cannot be given: its type `Nowhere` is not defined";
    assert_eq!(of("Query.needs"), [expected]);
    assert_eq!(of("Query.spares(a:)"), ["its type `Nowhere` is not defined"]);
    assert_eq!(of("Query.deep(f:)"), ["its type `Filter` is not defined"]);
    assert_eq!(of("Query.deeper").len(), 1);
    assert_eq!(of("Filter"), ["a required field of it cannot be given"]);
    assert_eq!(of("Hollow"), ["it has no usable fields"]);
    assert_eq!(of("Query.twice").len(), 1);
    assert_eq!(of("Both").len(), 2, "{found:?}");
    assert_eq!(of("Good").len(), 2, "{found:?}");
}

#[test]
fn what_gives_no_schema_says_why() {
    for (text, expected) in [
        ("", "the schema is empty"),
        ("\u{feff}  \n", "the schema is empty"),
        ("<html>", "the schema has no usable `Query` or `Mutation` type: syntax error"),
        (
            "type Subscription { a: Int }",
            "the schema has no usable `Query` or `Mutation` type: it defines neither",
        ),
        ("{\"a\": ", "the schema is JSON, but not the answer to an introspection query: EOF"),
        (
            "{\"data\": null}",
            "the schema is JSON, but not the answer to an introspection query: it has no `__schema`",
        ),
        (
            "{\"errors\": [{\"message\": \"not for you\"}]}",
            "the server refused introspection: not for you",
        ),
    ] {
        let error = try_api(text, json!({})).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

fn introspection(types: &Value) -> String {
    json!({"data": {"__schema": {"queryType": {"name": "Query"}, "types": types}}}).to_string()
}

fn named(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "name": name})
}

#[test]
fn introspection_is_believed_in_nothing() {
    let int = named("SCALAR", "Int");
    let endless = (0..60).fold(int.clone(), |inner, _| json!({"kind": "LIST", "ofType": inner}));
    let types = json!([
        {"kind": "OBJECT", "name": "Query", "fields": [
            {"name": "good", "type": int, "args": [
                {"name": "a", "type": int, "defaultValue": "3"},
                {"name": "b", "type": int, "defaultValue": "3) { evil } #"},
                {"name": "c", "type": int, "defaultValue": "$x"},
            ]},
            {"name": "x } mutation { drop", "type": int},
            {"name": "good", "type": named("SCALAR", "String")},
            {"name": "lost", "type": named("OBJECT", "Nowhere")},
            {"name": "cut", "type": {"kind": "NON_NULL"}},
            {"name": "endless", "type": endless},
            {"name": "thing", "type": named("SCALAR", "Thing")},
            {"name": "any", "type": named("UNION", "Any")},
        ], "interfaces": [{"name": "Any"}]},
        {"kind": "OBJECT", "name": "Thing", "fields": [{"name": "id", "type": int}], "interfaces": []},
        {"kind": "UNION", "name": "Any", "possibleTypes": [{"name": "Thing"}, {"name": "Any"}, {"name": null}]},
        {"kind": "BLOB", "name": "Blob"},
        {"kind": "OBJECT", "name": "__Schema", "fields": []},
        {"kind": "OBJECT", "name": "Thing", "fields": []},
        {"kind": "OBJECT", "name": null},
    ]);
    let api = api(&introspection(&types), json!({}));
    assert_eq!(names(&api), ["query_any", "query_endless", "query_good", "query_thing"]);
    let documents: Vec<(&str, &str)> = api.documents().collect();
    let of = |name: &str| documents.iter().find(|(one, _)| *one == name).unwrap().1;
    assert_eq!(of("query_thing"), "query query_thing { thing { __typename id }}");
    assert_eq!(of("query_any"), "query query_any { any { __typename ... on Thing { id } }}");
    let good = "query query_good($a: Int, $b: Int, $c: Int) { good(a: $a, b: $b, c: $c) }";
    assert_eq!(of("query_good"), good);
    let input = &tool(&api.discovery(), "query_good")["inputSchema"]["properties"];
    assert_eq!((&input["a"]["default"], &input["b"]), (&json!(3), &json!({"type": "integer"})));
    assert_eq!(problems(&api).len(), 11, "{:#?}", problems(&api));
}

#[test]
fn a_type_that_leads_to_itself_many_times_stays_within_bounds() {
    let mut schema = String::from("type Query { a: A }\ntype A { id: ID");
    for number in 0..500 {
        write!(schema, " plain{number}: Int next{number}: A any{number}: Any").unwrap();
    }
    schema.push_str(" }\nunion Any = A");
    for number in 0..500 {
        write!(schema, " | M{number}").unwrap();
    }
    for number in 0..500 {
        writeln!(schema, "\ntype M{number} {{ id: Int{} a: A }}", ["", "!"][number % 2]).unwrap();
    }
    for depth in 1..=5 {
        let document = document(&schema, "query_a", depth);
        assert!(document.len() < 12_000, "{depth}: {}", document.len());
    }
}

#[test]
fn filters_over_every_table_are_described_as_far_as_there_is_room() {
    let tables = 90;
    let mut schema = String::from("type Query {");
    for table in 0..tables {
        write!(schema, " t{table}(where: t{table}_filter): Int").unwrap();
    }
    schema.push('}');
    for table in 0..tables {
        write!(
            schema,
            "\ninput t{table}_filter {{ _and: [t{table}_filter!] _not: t{table}_filter id: Int"
        )
        .unwrap();
        for other in 0..tables {
            write!(schema, " r{other}: t{other}_filter").unwrap();
        }
        schema.push_str(" }");
    }
    let input = input_schema(&schema, "query_t7");
    assert_eq!(input["$defs"].as_object().unwrap().len(), 6);
    let check = jsonschema::validator_for(&input).unwrap();
    assert!(
        check.is_valid(&json!({"where": {"r89": {"anything": {"at": "all"}}, "_not": {"id": 1}}}))
    );
    assert!(!check.is_valid(&json!({"where": {"_not": {"id": "one"}}})));
}

#[test]
fn the_directives_of_a_server_are_its_own_business() {
    let schema = r#"
        schema @link(url: "x") { query: Root }
        type Root @key(fields: "id") { id: ID! @auth(role: ADMIN)  name(a: Int @cost(n: 3)): String @shareable }
        extend type Elsewhere { x: Int }
        scalar Int
    "#;
    let api = api(schema, json!({}));
    assert_eq!(names(&api), ["query_id", "query_name"]);
    assert_eq!(problems(&api), []);
}

#[test]
fn problems_beyond_number_are_counted() {
    let mut schema = String::from("type Query { a: Int");
    for number in 0..2_000 {
        write!(schema, " x{number}: Nowhere").unwrap();
    }
    schema.push('}');
    let found = problems(&api(&schema, json!({})));
    assert_eq!(found.len(), 501);
    assert_eq!(found.last().unwrap().1, "1500 more problems are not listed");
}

#[test]
fn nesting_beyond_measure_ends_without_harm() {
    let lists =
        |depth: usize, inside: &str| format!("{}{inside}{}", "[".repeat(depth), "]".repeat(depth));
    for depth in [100, 450, 20_000] {
        for schema in [
            format!("type Query {{ fine: Int }} type Deep {{ deep: {} }}", lists(depth, "Int")),
            format!("type Query {{ fine(a: Int = {}): Int }}", lists(depth, "1")),
            format!("type Query {{ fine: Int }} {}", "{".repeat(depth)),
        ] {
            // The parser may accept or reject it; the test is that this returns.
            if let Ok(api) = try_api(&schema, json!({"queryTool": true})) {
                assert!(names(&api).contains(&"query".to_owned()));
            }
        }
        let document = format!("{}{}", "{ fine".repeat(depth), "}".repeat(depth));
        let operations = json!({"deep": {"document": document}});
        let api = api("type Query { fine: Query }", json!({"operations": operations}));
        assert_eq!((names(&api).len(), problems(&api).len()), (0, 1));
    }
}
