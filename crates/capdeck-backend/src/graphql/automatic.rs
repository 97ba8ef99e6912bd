//! Operations generated from the schema: one for each field of the query and mutation types.

use std::fmt::Write as _;

use apollo_compiler::{
    Name,
    ast::{FieldDefinition, OperationType, Type},
};

use super::{
    problems::GraphQlProblems,
    schema::ApiSchema,
    selection::{SelectionBuilder, SelectionRules},
};

const MAX_OPERATIONS: usize = 5_000;

#[derive(Debug)]
pub(super) struct AutomaticOperation {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) document: String,
    pub(super) place: String,
}

pub(super) fn automatic_operations(
    schema: &ApiSchema,
    rules: SelectionRules,
    problems: &mut GraphQlProblems,
) -> Vec<AutomaticOperation> {
    let mut selector = SelectionBuilder::new(schema, rules);
    let mut operations = Vec::new();
    for (kind, root) in schema.roots() {
        let fields: Vec<&FieldDefinition> = schema.fields(root).collect();
        if kind == OperationType::Subscription {
            let names = fields.iter().map(|field| format!("`{}`", field.name));
            let names = names.take(5).collect::<Vec<_>>().join(", ");
            problems.push(
                root,
                format!(
                    "subscriptions cannot be called as tools: {} left out ({names})",
                    fields.len()
                ),
            );
            continue;
        }
        for field in fields {
            if operations.len() >= MAX_OPERATIONS {
                let place = format!("{root}.{}", field.name);
                problems.push(place, format!("there are more than {MAX_OPERATIONS} operations; list those needed in `operations`"));
                continue;
            }
            operations.push(automatic_operation(root, kind, field, rules, &mut selector));
        }
    }
    operations
}

fn automatic_operation(
    root: &Name,
    kind: OperationType,
    field: &FieldDefinition,
    rules: SelectionRules,
    selector: &mut SelectionBuilder<'_>,
) -> AutomaticOperation {
    let name = format!("{kind}_{}", field.name);
    let mut variables = String::new();
    let mut arguments = String::new();
    for argument in &field.arguments {
        let is_old = argument.directives.has("deprecated") && !rules.include_deprecated;
        if is_old && !argument.is_required() {
            continue;
        }
        let separator = if variables.is_empty() { "" } else { ", " };
        let argument_name = &argument.name;
        // An omitted variable leaves the argument at its default, which needs a nullable variable.
        let ty: Type = match &argument.default_value {
            Some(_) => (*argument.ty).clone().nullable(),
            None => (*argument.ty).clone(),
        };
        // Writing to a string cannot fail.
        _ = write!(variables, "{separator}${argument_name}: {ty}");
        _ = write!(arguments, "{separator}{argument_name}: ${argument_name}");
    }
    if !variables.is_empty() {
        variables = format!("({variables})");
        arguments = format!("({arguments})");
    }
    let selection = selector.select(field.ty.inner_named_type());
    let document = format!("{kind} {name}{variables} {{ {}{arguments} {selection}}}", field.name);
    let place = format!("{root}.{}", field.name);
    AutomaticOperation { description: describe(field, &place), name, document, place }
}

fn describe(field: &FieldDefinition, place: &str) -> String {
    let mut text = match &field.description {
        Some(description) => description.trim().to_owned(),
        None => format!("`{place}`, which gives `{}`", field.ty),
    };
    if let Some(deprecated) = field.directives.get("deprecated") {
        let reason = deprecated.specified_argument_by_name("reason");
        let reason = reason.and_then(|reason| reason.as_str()).unwrap_or("no longer supported");
        text = format!("{text}\n\nDeprecated: {reason}");
    }
    text
}
