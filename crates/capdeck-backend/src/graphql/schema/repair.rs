//! Removes unusable parts of a schema: undefined references, and what depends on them.

use std::{collections::HashMap, fmt::Display};

use crate::api_connection::ImportProblems;
use apollo_compiler::{
    Name, Node, Schema,
    ast::{self, DirectiveLocation},
    collections::{IndexMap, IndexSet},
    schema::{
        Component, ComponentName, DirectiveDefinition, ExtendedType, FieldDefinition,
        InputValueDefinition,
    },
};

/// Each removal may break another part. A longer chain is left to strict validation.
const MAX_PASSES: usize = 64;

const KNOWN_DIRECTIVES: [&str; 3] = ["deprecated", "specifiedBy", "oneOf"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GraphQlTypeKind {
    Leaf,
    Object,
    Interface,
    Union,
    Input,
}

type GraphQlTypeKinds = HashMap<Name, GraphQlTypeKind>;

pub(super) fn repair(schema: &mut Schema, problems: &mut ImportProblems) {
    forget_foreign_directives(schema);
    for _pass in 0..MAX_PASSES {
        let uses = uses(schema);
        let mut has_changed = false;
        let mut doomed: Vec<(Name, &'static str)> = Vec::new();
        for (name, definition) in &mut schema.types {
            if definition.is_built_in() {
                continue;
            }
            let mut pass = RepairPass { uses: &uses, problems, owner: name, has_changed: false };
            if let Some(reason) = pass.type_definition(definition) {
                doomed.push((name.clone(), reason));
            }
            has_changed |= pass.has_changed;
        }
        for (name, reason) in &doomed {
            problems.add(name, reason);
        }
        if !doomed.is_empty() {
            has_changed = true;
            let doomed: IndexSet<&Name> = doomed.iter().map(|(name, _)| name).collect();
            schema.types.retain(|name, _| !doomed.contains(name));
        }
        if !has_changed {
            break;
        }
    }
    let uses = uses(schema);
    schema
        .directive_definitions
        .retain(|_, one| one.arguments.iter().all(|argument| is_input(&uses, &argument.ty)));
    check_roots(schema, &uses, problems);
}

struct RepairPass<'a> {
    uses: &'a GraphQlTypeKinds,
    problems: &'a mut ImportProblems,
    owner: &'a Name,
    has_changed: bool,
}

impl RepairPass<'_> {
    /// Repairs a type. Returns a reason when nothing usable remains.
    fn type_definition(&mut self, definition: &mut ExtendedType) -> Option<&'static str> {
        if self.owner.starts_with("__") {
            return Some("names that begin with two underscores are reserved");
        }
        match definition {
            ExtendedType::Scalar(_) => None,
            ExtendedType::Enum(one) => one.values.is_empty().then_some("it has no values"),
            ExtendedType::Object(one) => {
                let one = one.make_mut();
                self.output_type(&mut one.implements_interfaces, &mut one.fields)
            }
            ExtendedType::Interface(one) => {
                let one = one.make_mut();
                self.output_type(&mut one.implements_interfaces, &mut one.fields)
            }
            ExtendedType::Union(one) => {
                let one = one.make_mut();
                self.retain(&mut one.members, GraphQlTypeKind::Object, "member");
                one.members.is_empty().then_some("it has no usable members")
            }
            ExtendedType::InputObject(one) => self.input_fields(&mut one.make_mut().fields),
        }
    }

    fn output_type(
        &mut self,
        interfaces: &mut IndexSet<ComponentName>,
        fields: &mut IndexMap<Name, Component<FieldDefinition>>,
    ) -> Option<&'static str> {
        self.retain(interfaces, GraphQlTypeKind::Interface, "interface");
        self.fields(fields);
        fields.is_empty().then_some("it has no usable fields")
    }

    fn retain(&mut self, names: &mut IndexSet<ComponentName>, wanted: GraphQlTypeKind, word: &str) {
        let owner = self.owner;
        names.retain(|name| {
            let found = self.uses.get(&name.name).copied();
            let is_right = found == Some(wanted) && name.name != *owner;
            if !is_right {
                self.has_changed = true;
                let what = if found.is_some() { "not one" } else { "not defined" };
                self.problems.add(owner, format!("its {word} `{name}` is {what}"));
            }
            is_right
        });
    }

    fn fields(&mut self, fields: &mut IndexMap<Name, Component<FieldDefinition>>) {
        let owner = self.owner;
        fields.retain(|name, field| {
            let reason = if name.starts_with("__") {
                Some("names that begin with two underscores are reserved".to_owned())
            } else {
                self.not_output(&field.ty).or_else(|| self.arguments(name, field))
            };
            self.keeps(format_args!("{owner}.{name}"), reason)
        });
    }

    /// Removes broken optional arguments. Returns a reason when a required one is broken.
    fn arguments(&mut self, name: &Name, field: &mut Component<FieldDefinition>) -> Option<String> {
        let required = field.arguments.iter().filter(|argument| argument.is_required());
        let mut broken =
            required.filter_map(|argument| Some((&argument.name, self.not_input(&argument.ty)?)));
        if let Some((argument, reason)) = broken.next() {
            return Some(format!("its required argument `{argument}` cannot be given: {reason}"));
        }
        // A field is only copied when it changes.
        if field.arguments.iter().any(|argument| self.not_input(&argument.ty).is_some()) {
            let owner = self.owner;
            field.make_mut().arguments.retain(|argument| {
                let reason = self.not_input(&argument.ty);
                self.keeps(format_args!("{owner}.{name}({}:)", argument.name), reason)
            });
        }
        None
    }

    fn input_fields(
        &mut self,
        fields: &mut IndexMap<Name, Component<InputValueDefinition>>,
    ) -> Option<&'static str> {
        let owner = self.owner;
        let mut lacks_required = false;
        fields.retain(|name, field| {
            let reason = self.not_input(&field.ty);
            lacks_required |= reason.is_some() && field.is_required();
            self.keeps(format_args!("{owner}.{name}"), reason)
        });
        if lacks_required {
            return Some("a required field of it cannot be given");
        }
        fields.is_empty().then_some("it has no usable fields")
    }

    /// Returns true for a part without a reason against it; else the part is reported and goes.
    fn keeps(&mut self, place: impl Display, reason: Option<String>) -> bool {
        if let Some(reason) = &reason {
            self.has_changed = true;
            self.problems.add(place, reason);
        }
        reason.is_none()
    }

    fn not_output(&self, ty: &ast::Type) -> Option<String> {
        let name = ty.inner_named_type();
        match self.uses.get(name) {
            None => Some(format!("its type `{name}` is not defined")),
            Some(GraphQlTypeKind::Input) => Some(format!("its type `{name}` is for input only")),
            Some(_) => None,
        }
    }

    fn not_input(&self, ty: &ast::Type) -> Option<String> {
        let name = ty.inner_named_type();
        match self.uses.get(name) {
            None => Some(format!("its type `{name}` is not defined")),
            Some(GraphQlTypeKind::Leaf | GraphQlTypeKind::Input) => None,
            Some(_) => Some(format!("its type `{name}` is for output only")),
        }
    }
}

fn uses(schema: &Schema) -> GraphQlTypeKinds {
    let use_of = |definition: &ExtendedType| match definition {
        ExtendedType::Scalar(_) | ExtendedType::Enum(_) => GraphQlTypeKind::Leaf,
        ExtendedType::Object(_) => GraphQlTypeKind::Object,
        ExtendedType::Interface(_) => GraphQlTypeKind::Interface,
        ExtendedType::Union(_) => GraphQlTypeKind::Union,
        ExtendedType::InputObject(_) => GraphQlTypeKind::Input,
    };
    schema.types.iter().map(|(name, definition)| (name.clone(), use_of(definition))).collect()
}

fn is_input(uses: &GraphQlTypeKinds, ty: &ast::Type) -> bool {
    matches!(uses.get(ty.inner_named_type()), Some(GraphQlTypeKind::Leaf | GraphQlTypeKind::Input))
}

fn check_roots(schema: &mut Schema, uses: &GraphQlTypeKinds, problems: &mut ImportProblems) {
    let definition = schema.schema_definition.make_mut();
    let roots = [
        ("query", &mut definition.query),
        ("mutation", &mut definition.mutation),
        ("subscription", &mut definition.subscription),
    ];
    for (word, root) in roots {
        if let Some(name) = root.as_ref().map(|root| root.name.clone())
            && uses.get(&name) != Some(&GraphQlTypeKind::Object)
        {
            problems
                .add(&name, format!("the {word} type is not an object type with usable fields"));
            *root = None;
        }
    }
}

/// Custom directives have no meaning for a client, and their definitions are often not published.
fn forget_foreign_directives(schema: &mut Schema) {
    let is_known = |name: &Name| KNOWN_DIRECTIVES.contains(&name.as_str());
    schema.schema_definition.make_mut().directives.0.clear();
    for definition in schema.types.values_mut().filter(|one| !one.is_built_in()) {
        match definition {
            ExtendedType::Scalar(one) => {
                one.make_mut().directives.0.retain(|one| is_known(&one.name));
            }
            ExtendedType::Union(one) => one.make_mut().directives.0.clear(),
            ExtendedType::Object(one) => {
                let one = one.make_mut();
                one.directives.0.clear();
                one.fields.values_mut().for_each(|field| forget_of_field(field, is_known));
            }
            ExtendedType::Interface(one) => {
                let one = one.make_mut();
                one.directives.0.clear();
                one.fields.values_mut().for_each(|field| forget_of_field(field, is_known));
            }
            ExtendedType::Enum(one) => {
                let one = one.make_mut();
                one.directives.0.clear();
                for value in one.values.values_mut().filter(|value| !value.directives.is_empty()) {
                    value.make_mut().directives.0.retain(|one| is_known(&one.name));
                }
            }
            ExtendedType::InputObject(one) => {
                let one = one.make_mut();
                one.directives.0.retain(|one| is_known(&one.name));
                for field in one.fields.values_mut().filter(|field| !field.directives.is_empty()) {
                    field.make_mut().directives.0.retain(|one| is_known(&one.name));
                }
            }
        }
    }
    let one_of = Name::new_static_unchecked("oneOf");
    schema.directive_definitions.entry(one_of.clone()).or_insert_with(|| {
        Node::new(DirectiveDefinition {
            description: None,
            name: one_of,
            arguments: Vec::new(),
            repeatable: false,
            locations: vec![DirectiveLocation::InputObject],
        })
    });
}

fn forget_of_field(field: &mut Component<FieldDefinition>, is_known: impl Fn(&Name) -> bool) {
    let is_clean = field.directives.is_empty()
        && field.arguments.iter().all(|argument| argument.directives.is_empty());
    if is_clean {
        return;
    }
    let field = field.make_mut();
    field.directives.0.retain(|one| is_known(&one.name));
    for argument in field.arguments.iter_mut().filter(|one| !one.directives.is_empty()) {
        argument.make_mut().directives.0.retain(|one| is_known(&one.name));
    }
}
