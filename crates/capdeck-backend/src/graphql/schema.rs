//! The schema of an API, from SDL or introspection, without its broken parts.
//!
//! Published schemas are not always valid. [`repair`] removes what refers to undefined types; problems that strict
//! validation still finds are listed but stay.

mod repair;
mod sdl;

use std::collections::HashMap;

use apollo_compiler::{
    Name, Schema,
    ast::OperationType,
    schema::{ExtendedType, FieldDefinition},
    validation::Valid,
};

use super::{introspection, problems::GraphQlProblems};

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
    pub(super) fn read(bytes: &[u8], problems: &mut GraphQlProblems) -> Result<Self, SchemaError> {
        let text = std::str::from_utf8(bytes).map_err(|_invalid| SchemaError::NotText)?;
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut found = GraphQlProblems::default();
        let mut schema = match text.chars().next() {
            None => return Err(SchemaError::Empty),
            Some('{') => introspection::parse(text, &mut found)?,
            Some(_) => sdl::parse(text, &mut found),
        };
        repair::repair(&mut schema, &mut found);
        let roots = &schema.schema_definition;
        if roots.query.is_none() && roots.mutation.is_none() {
            let reason = found.into_list().into_iter().next().map(|problem| problem.reason);
            let reason = reason.unwrap_or_else(|| "it defines neither".to_owned());
            return Err(SchemaError::NoRoot { reason });
        }
        let schema = match schema.validate() {
            Ok(schema) => schema,
            Err(broken) => {
                let schema = broken.partial;
                for diagnostic in broken.errors.iter() {
                    found.push_with(|| {
                        let reason = format!("{} (not changed)", diagnostic.error);
                        (sdl::place(&schema, &diagnostic), reason)
                    });
                }
                Valid::assume_valid(schema)
            }
        };
        problems.append(found);
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
