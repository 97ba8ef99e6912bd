//! Whole descriptions, imported without a server.

mod bodies;
mod hostile;
mod operations;
mod requests;

use serde_json::json;

use super::*;

/// Rules that let everything through and need no server in the description.
fn rules() -> OpenApiImportRules {
    OpenApiImportRules {
        servers: ServerRules {
            base: Some("https://api.example/v1".parse().unwrap()),
            spec_url: None,
            has_credentials: false,
        },
        filter: OperationFilter::default(),
        offer: AvailableAuth::Nothing,
    }
}

fn imported_with(description: &Value, rules: &OpenApiImportRules) -> OpenApiImport {
    let read = || {
        let document = OpenApiDocument::read(description.to_string().as_bytes(), None).unwrap();
        import(&document, rules).unwrap()
    };
    on_large_stack(read).unwrap()
}

fn imported(description: &Value) -> OpenApiImport {
    imported_with(description, &rules())
}

/// A description of one operation, `POST /x`.
fn one_operation(operation: Value) -> OpenApiImport {
    imported(&json!({"openapi": "3.0.0", "paths": {"/x": {"post": operation}}}))
}

fn input_schema(imported: &OpenApiImport, tool: &str) -> Value {
    let tool = imported.tools.iter().find(|one| one.name() == tool).unwrap();
    assert_eq!(tool.argument_check().problem(), None);
    serde_json::from_str(tool.input_schema().unwrap().get()).unwrap()
}

fn problems(imported: &OpenApiImport) -> Vec<String> {
    let problems = imported.problems.iter();
    problems.map(|problem| format!("{}: {}", problem.place, problem.reason)).collect()
}

fn filter(block: &OpenApiEndpoint) -> OperationFilter {
    OperationFilter {
        include: block.import.include_operations.clone(),
        exclude: block.import.exclude_operations.clone(),
        ..OperationFilter::default()
    }
}
