//! The possible types of an abstract type, and the aliases of their fields.
//!
//! Two fragments may select a field of the same name only with the same shape. Aliases depend on the schema alone,
//! not on the limit, so that a type has the same aliases everywhere.

use std::collections::{HashMap, HashSet};

use apollo_compiler::{
    Name,
    ast::{FieldDefinition, Type},
    schema::ExtendedType,
};

use super::super::schema::ApiSchema;

/// An abstract type with more possible types gets no fragments.
const MAX_FRAGMENTS: usize = 30;

#[derive(Debug)]
pub(super) struct FragmentNames {
    /// Fields of the abstract type itself, which fragments omit.
    shared: HashSet<Name>,
    aliases: HashMap<(Name, Name), String>,
}

/// Returns the possible types with a fragment. An interface with too many of them has only its own fields.
pub(super) fn fragment_types<'a>(schema: &'a ApiSchema, of: &str) -> &'a [Name] {
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
