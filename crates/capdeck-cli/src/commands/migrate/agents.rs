//! The entries of another program in agents' files, with Capdeck in their place.

use capdeck_install::{
    AgentClient, ClientEntryPlan, ClientScope, OverwritePolicy, plan_connect, starts_program,
};

use super::system::{MigrationScene, SetupItem, SetupItemKind};
use crate::{
    commands::connect::{EntryLimits, LaunchSettings, NAME, folders, targets},
    errors::CommandFailure,
};

/// Plans one entry of Capdeck in the place of each of a program.
pub(super) fn swap_entries(
    program: &str,
    scene: &MigrationScene<'_>,
) -> Result<(Vec<ClientEntryPlan>, Vec<SetupItem>), CommandFailure> {
    let (mut plans, mut items) = (Vec::new(), Vec::new());
    let MigrationScene { settings, records, context } = scene;
    let Ok(folders) = folders(settings, context) else { return Ok((plans, items)) };
    let launch = LaunchSettings::resolve(None, &EntryLimits::default(), settings, context)?;
    for client in AgentClient::all() {
        for target in targets(client, None, NAME, &folders)? {
            let title = format!("{} ({})", client.name, target.file.display());
            let document = match target.document() {
                Ok(document) => document,
                Err(error) => {
                    items.push(SetupItem::leave(SetupItemKind::Agent, title, error.to_string()));
                    continue;
                }
            };
            let is_theirs = |name: &String| {
                let entry = document.get(&client.server_path(&document, name));
                name == program || entry.is_some_and(|entry| starts_program(entry, program))
            };
            let servers = client.servers(&document).into_iter();
            let names: Vec<String> = servers.map(|server| server.name).filter(is_theirs).collect();
            if names.is_empty() {
                continue;
            }
            let entry = launch.entry(&target);
            let planned = plan_connect(&target, &entry, &names, OverwritePolicy::Keep, records);
            items.push(match planned {
                Ok(plan) => {
                    plans.push(plan);
                    let note = format!("`{}` becomes `{NAME}`", names.join("`, `"));
                    SetupItem::take(SetupItemKind::Agent, title, Some(note))
                }
                Err(error) => SetupItem::leave(SetupItemKind::Agent, title, error.to_string()),
            });
        }
    }
    Ok((plans, items))
}

/// Whether an agent starts a program, as far as its files can be read.
pub(super) fn has_entries(program: &str, scene: &MigrationScene<'_>) -> bool {
    let Ok(folders) = folders(scene.settings, scene.context) else { return false };
    AgentClient::all().iter().any(|client| {
        let targets = targets(client, None, NAME, &folders).unwrap_or_default().into_iter();
        targets.filter(|target| target.scope == ClientScope::User || target.file.exists()).any(
            |target| {
                let Ok(document) = target.document() else { return false };
                client.servers(&document).iter().any(|server| {
                    let entry = document.get(&client.server_path(&document, &server.name));
                    server.name == program
                        || entry.is_some_and(|entry| starts_program(entry, program))
                })
            },
        )
    })
}
