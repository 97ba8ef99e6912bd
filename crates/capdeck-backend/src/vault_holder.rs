//! As whom a definition asks the vault.

use capdeck_auth::VaultHolder;
use capdeck_definition::Definition;

/// A definition reads what its id, in its file, was granted. The same id in another file has to be granted anew.
pub fn vault_holder(definition: &Definition) -> VaultHolder {
    let source = &definition.source;
    // A layer is always written as one word.
    let kind = serde_json::to_value(source.layer).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
    VaultHolder::new(definition.id.as_str(), kind, &source.path)
}
