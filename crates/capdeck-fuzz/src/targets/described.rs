//! Documents that describe an API: OpenAPI, GraphQL schemas and Google Discovery, imported as a connection imports them.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, Vault};
use capdeck_backend::{CallContext, ConnectOptions, Connector, ConnectorSettings, ErrorCode};
use capdeck_catalog::{Discovery, NameTable, Tool};
use capdeck_definition::{CapabilityId, Definition, DefinitionSource, SourceLayer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::tool_definition;
use crate::{FuzzTarget, seeds};

/// Longer than any import takes; an import that is stuck is reported with its input.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);

/// One kind of document.
struct DocumentKind {
    seeds: &'static str,
    words: &'static [&'static str],
    /// The backend of a definition, with the document at this path.
    backend: fn(&Path) -> Value,
}

struct DescribedApiTarget {
    kind: DocumentKind,
    folder: TempDir,
    runtime: Runtime,
    connector: Connector,
}

pub(crate) fn openapi() -> Box<dyn FuzzTarget> {
    let backend = |path: &Path| json!({"kind": "openapi", "specPath": path, "baseUrl": "https://api.example", "auth": {"type": "none"}});
    open(DocumentKind { seeds: "crates/capdeck-fuzz/seeds/openapi", words: OPENAPI_WORDS, backend })
}

pub(crate) fn graphql() -> Box<dyn FuzzTarget> {
    let backend = |path: &Path| json!({"kind": "graphql", "schemaPath": path, "endpointUrl": "https://api.example/graphql", "auth": {"type": "none"}});
    open(DocumentKind { seeds: "crates/capdeck-fuzz/seeds/graphql", words: GRAPHQL_WORDS, backend })
}

pub(crate) fn google_discovery() -> Box<dyn FuzzTarget> {
    let backend = |path: &Path| json!({"kind": "googleDiscovery", "discoveryPath": path, "auth": {"type": "none"}});
    let seeds = "crates/capdeck-fuzz/seeds/google-discovery";
    open(DocumentKind { seeds, words: DISCOVERY_WORDS, backend })
}

fn open(kind: DocumentKind) -> Box<dyn FuzzTarget> {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connector = Connector::new(ConnectorSettings {
        environment: EnvironmentSnapshot::default(),
        project: None,
        vault: Vault::new(&nowhere, KeySettings::default()),
        artifacts_dir: nowhere.clone(),
        documents_dir: nowhere.clone(),
        inits_dir: nowhere,
        guardian: None,
        client_name: "capdeck".to_owned(),
        client_version: "0".to_owned(),
    });
    Box::new(DescribedApiTarget { kind, folder, runtime, connector })
}

impl FuzzTarget for DescribedApiTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files(self.kind.seeds, &[".json", ".yaml", ".graphql"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        self.kind.words
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let file = self.folder.path().join("document");
        fs::write(&file, input).unwrap();
        let definition = Definition::new(
            CapabilityId::new("api").unwrap(),
            serde_json::from_value((self.kind.backend)(&file)).unwrap(),
            DefinitionSource { layer: SourceLayer::UserFile, path: PathBuf::from("/api.md") },
        );
        let outcome = self.runtime.block_on(async {
            let connection =
                self.connector.connect(&definition, ConnectOptions::default()).await.unwrap();
            let outcome = connection.discover(&CallContext::detached(IMPORT_TIMEOUT)).await;
            connection.close().await;
            outcome
        });
        match outcome {
            Ok(discovery) => check_discovery(&discovery),
            Err(error) => {
                assert!(!error.message.is_empty(), "a refusal says nothing");
                assert_ne!(error.code, ErrorCode::InternalError, "{error}");
                format!("refused {:?} {}", error.code, words_of(&error.message))
            }
        }
    }
}

fn check_discovery(discovery: &Discovery) -> String {
    let mut names = HashSet::new();
    let pairs = discovery.tools.iter().map(|tool| ("api", tool.name()));
    let table = NameTable::build(&[], ["api"], pairs);
    let mut kinds = BTreeSet::new();
    for tool in &discovery.tools {
        assert!(names.insert(tool.name()), "two tools are called {:?}", tool.name());
        let offered = table.tool_name("api", tool.name()).unwrap();
        let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        assert!(
            (1..=64).contains(&offered.len()) && offered.chars().all(is_legal),
            "{:?} is offered as {offered:?}",
            tool.name()
        );
        check_tool(tool);
        kinds.insert(tool.output_schema().is_some());
    }
    for problem in &discovery.problems {
        assert!(
            !problem.place.is_empty() && !problem.reason.is_empty(),
            "{problem:?} says nothing"
        );
    }
    let reasons: BTreeSet<String> =
        discovery.problems.iter().map(|problem| words_of(&problem.reason)).collect();
    format!("{} {kinds:?} {reasons:?}", discovery.tools.len().min(9))
}

/// A tool that a client gets as it is, and that everything here that looks at tools can take.
fn check_tool(tool: &Tool) {
    let name = tool.name();
    if let Some(problem) = tool.argument_check().problem() {
        panic!("the input schema of {name:?} does not compile: {problem}");
    }
    let schemas = [tool.input_schema(), tool.output_schema()];
    for schema in schemas.into_iter().flatten() {
        let schema: Value = serde_json::from_str(schema.get())
            .unwrap_or_else(|error| panic!("a schema of {name:?} is not JSON: {error}"));
        assert_eq!(schema["type"], "object", "a schema of {name:?} is not one of objects");
        if let Err(error) = jsonschema::options().offline().build(&schema) {
            panic!("a schema of {name:?} does not compile: {error}");
        }
    }
    tool_definition::check_tool(tool);
}

/// A message without what it quotes from the document.
fn words_of(message: &str) -> String {
    let outside = message.split(['`', '"', '\'']).step_by(2);
    let words: String = outside.collect::<Vec<_>>().join("_");
    words.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect()
}

const OPENAPI_WORDS: &[&str] = &[
    "openapi",
    "swagger",
    "3.0.3",
    "3.1.0",
    "2.0",
    "info",
    "servers",
    "url",
    "variables",
    "default",
    "paths",
    "parameters",
    "operationId",
    "requestBody",
    "responses",
    "content",
    "application/json",
    "multipart/form-data",
    "application/x-www-form-urlencoded",
    "text/plain",
    "*/*",
    "schema",
    "encoding",
    "contentType",
    "style",
    "form",
    "deepObject",
    "spaceDelimited",
    "pipeDelimited",
    "matrix",
    "label",
    "simple",
    "explode",
    "allowReserved",
    "in",
    "path",
    "query",
    "header",
    "cookie",
    "body",
    "formData",
    "name",
    "required",
    "security",
    "securitySchemes",
    "components",
    "schemas",
    "$ref",
    "#/components/schemas/Pet",
    "#/paths/~1b",
    "#/definitions/D",
    "#",
    "other.yaml#/a",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "items",
    "prefixItems",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "$defs",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$schema",
    "type",
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "null",
    "file",
    "nullable",
    "format",
    "binary",
    "byte",
    "uuid",
    "enum",
    "const",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxItems",
    "uniqueItems",
    "discriminator",
    "mapping",
    "readOnly",
    "writeOnly",
    "deprecated",
    "get",
    "put",
    "post",
    "delete",
    "patch",
    "head",
    "options",
    "trace",
    "tags",
    "summary",
    "description",
    "/{a}/{b}",
    "/{a}{a}",
    "{",
    "200",
    "2XX",
    "collectionFormat",
    "multi",
    "consumes",
    "produces",
    "host",
    "basePath",
];

const GRAPHQL_WORDS: &[&str] = &[
    "type ",
    "interface ",
    "union ",
    "enum ",
    "input ",
    "scalar ",
    "schema ",
    "extend ",
    "directive ",
    "implements ",
    "query",
    "mutation",
    "subscription",
    "fragment ",
    " on ",
    "Query",
    "Mutation",
    "String",
    "Int",
    "Float",
    "Boolean",
    "ID",
    "!",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ":",
    "=",
    "|",
    "&",
    "@",
    "@deprecated",
    "@oneOf",
    "@include(if: true)",
    "@specifiedBy(url: \"x\")",
    "repeatable",
    "$",
    "...",
    "\"\"\"",
    "\"",
    "\\u{110000}",
    "\\uD83D",
    "#",
    "__typename",
    "__schema",
    "__Type",
    "null",
    "true",
    "-0",
    "1e400",
    "99999999999999999999",
    "data",
    "types",
    "kind",
    "name",
    "ofType",
    "NON_NULL",
    "LIST",
    "OBJECT",
    "INPUT_OBJECT",
    "SCALAR",
    "ENUM",
    "UNION",
    "INTERFACE",
    "fields",
    "args",
    "inputFields",
    "defaultValue",
    "interfaces",
    "enumValues",
    "possibleTypes",
    "directives",
    "queryType",
    "isDeprecated",
    "extend type Query { a: Int }",
    "type A { a: A! }",
    "input I { i: I! }",
    "interface X implements X { a: Int }",
];

const DISCOVERY_WORDS: &[&str] = &[
    "kind",
    "discovery#restDescription",
    "rootUrl",
    "servicePath",
    "baseUrl",
    "batchPath",
    "parameters",
    "schemas",
    "resources",
    "methods",
    "id",
    "httpMethod",
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "path",
    "flatPath",
    "{+a}",
    "{a}",
    "{/a*}",
    "{?a}",
    "things/{+thingId}",
    "location",
    "query",
    "path",
    "required",
    "repeated",
    "pattern",
    "type",
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "any",
    "format",
    "int64",
    "uint64",
    "int32",
    "byte",
    "date-time",
    "google-datetime",
    "google-fieldmask",
    "minimum",
    "maximum",
    "default",
    "enum",
    "enumDescriptions",
    "$ref",
    "Thing",
    "properties",
    "additionalProperties",
    "items",
    "annotations",
    "variant",
    "discriminant",
    "map",
    "type_value",
    "request",
    "response",
    "parameterOrder",
    "scopes",
    "supportsMediaUpload",
    "supportsMediaDownload",
    "mediaUpload",
    "accept",
    "maxSize",
    "10GB",
    "protocols",
    "simple",
    "resumable",
    "multipart",
    "/upload/things",
    "deprecated",
    "readOnly",
    "auth",
    "oauth2",
];
