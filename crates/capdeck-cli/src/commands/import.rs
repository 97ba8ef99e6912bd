//! `capdeck import CLIENT`: the servers an agent already has, as capabilities.

use std::path::{Path, PathBuf};

use capdeck_auth::{Secret, VaultGrant};
use capdeck_definition::{Definition, DiagnosticSeverity, SourceLayer};
use capdeck_host::vault_holder;
use capdeck_install::{
    AgentClient, ClientEntryChange, ClientEntryPlan, ClientEntryRecords, ClientEntryTarget,
    ClientScope, ImportedServer, OverwritePolicy, import_server, is_capdeck, plan_connect,
};
use capdeck_storage::FileReaders;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    add::read_caplet,
    connect::{
        EntryArgs, LaunchSettings, apply, client, client_ids, folders, plan_to_json, report,
        targets,
    },
};
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus, TRUST_NEXT},
    new_file::{BackendBlock, caplet_text, write_new},
    plain_text::one_line,
    settings::CommandSettings,
};

/// Import the MCP servers of an agent
///
/// Each becomes a capability file. What looks like a secret goes into the vault, and the file only names it. The agent's own
/// configuration stays as it is, unless --replace puts Capdeck in the place of what was taken; `capdeck disconnect` brings it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck import cursor --dry-run
  capdeck import claude-desktop github linear
  capdeck import codex --replace")]
pub(crate) struct ImportArgs {
    /// The agent.
    #[arg(value_name = "CLIENT", value_parser = client_ids())]
    client: String,
    /// Only these servers, by the names the agent has for them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    entry: EntryArgs,
    /// Write to the project's deck instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Connect Capdeck to the agent in place of the imported servers.
    #[arg(long)]
    replace: bool,
    /// Show what would be imported, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace capability files and vault entries that are already there.
    #[arg(long)]
    force: bool,
}

/// One server and what became of it.
#[derive(Serialize)]
struct ImportItem {
    name: String,
    scope: ClientScope,
    #[serde(flatten)]
    outcome: ServerImport,
}

/// Whether the deck has it now, so that the agent need not.
fn is_kept(item: &ImportItem) -> bool {
    matches!(item.outcome, ServerImport::Kept { .. })
}

pub(crate) fn run(args: &ImportArgs, context: &CommandContext<'_>) -> CommandResult {
    let ImportArgs { client: id, ids, entry, project_deck, replace, dry_run, force } = args;
    let client = client(id)?;
    let settings = context.settings()?;
    let deck = TargetDeck::new(&settings, *project_deck, *force, *dry_run);
    let folders = folders(&settings, context)?;
    let targets = targets(client, entry.scope, &entry.name, &folders)?;
    let mut items = Vec::new();
    for target in &targets {
        let document = target.document()?;
        for server in client.servers(&document) {
            let is_wanted = ids.is_empty() || ids.contains(&server.name);
            let path = client.server_path(&document, &server.name);
            let is_ours = document.get(&path).is_some_and(is_capdeck) || server.name == entry.name;
            if !is_wanted || is_ours {
                continue;
            }
            let outcome = match import_server(&server) {
                Ok(taken) => deck.keep(&taken),
                Err(reason) => ServerImport::Refused { reason },
            };
            items.push(ImportItem { name: server.name, scope: target.scope, outcome });
        }
    }
    if let Some(missing) = ids.iter().find(|id| !items.iter().any(|item| item.name == **id)) {
        let message = format!("{} has no server `{missing}`", client.name);
        return Err(CommandFailure::request("SERVER_NOT_FOUND", message)
            .hint(format!("see what it has with: capdeck import {} --dry-run", client.id)));
    }
    let plans = if *replace {
        replace_servers(&targets, &items, entry, *dry_run, context)?
    } else {
        Vec::new()
    };
    print_report(client, &items, &plans, args, context);
    let failed = items.iter().any(|item| matches!(item.outcome, ServerImport::Refused { .. }));
    Ok(ExitStatus::done_unless(failed))
}

/// Puts Capdeck where the servers were. What could not be taken stays with the agent.
fn replace_servers(
    targets: &[ClientEntryTarget],
    items: &[ImportItem],
    entry: &EntryArgs,
    dry_run: bool,
    context: &CommandContext<'_>,
) -> Result<Vec<ClientEntryPlan>, CommandFailure> {
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let launch = LaunchSettings::resolve(entry.url.as_deref(), &settings, context)?;
    let _alone = if dry_run { None } else { Some(records.hold()?) };
    let mut plans = Vec::new();
    for target in targets {
        let taken: Vec<String> = items
            .iter()
            .filter(|item| item.scope == target.scope && is_kept(item))
            .map(|item| item.name.clone())
            .collect();
        if !taken.is_empty() {
            let entry = launch.entry(target);
            plans.push(plan_connect(target, &entry, &taken, OverwritePolicy::Keep, &records)?);
        }
    }
    apply(&plans, dry_run, &records)?;
    Ok(plans)
}

/// Tells it: as text, or as `{items: [{name, scope, status, id?, path?, secrets?, ignored?, reason?}], files: [...]}`.
fn print_report(
    client: &AgentClient,
    items: &[ImportItem],
    plans: &[ClientEntryPlan],
    args: &ImportArgs,
    context: &CommandContext<'_>,
) {
    let printer = context.printer;
    let (dry_run, project_deck) = (args.dry_run, args.project_deck);
    if printer.wants_json() {
        let files: Vec<Value> = plans.iter().map(|plan| plan_to_json(plan, dry_run)).collect();
        printer.json(&json!({ "items": items, "files": files, "dryRun": dry_run }));
        return;
    }
    if items.is_empty() {
        printer.note(&format!("{} has no servers to import", client.name));
    }
    let verb = if dry_run { "Would import" } else { "Imported" };
    for item in items {
        let name = one_line(&item.name);
        printer.note(&match &item.outcome {
            ServerImport::Kept { path, secrets, ignored, .. } => {
                let vault = match secrets.as_slice() {
                    [] => String::new(),
                    names => format!(", with {} in the vault", names.join(", ")),
                };
                let left_out = match ignored.as_slice() {
                    [] => String::new(),
                    keys => format!("; not imported: {}", keys.join(", ")),
                };
                format!("{verb} {name} → {}{vault}{left_out}", path.display())
            }
            ServerImport::Exists { path } => {
                format!("{name} is already in {}", path.display())
            }
            ServerImport::Refused { reason } => {
                format!("{name}: not imported: {}", one_line(reason))
            }
        });
    }
    if !plans.is_empty() {
        report(plans, dry_run, context);
    }
    let kept = items.iter().any(is_kept);
    let is_replaced = plans.iter().any(|plan| plan.change != ClientEntryChange::None);
    if kept && !dry_run && project_deck {
        printer.note(TRUST_NEXT);
    }
    if kept && !dry_run && !is_replaced {
        printer.note("Test them: capdeck check");
    }
}

/// The deck that servers are written into.
struct TargetDeck<'a> {
    settings: &'a CommandSettings,
    folder: PathBuf,
    layer: SourceLayer,
    readers: FileReaders,
    force: bool,
    dry_run: bool,
}

/// What became of one server.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum ServerImport {
    #[serde(rename = "taken")]
    Kept {
        id: String,
        path: PathBuf,
        secrets: Vec<String>,
        ignored: Vec<String>,
    },
    /// A capability of that id is there already.
    Exists {
        path: PathBuf,
    },
    Refused {
        reason: String,
    },
}

impl<'a> TargetDeck<'a> {
    fn new(settings: &'a CommandSettings, is_project: bool, force: bool, dry_run: bool) -> Self {
        let (folder, readers) = settings.target_deck(is_project);
        let layer = if is_project { SourceLayer::ProjectFile } else { SourceLayer::UserFile };
        Self { settings, folder, layer, readers, force, dry_run }
    }

    /// Checks and writes one server. The secrets come first: without them the file is of no use, and with --replace they
    /// would be nowhere else.
    fn keep(&self, taken: &ImportedServer) -> ServerImport {
        let path = self.folder.join(format!("{}.md", taken.id));
        let twin = self.folder.join(&taken.id).join("CAPLET.md");
        if let Some(path) = [&path, &twin].into_iter().find(|path| path.exists())
            && !self.force
        {
            return ServerImport::Exists { path: path.clone() };
        }
        match self.write(taken, &path) {
            Ok(secrets) => {
                let ignored = taken.ignored.clone();
                ServerImport::Kept { id: taken.id.clone(), path, secrets, ignored }
            }
            Err(failure) => ServerImport::Refused { reason: failure.message },
        }
    }

    fn write(&self, taken: &ImportedServer, path: &Path) -> Result<Vec<String>, CommandFailure> {
        let (fields, summary) = (taken.fields.clone(), taken.summary.clone());
        let block = BackendBlock { key: "mcpServer", fields, summary };
        let text = caplet_text(&taken.id, Some(&taken.name), None, &[], block)?;
        let definition = self.check(&text, &taken.id, path)?;
        let names: Vec<String> = taken.secrets.iter().map(|secret| secret.name.clone()).collect();
        let vault = &self.settings.vault;
        for secret in &taken.secrets {
            let is_other =
                vault.value(&secret.name).is_ok_and(|kept| kept.expose() != secret.value);
            if is_other && !self.force {
                let message = format!("the vault has another value for `{}`", secret.name);
                return Err(CommandFailure::request("VAULT_ENTRY_TAKEN", message));
            }
        }
        if self.dry_run {
            return Ok(names);
        }
        for secret in &taken.secrets {
            vault.set(&secret.name, &Secret::new(secret.value.clone()))?;
        }
        write_new(path, &text, OverwritePolicy::from_force(self.force), self.readers)?;
        for name in &names {
            let holder = vault_holder(&definition);
            vault.grant(VaultGrant { holder, reference: name.clone(), entry: name.clone() })?;
        }
        Ok(names)
    }

    /// Reads the new file as the host would.
    fn check(&self, text: &str, id: &str, path: &Path) -> Result<Definition, CommandFailure> {
        let deck = read_caplet(text, id, path, self.layer);
        let errors =
            deck.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error);
        let errors: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
        match deck.definitions.first() {
            Some(definition) if errors.is_empty() => Ok(Definition::clone(definition)),
            _ => Err(CommandFailure::request("INVALID_SERVER", errors.join("; "))),
        }
    }
}
