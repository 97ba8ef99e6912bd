//! Which definitions refer to variables or the vault. Finding out takes a walk through the whole definition, and a deck
//! has many that every run would walk through.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use capdeck_auth::has_any_reference;
use capdeck_definition::Definition;

#[derive(Default)]
pub(super) struct ReferenceIndex {
    /// By address. An entry whose definition is gone is about another one.
    known: HashMap<usize, (Weak<Definition>, bool)>,
}

impl ReferenceIndex {
    pub(super) fn has_references(&mut self, definition: &Arc<Definition>) -> bool {
        let address = Arc::as_ptr(definition).addr();
        match self.known.get(&address) {
            Some((known, has_references)) if known.strong_count() > 0 => *has_references,
            _ => {
                self.known.retain(|_, (known, _)| known.strong_count() > 0);
                let has_references = has_any_reference(&definition.backend);
                let known = (Arc::downgrade(definition), has_references);
                self.known.insert(address, known);
                has_references
            }
        }
    }
}
