//! Variables that a capability's programs seem to use and do not get, as messages name them.

use capdeck_definition::{Definition, SourceLayer};
use capdeck_host::WithheldVariable;

/// What is missing, and where to add it.
pub(super) struct WithheldReport {
    pub(super) message: String,
    pub(super) fix: String,
}

impl WithheldReport {
    /// `None` when nothing is withheld.
    pub(super) fn of(definition: &Definition, withheld: &[WithheldVariable]) -> Option<Self> {
        let named = withheld.iter().map(|one| format!("`{}` ({})", one.name, one.evidence));
        let named: Vec<String> = named.collect();
        let reach = match named.as_slice() {
            [] => return None,
            [_] => "is set here and does not reach",
            _ => "are set here and do not reach",
        };
        let what = named.join(", ");
        let names: Vec<&str> = withheld.iter().map(|one| one.name.as_str()).collect();
        let file = definition.source.path.display();
        let place = match (definition.block_keys(), definition.source.layer) {
            (Some(keys), _) => {
                format!("`{keys}` in {file}, or to `options` of the deck's config file")
            }
            (None, SourceLayer::ProjectCapabilityFile) => format!("`options` in {file}"),
            (None, _) => "`options` of the deck's config file".to_owned(),
        };
        Some(Self {
            message: format!("{what} {reach} the programs of `{}`", definition.id),
            fix: format!("if they need it, add `passEnv: [{}]` to {place}", names.join(", ")),
        })
    }
}
