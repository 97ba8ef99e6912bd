//! The schema of an API, from SDL or introspection, without its broken parts.
//!
//! Published schemas are not always valid. [`repair`] removes what refers to undefined types; problems that strict
//! validation still finds are listed but stay.

mod repair;

use std::collections::HashMap;

use apollo_compiler::{
    Name, Node, Schema,
    ast::{Document, OperationType},
    diagnostic::{Diagnostic, ToCliReport as _},
    parser::{Parser, SourceSpan},
    schema::{ExtendedType, FieldDefinition},
    validation::{DiagnosticData, Valid},
};

use super::introspection;
use crate::api_connection::ImportProblems;

#[derive(Debug)]
pub(super) struct ApiSchema {
    schema: Valid<Schema>,
    /// The object types of each interface and union, in schema order.
    possible_types: HashMap<Name, Vec<Name>>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SchemaError {
    #[error("the schema is not UTF-8 text")]
    NotText,
    #[error("the schema is empty")]
    Empty,
    #[error("the schema is JSON, but not the answer to an introspection query: {reason}")]
    NotIntrospection { reason: String },
    #[error("the server refused introspection: {message}")]
    Refused { message: String },
    #[error("the schema has no usable `Query` or `Mutation` type: {reason}")]
    NoRoot { reason: String },
}

impl ApiSchema {
    pub(super) fn read(bytes: &[u8], problems: &mut ImportProblems) -> Result<Self, SchemaError> {
        let text = std::str::from_utf8(bytes).map_err(|_invalid| SchemaError::NotText)?;
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut schema = match text.chars().next() {
            None => return Err(SchemaError::Empty),
            Some('{') => introspection::parse(text, problems)?,
            Some(_) => parse_sdl(text, problems),
        };
        repair::repair(&mut schema, problems);
        let roots = &schema.schema_definition;
        if roots.query.is_none() && roots.mutation.is_none() {
            let reason = problems.first().map(|problem| problem.reason.clone());
            let reason = reason.unwrap_or_else(|| "it defines neither".to_owned());
            return Err(SchemaError::NoRoot { reason });
        }
        let schema = match schema.validate() {
            Ok(schema) => schema,
            Err(broken) => {
                let schema = broken.partial;
                for diagnostic in broken.errors.iter() {
                    problems.add_with(|| {
                        let reason = format!("{} (not changed)", diagnostic.error);
                        (place_of(&schema, &diagnostic), reason)
                    });
                }
                Valid::assume_valid(schema)
            }
        };
        Ok(Self { possible_types: possible_types(&schema), schema })
    }

    pub(super) fn valid(&self) -> &Valid<Schema> {
        &self.schema
    }

    pub(super) fn get(&self, name: &str) -> Option<&ExtendedType> {
        self.schema.types.get(name)
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = (OperationType, &Name)> {
        self.schema.schema_definition.iter_root_operations().map(|(kind, name)| (kind, &name.name))
    }

    /// Returns the fields of an object or interface in schema order. Other types have none.
    pub(super) fn fields<'a>(
        &'a self,
        name: &str,
    ) -> impl Iterator<Item = &'a FieldDefinition> + use<'a> {
        let fields = match self.get(name) {
            Some(ExtendedType::Object(object)) => Some(&object.fields),
            Some(ExtendedType::Interface(interface)) => Some(&interface.fields),
            _ => None,
        };
        fields.into_iter().flat_map(|fields| fields.values()).map(|field| &***field)
    }

    /// Returns the object types of an interface or union; empty for other types.
    pub(super) fn possible_types(&self, name: &str) -> &[Name] {
        self.possible_types.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true for scalars and enums, which have no selection.
    pub(super) fn is_leaf(&self, name: &str) -> bool {
        self.get(name).is_none_or(ExtendedType::is_leaf)
    }
}

fn possible_types(schema: &Schema) -> HashMap<Name, Vec<Name>> {
    let mut possible: HashMap<Name, Vec<Name>> = HashMap::new();
    for (name, definition) in &schema.types {
        match definition {
            ExtendedType::Object(object) => {
                for interface in &object.implements_interfaces {
                    possible.entry(interface.name.clone()).or_default().push(name.clone());
                }
            }
            ExtendedType::Union(union) => {
                let members = union.members.iter().map(|member| member.name.clone());
                possible.entry(name.clone()).or_default().extend(members);
            }
            _ => {}
        }
    }
    possible
}

/// Parses what is valid; the rest is listed.
fn parse_sdl(text: &str, problems: &mut ImportProblems) -> Schema {
    let document = match Parser::new().parse_ast(text, "schema.graphql") {
        Ok(document) => document,
        Err(broken) => {
            for diagnostic in broken.errors.iter() {
                problems.add_with(|| (line(&diagnostic), diagnostic.error.to_string()));
            }
            broken.partial
        }
    };
    // Parts of a federated schema extend types of other parts.
    let builder = Schema::builder()
        .adopt_orphan_extensions()
        .ignore_builtin_redefinitions()
        .add_ast(&document);
    match builder.build() {
        Ok(schema) => schema,
        Err(broken) => {
            for diagnostic in broken.errors.iter() {
                problems.add_with(|| {
                    let span = diagnostic.error.location();
                    let place = span.and_then(|span| in_document(&document, span));
                    let place = place.unwrap_or_else(|| line(&diagnostic));
                    (place, diagnostic.error.to_string())
                });
            }
            broken.partial
        }
    }
}

/// Returns the place of a finding about a schema: `Type.field`, `Type`, or a line.
fn place_of(schema: &Schema, diagnostic: &Diagnostic<'_, DiagnosticData>) -> String {
    let Some(span) = diagnostic.error.location() else { return "schema".to_owned() };
    let enclosing = schema.types.values().find(|one| is_inside(one.location(), span));
    let Some(enclosing) = enclosing else { return line(diagnostic) };
    let field = match enclosing {
        ExtendedType::Object(object) => name_at(object.fields.values().map(|one| &one.node), span),
        ExtendedType::Interface(one) => name_at(one.fields.values().map(|one| &one.node), span),
        ExtendedType::InputObject(one) => name_at(one.fields.values().map(|one| &one.node), span),
        _ => None,
    };
    coordinate(enclosing.name(), field)
}

fn in_document(document: &Document, span: SourceSpan) -> Option<String> {
    use apollo_compiler::ast::Definition;
    let definition = document.definitions.iter().find(|one| is_inside(one.location(), span))?;
    let field = match definition {
        Definition::ObjectTypeDefinition(one) => name_at(&one.fields, span),
        Definition::ObjectTypeExtension(one) => name_at(&one.fields, span),
        Definition::InterfaceTypeDefinition(one) => name_at(&one.fields, span),
        Definition::InterfaceTypeExtension(one) => name_at(&one.fields, span),
        Definition::InputObjectTypeDefinition(one) => name_at(&one.fields, span),
        Definition::InputObjectTypeExtension(one) => name_at(&one.fields, span),
        _ => None,
    };
    Some(coordinate(definition.name()?, field))
}

fn name_at<'a, T: NamedField + 'a>(
    nodes: impl IntoIterator<Item = &'a Node<T>>,
    span: SourceSpan,
) -> Option<&'a str> {
    nodes.into_iter().find(|node| is_inside(node.location(), span)).map(|node| node.name_str())
}

fn coordinate(name: &str, field: Option<&str>) -> String {
    field.map_or_else(|| name.to_owned(), |field| format!("{name}.{field}"))
}

fn is_inside(outer: Option<SourceSpan>, span: SourceSpan) -> bool {
    outer.is_some_and(|outer| {
        outer.file_id() == span.file_id()
            && outer.offset() <= span.offset()
            && span.end_offset() <= outer.end_offset()
    })
}

fn line(diagnostic: &Diagnostic<'_, DiagnosticData>) -> String {
    let range = diagnostic.line_column_range();
    range.map_or_else(|| "schema".to_owned(), |range| format!("line {}", range.start.line))
}

/// Fields and input fields, which have no common type.
trait NamedField {
    fn name_str(&self) -> &str;
}

impl NamedField for apollo_compiler::ast::FieldDefinition {
    fn name_str(&self) -> &str {
        &self.name
    }
}

impl NamedField for apollo_compiler::ast::InputValueDefinition {
    fn name_str(&self) -> &str {
        &self.name
    }
}
