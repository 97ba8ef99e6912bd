//! A whole description, operation by operation. What cannot be imported is reported.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use capdeck_catalog::{ImportProblem, Tool};
use capdeck_definition::Glob;
use url::Url;

use super::{
    document::{OpenApiDocument, OpenApiNode},
    operation::{self, OpenApiImporter, OpenApiOperation, OperationLocation},
    schemas::SchemaConverter,
    server::{AvailableAuth, ServerRules, check_security},
};
use crate::api_connection::ImportProblems;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

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
        problems: ImportProblems::default(),
        auth_headers: rules.offer.header_names(),
        place: String::new(),
    };
    let spots = selected_operations(&mut import, &rules.filter);
    check_security(document, &spots, &rules.offer, &mut import.problems);
    let root_server = rules.servers.root(document).map(Arc::new);
    let mut names = HashSet::new();
    let mut imported = OpenApiImport::default();
    let mut uses_root = 0;
    for spot in &spots {
        let name = assign_name(&mut names, *spot);
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
    imported.problems = import.problems.finish("#");
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
        let is_object = |item: &OpenApiNode<'_>| item.value.is_object();
        let path_item = document.follow(item).and_then(|item| {
            Some(item).filter(is_object).ok_or_else(|| "a path item is no object".to_owned())
        });
        let path_item = match path_item {
            Ok(path_item) => path_item,
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
            let own = names_of(spot);
            if filter.accepts(&own) {
                spots.push(spot);
            }
            names.extend(own);
        }
    }
    if names.is_empty() {
        import.problems.add("paths", "the description has no operations");
    } else {
        for (_, pattern) in filter.unused_patterns(&names) {
            import.problems.add("filters", format!("the pattern `{pattern}` meets no operation"));
        }
    }
    spots
}

/// The operations of a description that can be read at all.
pub(super) fn all_operations(document: &OpenApiDocument) -> Vec<OperationLocation<'_>> {
    let mut spots = Vec::new();
    let paths = document.root().get("paths");
    for (path, item) in paths.into_iter().flat_map(OpenApiNode::members) {
        let Ok(path_item) = document.follow(item) else { continue };
        if path.starts_with("x-") {
            continue;
        }
        for method in METHODS {
            let node = path_item.get(method).filter(|node| node.value.is_object());
            spots.extend(node.map(|node| OperationLocation { method, path, path_item, node }));
        }
    }
    spots
}

fn names_of(spot: OperationLocation<'_>) -> Vec<String> {
    let tags = spot.node.texts("tags").map(|tag| format!("tag:{tag}"));
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

/// How much of an operation's description is kept beside its summary.
const MAX_DESCRIPTION_LENGTH: usize = 600;

/// The operation's id, else `METHOD /path`. The first of several with one id keeps it, the others are named for their
/// place, which only they have.
fn assign_name(taken: &mut HashSet<String>, spot: OperationLocation<'_>) -> String {
    let place = spot.place();
    for name in [spot.node.text("operationId"), Some(place.as_str())].into_iter().flatten() {
        if taken.insert(name.to_owned()) {
            return name.to_owned();
        }
    }
    // The place is the id of another operation.
    let mut number = 2;
    while !taken.insert(format!("{place} ({number})")) {
        number += 1;
    }
    format!("{place} ({number})")
}

pub(super) fn describe(spot: OperationLocation<'_>) -> (Option<String>, String) {
    let summary = spot.node.text("summary");
    let long = spot.node.text("description").filter(|text| Some(*text) != summary);
    let mut description = match (summary, long) {
        (Some(summary), Some(long)) => format!("{summary}\n\n{}", shortened(long)),
        (Some(only), None) => only.to_owned(),
        (None, Some(only)) => shortened(only),
        (None, None) => spot.place(),
    };
    if spot.node.is_true("deprecated") {
        description.insert_str(0, "Deprecated. ");
    }
    (summary.map(str::to_owned), description)
}

/// A text cut between paragraphs, else between sentences or words.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_DESCRIPTION_LENGTH {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_DESCRIPTION_LENGTH).collect();
    for (boundary, kept) in [("\n\n", 0), (". ", 1), (" ", 0)] {
        if let Some(end) = head.rfind(boundary).filter(|end| *end >= MAX_DESCRIPTION_LENGTH / 4)
            && let Some(cut) = head.get(..end + kept)
        {
            return format!("{} …", cut.trim_end());
        }
    }
    format!("{head}…")
}

/// `includeOperations` and `excludeOperations`: which operations become tools.
#[derive(Debug, Clone)]
pub(crate) struct OperationFilter {
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
    /// Whether a pattern means a name.
    pub(crate) matches: fn(&str, &str) -> bool,
}

impl Default for OperationFilter {
    fn default() -> Self {
        Self { include: Vec::new(), exclude: Vec::new(), matches: matches_glob }
    }
}

impl OperationFilter {
    /// True when an operation with these names is wanted. Nothing to include means all.
    pub(crate) fn accepts(&self, names: &[String]) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| self.meets(pattern, names));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    /// Patterns that an author wrote and that met nothing, which is nearly always a slip; with their setting.
    pub(crate) fn unused_patterns<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = (&'static str, &'a str)> {
        let include = self.include.iter().map(|pattern| ("includeOperations", pattern.as_str()));
        let exclude = self.exclude.iter().map(|pattern| ("excludeOperations", pattern.as_str()));
        include.chain(exclude).filter(|(_, pattern)| !self.meets(pattern, names))
    }

    fn meets(&self, pattern: &str, names: &[String]) -> bool {
        names.iter().any(|name| (self.matches)(pattern, name))
    }
}

/// `*` matches any text and `?` one character. A pattern is compared with the operation's id, with
/// `METHOD /path`, and with `tag:NAME` for each of its tags.
fn matches_glob(pattern: &str, name: &str) -> bool {
    Glob::new(pattern.trim()).matches(name)
}

#[cfg(test)]
mod filter_tests {
    use super::*;

    #[test]
    fn include_comes_first_then_exclude() {
        let filter = OperationFilter {
            include: vec!["issues/*".to_owned(), "tag:users".to_owned()],
            exclude: vec!["*/delete".to_owned(), "DELETE *".to_owned(), "nothing".to_owned()],
            ..OperationFilter::default()
        };
        let owned =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let wants = |names: &[&str]| filter.accepts(&owned(names));
        assert!(wants(&["issues/get", "GET /issues/{id}"]));
        assert!(!wants(&["issues/delete", "POST /issues/{id}"]));
        assert!(!wants(&["pulls/get", "GET /pulls/{id}"]));
        assert!(wants(&["whoami", "GET /me", "tag:users"]));
        assert!(!wants(&["forget", "DELETE /me", "tag:users"]));
        assert!(OperationFilter::default().accepts(&owned(&["anything"])));
        let all = owned(&["issues/delete", "DELETE /i", "tag:users"]);
        let unused: Vec<_> = filter.unused_patterns(&all).collect();
        assert_eq!(unused, [("excludeOperations", "nothing")]);
    }
}
