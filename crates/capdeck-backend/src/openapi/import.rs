//! A whole description, operation by operation. What cannot be imported is told; the rest works.

use std::{collections::HashMap, sync::Arc};

use capdeck_catalog::{ImportProblem, Tool};
use url::Url;

use super::{
    document::{OpenApiDocument, OpenApiNode},
    filter::OperationFilter,
    names::OperationNames,
    operation::{self, OpenApiImporter, OpenApiOperation, OperationLocation},
    problems::OpenApiProblems,
    schemas::SchemaConverter,
    security::{self, AvailableAuth},
    server::ServerRules,
};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// What is imported, and how.
#[derive(Debug, Clone)]
pub(super) struct OpenApiImportRules {
    pub(super) servers: ServerRules,
    pub(super) filter: OperationFilter,
    pub(super) offer: AvailableAuth,
}

/// A description that has been imported. The document itself is not kept.
#[derive(Debug, Default)]
pub(crate) struct OpenApiImport {
    /// Sorted by name.
    pub(crate) tools: Vec<Arc<Tool>>,
    pub(crate) operations: HashMap<String, OpenApiOperation>,
    pub(crate) problems: Vec<ImportProblem>,
}

/// Imports a description. The error says why nothing of it can be used.
pub(super) fn import(
    document: &OpenApiDocument,
    rules: &OpenApiImportRules,
) -> Result<OpenApiImport, String> {
    let mut import = OpenApiImporter {
        document,
        schemas: SchemaConverter::new(document),
        problems: OpenApiProblems::default(),
        auth_headers: rules.offer.header_names(),
    };
    let spots = selected_operations(&mut import, &rules.filter);
    security::check(document, &spots, &rules.offer, &mut import.problems);
    let root_server = rules.servers.root(document).map(Arc::new);
    let mut names = OperationNames::default();
    let mut imported = OpenApiImport::default();
    let mut uses_root = 0;
    for spot in &spots {
        let name = names.assign(*spot);
        let own_server = match own_server(document, &rules.servers, *spot) {
            Ok(own_server) => own_server,
            Err(reason) => {
                import.problems.add(spot.place(), reason);
                continue;
            }
        };
        let server = match (own_server, &root_server) {
            (Some(own), _) => own,
            (None, Ok(root)) => Arc::clone(root),
            (None, Err(_told_below)) => {
                uses_root += 1;
                continue;
            }
        };
        match operation::read(&mut import, *spot, &name, server) {
            Ok((tool, operation)) => {
                imported.tools.push(Arc::new(tool));
                imported.operations.insert(name, operation);
            }
            Err(reason) => import.problems.add(spot.place(), reason),
        }
    }
    if let Err(reason) = root_server
        && uses_root > 0
    {
        if imported.tools.is_empty() {
            return Err(reason);
        }
        import.problems.add("servers", format!("{reason}; {uses_root} operations have no other"));
    }
    imported.tools.sort_by(|one, other| one.name().cmp(other.name()));
    imported.problems = import.problems.finish();
    Ok(imported)
}

/// All operations that the filters let through, in the order of the description.
fn selected_operations<'a>(
    import: &mut OpenApiImporter<'a>,
    filter: &OperationFilter,
) -> Vec<OperationLocation<'a>> {
    let document = import.document;
    let mut spots = Vec::new();
    let mut names = Vec::new();
    let paths = document.root().get("paths");
    for (path, item) in paths.into_iter().flat_map(OpenApiNode::members) {
        if path.starts_with("x-") {
            continue;
        }
        let path_item = match document.follow(item) {
            Ok(path_item) if path_item.value.is_object() => path_item,
            Ok(_) => {
                import.problems.add(path, "a path item is no object");
                continue;
            }
            Err(reason) => {
                import.problems.add(path, reason);
                continue;
            }
        };
        for method in METHODS {
            let Some(node) = path_item.get(method) else { continue };
            let spot = OperationLocation { method, path, path_item, node };
            if !node.value.is_object() {
                import.problems.add(spot.place(), "the operation is no object");
                continue;
            }
            names.push(names_of(spot));
            if names
                .last()
                .is_some_and(|names| filter.matches_any(names.iter().map(String::as_str)))
            {
                spots.push(spot);
            }
        }
    }
    if names.is_empty() {
        import.problems.add("paths", "the description has no operations");
    } else {
        for pattern in filter.unused_patterns(&names) {
            import.problems.add("filters", format!("the pattern `{pattern}` meets no operation"));
        }
    }
    spots
}

/// What a filter may call an operation.
fn names_of(spot: OperationLocation<'_>) -> Vec<String> {
    let tags = spot.node.get("tags").into_iter().flat_map(OpenApiNode::items);
    let tags = tags.filter_map(|tag| tag.value.as_str()).map(|tag| format!("tag:{tag}"));
    let id = spot.node.text("operationId").map(str::to_owned);
    id.into_iter().chain([spot.place()]).chain(tags).collect()
}

/// The server that the operation itself names, else its path.
fn own_server(
    document: &OpenApiDocument,
    rules: &ServerRules,
    spot: OperationLocation<'_>,
) -> Result<Option<Arc<Url>>, String> {
    let own = match rules.of_part(document, spot.node)? {
        Some(own) => Some(own),
        None => rules.of_part(document, spot.path_item)?,
    };
    Ok(own.map(Arc::new))
}
