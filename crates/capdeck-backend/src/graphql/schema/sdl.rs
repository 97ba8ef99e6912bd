//! Parses SDL and finds the positions of its definitions.

use apollo_compiler::{
    Node, Schema,
    ast::Document,
    diagnostic::{Diagnostic, ToCliReport as _},
    parser::{Parser, SourceSpan},
    schema::ExtendedType,
    validation::DiagnosticData,
};

use super::super::problems::GraphQlProblems;

/// Parses what is valid; the rest is listed.
pub(super) fn parse(text: &str, problems: &mut GraphQlProblems) -> Schema {
    let document = match Parser::new().parse_ast(text, "schema.graphql") {
        Ok(document) => document,
        Err(broken) => {
            for diagnostic in broken.errors.iter() {
                problems.push_with(|| (line(&diagnostic), diagnostic.error.to_string()));
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
                problems.push_with(|| {
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
pub(super) fn place(schema: &Schema, diagnostic: &Diagnostic<'_, DiagnosticData>) -> String {
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
