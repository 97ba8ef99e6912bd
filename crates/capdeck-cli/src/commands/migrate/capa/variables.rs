//! Values that were typed into CAPA's page, for the servers of one project.

use std::path::Path;

use capdeck_auth::{Secret, VaultGrant};
use capdeck_definition::SourceLayer;
use capdeck_host::vault_holder;
use capdeck_install::CapaVariables;

use crate::{
    commands::migrate::{
        staging::StagedSetup,
        system::{MigrationScene, SetupItem, SetupItemKind},
    },
    errors::CommandFailure,
};

/// Puts the values into the vault, for everything that the capability file declares: it is what could read them before.
pub(super) fn take_variables(
    project: &Path,
    staged: &StagedSetup,
    scene: &MigrationScene<'_>,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    let Some(home) = &scene.context.env.home else { return Ok(()) };
    let database = home.join(".capa/capa.db");
    if !database.is_file() {
        return Ok(());
    }
    let variables = match CapaVariables::read(&database, project, &staged.scratch()?) {
        Ok(variables) => variables,
        Err(error) => {
            items.push(SetupItem::leave(SetupItemKind::File, "~/.capa/capa.db", error.to_string()));
            return Ok(());
        }
    };
    let host = scene.settings.open_host()?;
    let is_of_file = |layer: SourceLayer| layer == SourceLayer::ProjectCapabilityFile;
    let definitions = host.deck().definitions.clone();
    for (name, value) in variables.values {
        let entry = entry_name(&name);
        let value = Secret::new(value);
        match staged.vault.value(&entry) {
            Ok(known) if known != value => {
                let why = "your vault has another value of that name; set it in `.env`";
                items.push(SetupItem::leave(SetupItemKind::Secret, name, why));
                continue;
            }
            Ok(_) => {}
            Err(_) => drop(staged.vault.set(&entry, &value)?),
        }
        for definition in definitions.iter().filter(|one| is_of_file(one.source.layer)) {
            let (holder, reference) = (vault_holder(definition), name.clone());
            staged.vault.grant(VaultGrant { holder, reference, entry: entry.clone() })?;
        }
        let note = format!("in the vault as {entry}");
        items.push(SetupItem::take(SetupItemKind::Secret, name, Some(note)));
    }
    Ok(())
}

/// A name as the vault has them.
fn entry_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.chars().map(letter).take(120).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}
