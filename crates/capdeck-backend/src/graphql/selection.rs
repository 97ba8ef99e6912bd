//! Generates the default selection of a type: its leaf fields, then those of nested objects.
//!
//! The selection grows level by level, leaf fields first, up to a maximum number of fields, so no schema can make it
//! explode. An object without leaf fields at the last level gets `__typename`; an object beyond the limit is omitted.
//! The document is always valid.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use apollo_compiler::{
    Name,
    ast::{FieldDefinition, OperationType, Type},
    schema::ExtendedType,
};

use super::schema::ApiSchema;
use crate::api_connection::ImportProblems;

pub(super) const MAX_FIELDS: usize = 250;

const MIN_FIELDS_PER_OBJECT: usize = 6;

/// The page size of list fields. Many servers reject a request without one.
const PAGE_ARGUMENT: &str = "(first: 10)";

const PREFERRED_FIELDS: [&str; 14] = [
    "id",
    "name",
    "title",
    "number",
    "key",
    "slug",
    "login",
    "code",
    "value",
    "state",
    "status",
    "url",
    "description",
    "createdAt",
];

#[derive(Debug, Clone, Copy)]
pub(super) struct SelectionRules {
    pub(super) depth: u8,
    pub(super) include_deprecated: bool,
}

#[derive(Debug)]
pub(super) struct SelectionBuilder<'a> {
    schema: &'a ApiSchema,
    rules: SelectionRules,
    names: HashMap<Name, FragmentNames>,
}

/// A selection under construction: branches by index, the first is the root.
struct SelectionTree {
    branches: Vec<SelectionBranch>,
    room: usize,
}

#[derive(Default)]
struct SelectionBranch {
    head: String,
    leaves: Vec<String>,
    below: Vec<usize>,
}

struct PendingBranch {
    branch: usize,
    ty: Name,
}

impl<'a> SelectionBuilder<'a> {
    pub(super) fn new(schema: &'a ApiSchema, rules: SelectionRules) -> Self {
        Self { schema, rules, names: HashMap::new() }
    }

    /// Returns the selection of a type with its braces; empty for types without fields.
    pub(super) fn select(&mut self, ty: &Name) -> String {
        if self.schema.is_leaf(ty) {
            return String::new();
        }
        let mut tree =
            SelectionTree { branches: vec![SelectionBranch::default()], room: MAX_FIELDS };
        let mut level = vec![PendingBranch { branch: 0, ty: ty.clone() }];
        for depth in 1..=self.rules.depth {
            let mut next = Vec::new();
            let mut waiting = level.len();
            for open in level {
                // The field itself and its `__typename`.
                if tree.room < 2 {
                    break;
                }
                let share = (tree.room / waiting).max(MIN_FIELDS_PER_OBJECT).min(tree.room);
                waiting -= 1;
                let before = tree.room;
                tree.leaf(open.branch, "__typename".to_owned());
                tree.room -= 1;
                self.choose_leaves(&open, share.saturating_sub(2), &mut tree);
                if depth < self.rules.depth {
                    self.open_objects(&open, &mut tree, &mut next);
                }
                debug_assert!(tree.room < before);
            }
            level = next;
        }
        tree.render(0)
    }

    fn choose_leaves(&mut self, open: &PendingBranch, share: usize, tree: &mut SelectionTree) {
        let mut left = share;
        let mut own: Vec<&FieldDefinition> =
            self.fields(&open.ty).filter(|field| self.schema.is_leaf(type_name(field))).collect();
        own.sort_by_key(|field| rank(field));
        for field in own {
            if left == 0 {
                return;
            }
            left -= 1;
            tree.leaf(open.branch, written(None, field));
        }
        let types = fragment_types(self.schema, &open.ty);
        let mut waiting = types.len();
        for ty in types {
            let mut part = left / waiting.max(1);
            waiting -= 1;
            let branch = tree.branch(open.branch, format!("... on {ty}"));
            let mut leaves = self.fragment_fields(&open.ty, ty);
            leaves.retain(|(_, field)| self.schema.is_leaf(type_name(field)));
            leaves.sort_by_key(|(_, field)| rank(field));
            for (alias, field) in leaves {
                if part == 0 {
                    break;
                }
                part -= 1;
                left -= 1;
                tree.leaf(branch, written(alias.as_deref(), field));
            }
        }
    }

    fn open_objects(
        &mut self,
        open: &PendingBranch,
        tree: &mut SelectionTree,
        next: &mut Vec<PendingBranch>,
    ) {
        let own: Vec<&FieldDefinition> =
            self.fields(&open.ty).filter(|field| !self.schema.is_leaf(type_name(field))).collect();
        let has_nodes = own.iter().any(|field| field.name == "nodes");
        for field in own {
            // The edges of a connection repeat its nodes.
            if has_nodes && field.name == "edges" {
                continue;
            }
            if next.len() >= MAX_FIELDS {
                return;
            }
            let branch = tree.branch(open.branch, written(None, field));
            next.push(PendingBranch { branch, ty: type_name(field).clone() });
        }
        let parts: Vec<usize> = tree.fragments_of(open.branch);
        let types = fragment_types(self.schema, &open.ty);
        for (part, ty) in parts.into_iter().zip(types) {
            for (alias, field) in self.fragment_fields(&open.ty, ty) {
                if next.len() >= MAX_FIELDS {
                    return;
                }
                if !self.schema.is_leaf(type_name(field)) {
                    let branch = tree.branch(part, written(alias.as_deref(), field));
                    next.push(PendingBranch { branch, ty: type_name(field).clone() });
                }
            }
        }
    }

    fn fragment_fields(
        &mut self,
        of: &Name,
        ty: &Name,
    ) -> Vec<(Option<String>, &'a FieldDefinition)> {
        let (schema, rules) = (self.schema, self.rules);
        let names = self
            .names
            .entry(of.clone())
            .or_insert_with(|| FragmentNames::new(schema, of, |field| is_chosen(field, rules)));
        let chosen = schema.fields(ty).filter(|field| is_chosen(field, rules));
        chosen
            .filter(|field| !names.is_shared(&field.name))
            .map(|field| (names.alias(ty, &field.name), field))
            .collect()
    }

    fn fields(&self, ty: &Name) -> impl Iterator<Item = &'a FieldDefinition> + use<'a> {
        let rules = self.rules;
        self.schema.fields(ty).filter(move |field| is_chosen(field, rules))
    }
}

impl SelectionTree {
    fn leaf(&mut self, branch: usize, text: String) {
        self.room = self.room.saturating_sub(1);
        if let Some(branch) = self.branches.get_mut(branch) {
            branch.leaves.push(text);
        }
    }

    fn branch(&mut self, above: usize, head: String) -> usize {
        let number = self.branches.len();
        self.branches.push(SelectionBranch { head, ..SelectionBranch::default() });
        if let Some(above) = self.branches.get_mut(above) {
            above.below.push(number);
        }
        number
    }

    fn fragments_of(&self, branch: usize) -> Vec<usize> {
        let is_fragment = |number: &&usize| {
            self.branches.get(**number).is_some_and(|branch| branch.head.starts_with("... on "))
        };
        let below = self.branches.get(branch).map(|branch| branch.below.as_slice());
        below.unwrap_or_default().iter().filter(is_fragment).copied().collect()
    }

    /// Returns the text of a branch with its braces; empty without fields.
    fn render(&self, branch: usize) -> String {
        let Some(branch) = self.branches.get(branch) else { return String::new() };
        let mut inside = branch.leaves.join(" ");
        for number in &branch.below {
            let text = self.render(*number);
            if let (false, Some(below)) = (text.is_empty(), self.branches.get(*number)) {
                let space = if inside.is_empty() { "" } else { " " };
                // Writing to a string cannot fail.
                _ = write!(inside, "{space}{} {text}", below.head);
            }
        }
        if inside.is_empty() { inside } else { format!("{{ {inside} }}") }
    }
}

fn is_chosen(field: &FieldDefinition, rules: SelectionRules) -> bool {
    let is_current = rules.include_deprecated || !field.directives.has("deprecated");
    is_current && !field.arguments.iter().any(|argument| argument.is_required())
}

/// Returns the priority of a field when space is limited: identifying fields first.
fn rank(field: &FieldDefinition) -> usize {
    PREFERRED_FIELDS.iter().position(|name| field.name == *name).unwrap_or(PREFERRED_FIELDS.len())
}

fn written(alias: Option<&str>, field: &FieldDefinition) -> String {
    let alias = alias.map(|alias| format!("{alias}: ")).unwrap_or_default();
    format!("{alias}{}{}", field.name, page(field))
}

fn page(field: &FieldDefinition) -> &'static str {
    let first = field.arguments.iter().find(|argument| argument.name == "first");
    let can_be_cut = first.is_some_and(|first| {
        matches!(&*first.ty, Type::Named(name) if name == "Int") && first.default_value.is_none()
    });
    if can_be_cut { PAGE_ARGUMENT } else { "" }
}

fn type_name(field: &FieldDefinition) -> &Name {
    field.ty.inner_named_type()
}

/// An abstract type with more possible types gets no fragments.
const MAX_FRAGMENTS: usize = 30;

#[derive(Debug)]
pub(super) struct FragmentNames {
    /// Fields of the abstract type itself, which fragments omit.
    shared: HashSet<Name>,
    aliases: HashMap<(Name, Name), String>,
}

/// Returns the possible types with a fragment. An interface with too many of them has only its own fields.
fn fragment_types<'a>(schema: &'a ApiSchema, of: &str) -> &'a [Name] {
    let possible = schema.possible_types(of);
    if possible.len() <= MAX_FRAGMENTS {
        return possible;
    }
    let is_union = schema.get(of).is_some_and(ExtendedType::is_union);
    let kept = if is_union { MAX_FRAGMENTS } else { 0 };
    possible.get(..kept).unwrap_or_default()
}

impl FragmentNames {
    pub(super) fn new(
        schema: &ApiSchema,
        of: &Name,
        is_chosen: impl Fn(&FieldDefinition) -> bool,
    ) -> Self {
        let types = fragment_types(schema, of);
        let shared: HashSet<Name> = schema
            .fields(of)
            .filter(|field| is_chosen(field))
            .map(|field| field.name.clone())
            .collect();
        let mut taken: HashSet<String> = std::iter::once(of)
            .chain(types)
            .flat_map(|ty| schema.fields(ty))
            .map(|field| field.name.to_string())
            .collect();
        let mut first: HashMap<&Name, &Type> = HashMap::new();
        let mut aliases = HashMap::new();
        for ty in types {
            for field in schema.fields(ty).filter(|field| is_chosen(field)) {
                if shared.contains(&field.name)
                    || *first.entry(&field.name).or_insert(&field.ty) == &field.ty
                {
                    continue;
                }
                let mut alias = format!("{}_{ty}", field.name);
                while !taken.insert(alias.clone()) {
                    alias.push('_');
                }
                aliases.insert((ty.clone(), field.name.clone()), alias);
            }
        }
        Self { shared, aliases }
    }

    pub(super) fn is_shared(&self, field: &Name) -> bool {
        self.shared.contains(field)
    }

    pub(super) fn alias(&self, ty: &Name, field: &Name) -> Option<String> {
        self.aliases.get(&(ty.clone(), field.clone())).cloned()
    }
}

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
    problems: &mut ImportProblems,
) -> Vec<AutomaticOperation> {
    let mut selector = SelectionBuilder::new(schema, rules);
    let mut operations = Vec::new();
    for (kind, root) in schema.roots() {
        let fields: Vec<&FieldDefinition> = schema.fields(root).collect();
        if kind == OperationType::Subscription {
            let names = fields.iter().map(|field| format!("`{}`", field.name));
            let names = names.take(5).collect::<Vec<_>>().join(", ");
            problems.add(
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
                problems.add(place, format!("there are more than {MAX_OPERATIONS} operations; list those needed in `operations`"));
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
