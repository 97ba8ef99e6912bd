//! Suggests the nearest known names for unknown names in a document.

use apollo_compiler::{
    Name,
    ast::{Definition, Document, Field, OperationType, Selection},
    parser::Parser,
};
use indexmap::IndexMap;

use super::schema::ApiSchema;

const MAX_UNKNOWN_NAMES: usize = 10;

const MAX_SUGGESTIONS: usize = 3;

const MAX_DEPTH: usize = 64;

pub(super) fn nearest_names(schema: &ApiSchema, text: &str) -> IndexMap<String, String> {
    let document = match Parser::new().recursion_limit(MAX_DEPTH).parse_ast(text, "document") {
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
        if depth > MAX_DEPTH {
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
