//! Schemas of a description as JSON Schema 2020-12, each tool's complete in itself.
//!
//! What is referred to is converted once per description and kept as text. A tool's schema is its own part and, under
//! `$defs`, the texts of what it needs: no reference is ever expanded in place, so neither circles nor references that
//! multiply can make it grow beyond the description.

mod convert;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use self::convert::SchemaConversion;
use super::document::{OpenApiDocument, OpenApiNode};
use crate::api_connection::ImportProblems;

/// Which way a value of the schema travels. Members that only travel the other way are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SchemaDirection {
    Request,
    Response,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ConvertedSchema {
    pub(super) value: Value,
    pub(super) needs: Vec<SchemaDefinitionId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SchemaDefinitionId(usize);

#[derive(Debug)]
pub(super) struct SchemaConverter<'a> {
    document: &'a OpenApiDocument,
    known: FxHashMap<(usize, SchemaDirection), SchemaDefinitionId>,
    definitions: Vec<SchemaDefinition>,
    names: FxHashSet<String>,
    pending: Vec<(SchemaDefinitionId, OpenApiNode<'a>, SchemaDirection)>,
    patterns: FxHashMap<String, bool>,
}

#[derive(Debug)]
struct SchemaDefinition {
    name: String,
    text: String,
    needs: Vec<SchemaDefinitionId>,
}

impl<'a> SchemaConverter<'a> {
    pub(super) fn new(document: &'a OpenApiDocument) -> Self {
        Self {
            document,
            known: FxHashMap::default(),
            definitions: Vec::new(),
            names: FxHashSet::default(),
            pending: Vec::new(),
            patterns: FxHashMap::default(),
        }
    }

    /// Converts the schema at a place. A reference at the very top is replaced by what it leads to.
    pub(super) fn convert(
        &mut self,
        node: OpenApiNode<'a>,
        direction: SchemaDirection,
        place: &str,
        problems: &mut ImportProblems,
    ) -> ConvertedSchema {
        let schema = self.convert_one(node, direction, place, problems, true);
        // Not by recursion: a chain of definitions may be longer than the stack is deep.
        while let Some((id, node, direction)) = self.pending.pop() {
            let place = self.definition(id).map(|one| one.name.clone()).unwrap_or_default();
            let place = format!("schema `{place}`");
            let ConvertedSchema { value, needs } =
                self.convert_one(node, direction, &place, problems, false);
            if let Some(definition) = self.definitions.get_mut(id.0) {
                definition.text = value.to_string();
                definition.needs = needs;
            }
        }
        schema
    }

    fn convert_one(
        &mut self,
        node: OpenApiNode<'a>,
        direction: SchemaDirection,
        place: &str,
        problems: &mut ImportProblems,
        is_root: bool,
    ) -> ConvertedSchema {
        let mut conversion =
            SchemaConversion { schemas: self, direction, place, problems, needs: Vec::new() };
        let value = if is_root { conversion.root(node) } else { conversion.schema(node) };
        let mut needs = conversion.needs;
        needs.sort_unstable();
        needs.dedup();
        ConvertedSchema { value, needs }
    }

    /// The whole schema as text: this object, and what its references lead to.
    pub(super) fn assemble(
        &self,
        root: &Map<String, Value>,
        needs: &[SchemaDefinitionId],
    ) -> String {
        let mut reached: FxHashSet<SchemaDefinitionId> = needs.iter().copied().collect();
        let mut pending = needs.to_vec();
        while let Some(id) = pending.pop() {
            let needs = self.definition(id).map(|one| one.needs.as_slice()).unwrap_or_default();
            pending.extend(needs.iter().copied().filter(|next| reached.insert(*next)));
        }
        let mut text = Value::Object(root.clone()).to_string();
        if reached.is_empty() {
            return text;
        }
        let mut definitions: Vec<&SchemaDefinition> =
            reached.into_iter().filter_map(|id| self.definition(id)).collect();
        definitions.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        text.pop();
        text.push_str(if root.is_empty() { "\"$defs\":{" } else { ",\"$defs\":{" });
        for (index, SchemaDefinition { name, text: definition, .. }) in
            definitions.iter().enumerate()
        {
            let comma = if index == 0 { "" } else { "," };
            // Names are letters, digits and marks that need no escape.
            let _infallible = write!(text, "{comma}\"{name}\":{definition}");
        }
        text.push_str("}}");
        text
    }

    /// The definition for what a reference leads to, which is converted when its turn comes.
    fn define(
        &mut self,
        target: OpenApiNode<'a>,
        reference: &str,
        direction: SchemaDirection,
    ) -> SchemaDefinitionId {
        *self.known.entry((target.identity(), direction)).or_insert_with(|| {
            let id = SchemaDefinitionId(self.definitions.len());
            let name = unique_name(reference, &mut self.names);
            self.definitions.push(SchemaDefinition {
                name,
                text: "{}".to_owned(),
                needs: Vec::new(),
            });
            self.pending.push((id, target, direction));
            id
        })
    }

    fn definition(&self, id: SchemaDefinitionId) -> Option<&SchemaDefinition> {
        self.definitions.get(id.0)
    }
}

/// The last part of a reference, in letters that need no escape anywhere.
fn unique_name(reference: &str, names: &mut FxHashSet<String>) -> String {
    let last = reference.rsplit(['/', '#']).find(|part| !part.is_empty()).unwrap_or("schema");
    let legal = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' }
    };
    let base: String = last.chars().map(legal).take(80).collect();
    let mut name = base.clone();
    let mut number = 1;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{base}-{number}");
    }
    name
}
