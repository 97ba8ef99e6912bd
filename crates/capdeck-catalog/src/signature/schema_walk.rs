//! How far a signature follows a schema: schemas come from outside, may refer to themselves, and may multiply.

use std::cell::Cell;

use serde_json::Value;

use crate::input_shape::resolve;

/// References that are followed one inside the other. A schema that contains itself ends here.
const MAX_REFERENCES: usize = 3;
/// Schemas inside one another that are looked at.
const MAX_NESTING: usize = 32;
/// Schemas that are looked at for one signature. Without it, alternatives that refer to alternatives multiply.
const MAX_SCHEMAS: usize = 2_000;

/// How many schemas one signature may still look at.
#[derive(Debug)]
pub(super) struct SchemaBudget(Cell<usize>);

/// A place in a tool's schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaWalk<'a> {
    root: &'a Value,
    budget: &'a SchemaBudget,
    /// Objects around this place.
    pub(super) objects: usize,
    nesting: usize,
    references: usize,
}

impl Default for SchemaBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_SCHEMAS))
    }
}

impl<'a> SchemaWalk<'a> {
    pub(super) fn new(root: &'a Value, budget: &'a SchemaBudget) -> Self {
        Self { root, budget, objects: 0, nesting: 0, references: 0 }
    }

    /// The schema with its references followed, and the place of what is inside it. `None` when it lies too deep, or enough
    /// was looked at.
    pub(super) fn enter(self, schema: &'a Value) -> Option<(&'a Value, Self)> {
        let left = self.budget.0.get().checked_sub(1)?;
        self.budget.0.set(left);
        let references = self.references + usize::from(schema.get("$ref").is_some());
        let inside = Self { nesting: self.nesting + 1, references, ..self };
        let is_near = inside.nesting <= MAX_NESTING && references <= MAX_REFERENCES;
        is_near.then(|| (resolve(self.root, schema), inside))
    }

    pub(super) fn in_object(self) -> Self {
        Self { objects: self.objects + 1, ..self }
    }
}
