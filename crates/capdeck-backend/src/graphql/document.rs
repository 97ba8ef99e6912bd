//! Validates documents against the schema, and suggests the nearest names for unknown ones.

use std::fmt;

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{Definition, Document, Field, OperationType, Selection},
    diagnostic::Diagnostic,
    executable,
    parser::Parser,
    validation::{DiagnosticData, DiagnosticList, Valid},
};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{input_schema::input_schema, output::output_schema, schema::ApiSchema};

/// Far above any document that a person or a model writes.
const MAX_TOKENS: usize = 20_000;
const MAX_DEPTH: usize = 100;

const MAX_FINDINGS: usize = 20;
const MAX_SHOWN_FINDINGS: usize = 5;

/// The problems of a document, in the order of its lines.
#[derive(Debug)]
pub(super) struct GraphQlDocumentError {
    pub(super) findings: Vec<GraphQlFinding>,
    total: usize,
}

/// One problem and its position. Lines and columns start at one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GraphQlFinding {
    pub(super) place: Option<(usize, usize)>,
    pub(super) message: String,
}

pub(super) fn check_document(
    schema: &ApiSchema,
    text: &str,
) -> Result<Valid<ExecutableDocument>, GraphQlDocumentError> {
    let mut parser = Parser::new().token_limit(MAX_TOKENS).recursion_limit(MAX_DEPTH);
    let document = parser
        .parse_executable(schema.valid(), text, "document")
        .map_err(|broken| GraphQlDocumentError::new(&broken.errors))?;
    document.validate(schema.valid()).map_err(|broken| GraphQlDocumentError::new(&broken.errors))
}

impl GraphQlDocumentError {
    fn from_message(message: impl Into<String>) -> Self {
        Self { findings: vec![GraphQlFinding { place: None, message: message.into() }], total: 1 }
    }

    fn new(errors: &DiagnosticList) -> Self {
        let finding = |diagnostic: Diagnostic<'_, DiagnosticData>| GraphQlFinding {
            place: diagnostic
                .line_column_range()
                .map(|range| (range.start.line, range.start.column)),
            message: diagnostic.error.to_string(),
        };
        let findings = errors.iter().take(MAX_FINDINGS).map(finding).collect();
        Self { findings, total: errors.len() }
    }
}

impl fmt::Display for GraphQlDocumentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, finding) in self.findings.iter().take(MAX_SHOWN_FINDINGS).enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            write!(formatter, "{separator}{finding}")?;
        }
        match self.total.saturating_sub(MAX_SHOWN_FINDINGS) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

impl fmt::Display for GraphQlFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(formatter, "line {line}, column {column}: {}", self.message)
            }
            None => formatter.write_str(&self.message),
        }
    }
}

#[derive(Debug)]
pub(super) struct CompiledOperation {
    pub(super) document: String,
    pub(super) name: Option<String>,
    pub(super) is_mutation: bool,
    pub(super) input_schema: Map<String, Value>,
    pub(super) output_schema: Map<String, Value>,
}

impl CompiledOperation {
    pub(super) fn compile(
        schema: &ApiSchema,
        document: String,
        name: Option<&str>,
    ) -> Result<Self, GraphQlDocumentError> {
        let checked = check_document(schema, &document)?;
        let operation = choose(&checked, name)?;
        if operation.operation_type == OperationType::Subscription {
            return Err(GraphQlDocumentError::from_message(
                "subscriptions cannot be called as tools",
            ));
        }
        Ok(Self {
            name: operation.name.as_ref().map(ToString::to_string),
            is_mutation: operation.operation_type == OperationType::Mutation,
            input_schema: input_schema(schema, operation, &checked),
            output_schema: output_schema(schema, operation, &checked),
            document,
        })
    }
}

pub(super) fn choose<'a>(
    document: &'a Valid<ExecutableDocument>,
    name: Option<&str>,
) -> Result<&'a Node<executable::Operation>, GraphQlDocumentError> {
    document.operations.get(name).map_err(|_error| {
        let names: Vec<String> =
            document.operations.named.keys().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        GraphQlDocumentError::from_message(match (name, names.is_empty()) {
            (Some(name), true) => {
                format!("the document has no operation `{name}`; its one has no name")
            }
            (Some(name), false) => format!("the document has no operation `{name}`, only {names}"),
            (None, true) => "the document has no operation".to_owned(),
            (None, false) => format!(
                "the document has several operations: name one of {names} in `operationName`"
            ),
        })
    })
}

const MAX_UNKNOWN_NAMES: usize = 10;

const MAX_SUGGESTIONS: usize = 3;

const MAX_SEARCH_DEPTH: usize = 64;

pub(super) fn nearest_names(schema: &ApiSchema, text: &str) -> IndexMap<String, String> {
    let document = match Parser::new().recursion_limit(MAX_SEARCH_DEPTH).parse_ast(text, "document")
    {
        Ok(document) => document,
        Err(broken) => broken.partial,
    };
    let mut search = NearestNameSearch { schema, found: IndexMap::new() };
    search.document(&document);
    search.found
}

struct NearestNameSearch<'a> {
    schema: &'a ApiSchema,
    found: IndexMap<String, String>,
}

impl NearestNameSearch<'_> {
    fn document(&mut self, document: &Document) {
        for definition in &document.definitions {
            match definition {
                Definition::OperationDefinition(one) => {
                    for variable in &one.variables {
                        self.type_name(variable.ty.inner_named_type());
                    }
                    if let Some(root) = self.root(one.operation_type) {
                        self.selections(&root, &one.selection_set, 0);
                    }
                }
                Definition::FragmentDefinition(one) => {
                    self.type_name(&one.type_condition);
                    self.selections(&one.type_condition, &one.selection_set, 0);
                }
                _ => {}
            }
        }
    }

    fn root(&self, kind: OperationType) -> Option<Name> {
        self.schema.roots().find(|(one, _)| *one == kind).map(|(_, name)| name.clone())
    }

    fn selections(&mut self, parent: &Name, selections: &[Selection], depth: usize) {
        if depth > MAX_SEARCH_DEPTH {
            return;
        }
        for selection in selections {
            match selection {
                Selection::Field(field) => self.field(parent, field, depth),
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.type_condition.as_ref();
                    if let Some(condition) = condition {
                        self.type_name(condition);
                    }
                    let parent = condition.unwrap_or(parent);
                    self.selections(parent, &fragment.selection_set, depth + 1);
                }
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn field(&mut self, parent: &Name, field: &Field, depth: usize) {
        let schema = self.schema;
        match schema.valid().type_field(parent, &field.name) {
            Ok(definition) => {
                for argument in &field.arguments {
                    if definition.argument_by_name(&argument.name).is_none() {
                        let known = definition.arguments.iter().map(|one| one.name.as_str());
                        let place = format!("{parent}.{}({}:)", field.name, argument.name);
                        self.record_unknown(place, &argument.name, known);
                    }
                }
                let below = definition.ty.inner_named_type();
                self.selections(below, &field.selection_set, depth + 1);
            }
            Err(_unknown) if schema.get(parent).is_some() => {
                let known = schema.fields(parent).map(|one| one.name.as_str());
                self.record_unknown(format!("{parent}.{}", field.name), &field.name, known);
            }
            Err(_unknown) => {}
        }
    }

    fn type_name(&mut self, name: &Name) {
        let schema = self.schema;
        if schema.get(name).is_none() {
            let known = schema.valid().types.keys().map(Name::as_str);
            self.record_unknown(name.to_string(), name, known);
        }
    }

    fn record_unknown<'k>(
        &mut self,
        place: String,
        wrong: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        if self.found.len() >= MAX_UNKNOWN_NAMES {
            return;
        }
        let offered = nearest(wrong, known);
        if !offered.is_empty() {
            self.found.insert(place, offered);
        }
    }
}

fn nearest<'k>(wrong: &str, known: impl Iterator<Item = &'k str>) -> String {
    let folded = wrong.to_lowercase();
    let mut ranked: Vec<(f64, &str)> = known
        .map(|name| {
            let other = name.to_lowercase();
            let is_part =
                !folded.is_empty() && (other.contains(&folded) || folded.contains(&other));
            let is_slip = strsim::damerau_levenshtein(&folded, &other) <= 1;
            let likeness = strsim::jaro_winkler(&folded, &other);
            (if is_part || is_slip { likeness.max(0.9) } else { likeness }, name)
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    let shown = ranked.iter().take(MAX_SUGGESTIONS).map(|(_, name)| format!("`{name}`"));
    shown.collect::<Vec<_>>().join(" or ")
}
