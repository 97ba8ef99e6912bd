//! `capdeck remove`, `disable` and `enable`: capabilities out of the deck, or off, wherever they are defined.

use std::path::PathBuf;

use capdeck_definition::{CapabilityId, SourceLayer};
use capdeck_host::{Host, capabilities_of_file, known_capability, list_items};
use capdeck_install::{
    DeckEditError, DefinitionOwner, DefinitionPlace, LockedPackage, PackageDeck, PackageRemoval,
    PackageSource, RemovedDefinitions,
};
use serde_json::{Value, json};

use super::packages::failed as package_failed;
use crate::{
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, TRUST_NEXT},
    plain_text::{command_line, one_line, without_nulls, written},
    settings::CommandSettings,
};

/// Remove capabilities from the deck
///
/// A capability that is a file goes with its file or folder; an entry of a config or of a file with several goes alone, and
/// everything else in that file stays as it is. `capdeck remove --undo ID` brings it back. An installed package that you edited
/// stays unless --force is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck remove time
  capdeck remove time --dry-run
  capdeck remove --undo time")]
pub(crate) struct RemoveArgs {
    /// The capabilities' ids.
    #[arg(value_name = "ID", required = true, add = ids())]
    ids: Vec<String>,
    /// Remove it from the project's deck and leave your own.
    #[arg(long)]
    project_deck: bool,
    /// Bring back what was removed last under this id.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "project_deck"])]
    undo: bool,
    /// Show what would happen, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove without being asked.
    #[arg(long, short)]
    yes: bool,
    /// Also remove an installed package that was edited since.
    #[arg(long)]
    force: bool,
}

/// One thing to remove.
enum Removal {
    Package { removal: PackageRemoval, package: Box<LockedPackage>, deck: PackageDeck },
    Definition(FoundDefinition),
}

/// A capability and where it is written.
struct FoundDefinition {
    id: String,
    place: DefinitionPlace,
    layer: SourceLayer,
    /// What is used once it is gone.
    below: Option<PathBuf>,
}

pub(crate) fn remove(args: &RemoveArgs, context: &CommandContext<'_>) -> CommandResult {
    let settings = context.settings()?;
    let records = RemovedDefinitions::new(&settings.state_dir);
    if args.undo {
        return undo(&args.ids, &records, &settings, context);
    }
    let mut locks = Vec::new();
    for deck in settings.package_decks(args.project_deck) {
        locks.push((deck.lock().map_err(package_failed)?, deck));
    }
    let host = settings.open_host()?;
    let find = |id: &String| {
        let found = locks.iter().find_map(|(lock, deck)| Some((lock.get(id)?, deck)));
        let Some((package, deck)) = found else {
            return FoundDefinition::find(&host, id, args.project_deck).map(Removal::Definition);
        };
        let removal = deck.removal(id).map_err(package_failed)?;
        check_package(&removal, args.force)?;
        let (package, deck) = (Box::new(package.clone()), deck.clone());
        Ok(Removal::Package { removal, package, deck })
    };
    let removals: Vec<Removal> = args.ids.iter().map(find).collect::<Result<_, _>>()?;
    let printer = context.printer;
    let asks = !args.yes && !args.dry_run && printer.can_ask();
    let described = removals.iter().map(Removal::describe).collect::<Vec<_>>().join(", ");
    if asks && !printer.confirm(&format!("Remove {described}?")) {
        return Err(CommandFailure::request("CANCELLED", "nothing was removed"));
    }
    let mut items = Vec::new();
    for removal in &removals {
        if !args.dry_run {
            match removal {
                Removal::Package { removal, deck, .. } => {
                    deck.remove(removal).map_err(package_failed)?;
                }
                Removal::Definition(found) => records.remove(&found.id, &found.place)?,
            }
        }
        items.push(removal.to_json(args.dry_run));
        if !printer.wants_json() {
            let verb = if args.dry_run { "Would remove" } else { "Removed" };
            printer.note(&format!("{verb} {}", removal.describe()));
            removal.notes(&settings).iter().for_each(|note| printer.note(note));
            if !args.dry_run {
                printer.note(&format!("undo: {}", removal.undo_command()));
            }
        }
    }
    printer.json_or(&json!({ "items": items }), || {
        if !args.dry_run && removals.iter().any(Removal::is_of_project) {
            printer.note(TRUST_NEXT);
        }
    })
}

fn check_package(removal: &PackageRemoval, force: bool) -> Result<(), CommandFailure> {
    let Some(obstacle) = removal.obstacle.filter(|_| !force) else { return Ok(()) };
    let message = format!("`{}` is not removed: {obstacle}", removal.id);
    let hint = format!("keep a copy of `{}`, then add --force", removal.path.display());
    Err(CommandFailure::request("PACKAGE_REFUSED", message).hint(hint))
}

fn undo(
    ids: &[String],
    records: &RemovedDefinitions,
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> CommandResult {
    let mut items = Vec::new();
    let mut needs_trust = false;
    for id in ids {
        let path = records.undo(id)?.path;
        needs_trust |=
            settings.project.as_ref().is_some_and(|project| path.starts_with(&project.dir));
        if !context.printer.wants_json() {
            context.printer.note(&format!("Restored {id} in {}", path.display()));
        }
        items.push(json!({ "id": id, "path": path, "restored": true }));
    }
    context.printer.json_or(&json!({ "items": items }), || {
        if needs_trust {
            context.printer.note(TRUST_NEXT);
        }
    })
}

impl Removal {
    /// `time (/home/me/.config/capdeck/config.json, mcpServers.time)`.
    fn describe(&self) -> String {
        match self {
            Self::Package { removal, .. } => {
                format!("{} ({})", removal.id, removal.path.display())
            }
            Self::Definition(found) => found.describe(),
        }
    }

    fn undo_command(&self) -> String {
        match self {
            Self::Definition(found) => {
                format!("capdeck remove --undo {}", command_line([found.id.as_str()]))
            }
            Self::Package { removal, package, .. } => {
                let (address, folder) = match &package.source.source {
                    PackageSource::Folder { path } => (path.display().to_string(), None),
                    PackageSource::Git { repository, reference, subfolder } => {
                        let commit = package.source.commit.as_ref().or(reference.as_ref());
                        let at = commit.map(|commit| format!("#{commit}")).unwrap_or_default();
                        (format!("{repository}{at}"), subfolder.as_deref())
                    }
                };
                let folder = folder.map_or(Vec::new(), |folder| vec!["--path", folder]);
                let words = ["capdeck", "get", &address, &removal.id].into_iter().chain(folder);
                command_line(words)
            }
        }
    }

    fn is_of_project(&self) -> bool {
        matches!(self, Self::Definition(found) if found.layer.needs_trust())
    }

    fn notes(&self, settings: &CommandSettings) -> Vec<String> {
        let Self::Definition(found) = self else { return Vec::new() };
        let mut notes = Vec::new();
        if let Some(below) = &found.below {
            notes.push(format!("  {} in {} is used instead", found.id, below.display()));
        }
        let grants = settings.vault.grants().unwrap_or_default();
        let own = grants.iter().filter(|grant| grant.holder.name == found.id);
        let names: Vec<&str> = own.map(|grant| grant.entry.as_str()).collect();
        if !names.is_empty() {
            let words = names.join(", ");
            notes.push(format!(
                "  {words} stays in the vault; delete it with: capdeck vault delete"
            ));
        }
        notes
    }

    fn to_json(&self, dry_run: bool) -> Value {
        without_nulls(match self {
            Self::Package { removal, .. } => json!({
                "id": removal.id,
                "path": removal.path,
                "wasThere": removal.is_there,
                "removed": !dry_run,
                "obstacle": removal.obstacle.map(written),
                "undo": self.undo_command(),
            }),
            Self::Definition(found) => json!({
                "id": found.id,
                "path": found.place.path(),
                "entry": found.place.key(),
                "wasThere": true,
                "removed": !dry_run,
                "undo": self.undo_command(),
            }),
        })
    }
}

impl FoundDefinition {
    /// Finds what defines a capability now, in any status.
    fn find(host: &Host, id: &str, is_of_project: bool) -> Result<Self, CommandFailure> {
        let catalog = host.catalog();
        let mut items = list_items(host, &catalog).into_iter();
        let is_it = |layer: SourceLayer| !is_of_project || layer.needs_trust();
        let Some(item) = items.find(|item| item.id == id && is_it(item.source.layer)) else {
            let children = capabilities_of_file(&catalog, id);
            let first = children.first().map(|child| &child.definition.source);
            let source = match first.filter(|source| is_it(source.layer)) {
                Some(source) => source.clone(),
                None if is_of_project => {
                    let message = format!("the project's deck has no `{id}`");
                    return Err(CommandFailure::request("CAPABILITY_NOT_FOUND", message)
                        .hint("see where it is defined with: capdeck why ID"));
                }
                None => {
                    let error = known_capability(host, id).map(drop).err();
                    return Err(error.map_or_else(
                        || CommandFailure::bug("a capability without a file"),
                        CommandFailure::from,
                    ));
                }
            };
            let place = DefinitionPlace::find(id, &source.path, DefinitionOwner::default())?;
            return Ok(Self { id: id.to_owned(), place, layer: source.layer, below: None });
        };
        let source = &item.source;
        if let Some(refused) = fixed(id, source.layer, &source.path) {
            return Err(refused);
        }
        let known = known_capability(host, id).ok();
        let definition = known.as_ref().map(|known| &known.definition);
        let owner = match definition {
            Some(definition) => DefinitionOwner {
                parent: definition.parent.as_ref().map(CapabilityId::as_str),
                set: definition.member_of.as_ref().map(CapabilityId::as_str),
            },
            // A broken child is known by its full id only.
            None => DefinitionOwner {
                parent: source.path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| {
                    id.strip_prefix(stem).is_some_and(|rest| rest.starts_with("__"))
                }),
                set: None,
            },
        };
        let place = DefinitionPlace::find(id, &source.path, owner)?;
        let below = item.shadows.last().map(|source| source.path.clone());
        Ok(Self { id: id.to_owned(), place, layer: source.layer, below })
    }

    fn describe(&self) -> String {
        let (id, path) = (one_line(&self.id), self.place.path().display());
        match self.place.key() {
            Some(key) => format!("{id} ({path}, {})", one_line(&key)),
            None => format!("{id} ({path})"),
        }
    }
}

/// What no file of a deck defines, and what to do about it.
fn fixed(id: &str, layer: SourceLayer, path: &std::path::Path) -> Option<CommandFailure> {
    let refused = |what: String, hint: String| {
        Some(CommandFailure::request("NOT_REMOVABLE", format!("`{id}` {what}")).hint(hint))
    };
    match layer {
        SourceLayer::BuiltIn => refused(
            "is part of the host".to_owned(),
            "hide its tools with a `deny` rule in `policy` of the config".to_owned(),
        ),
        SourceLayer::Starter => refused(
            "is part of the starter deck, which is used while the deck is empty".to_owned(),
            "it goes with the first capability of your own: capdeck add --help".to_owned(),
        ),
        SourceLayer::Cmp => {
            let folder = path.parent().unwrap_or(path).display();
            refused(
                format!("is a CMP tool in {folder}, which other programs use as well"),
                "delete that folder, or hide the tool with a `deny` rule in `policy` of the config"
                    .to_owned(),
            )
        }
        SourceLayer::Remote => refused(
            "is defined by the host that this one is attached to".to_owned(),
            "remove it there".to_owned(),
        ),
        SourceLayer::UserConfig
        | SourceLayer::UserFile
        | SourceLayer::ProjectCapabilityFile
        | SourceLayer::ProjectConfig
        | SourceLayer::ProjectFile
        | SourceLayer::SetConfig
        | SourceLayer::SetFile => None,
    }
}

impl From<DeckEditError> for CommandFailure {
    fn from(error: DeckEditError) -> Self {
        let message = error.to_string();
        match error {
            DeckEditError::Syntax { file, source } => {
                let place = json!({ "file": file, "line": source.line, "column": source.column });
                Self::request("FILE_UNREADABLE", message)
                    .hint("repair that place and run this again")
                    .with_data(place)
            }
            DeckEditError::Edit { .. } | DeckEditError::NotFound { .. } => {
                Self::request("FILE_UNEDITABLE", message).hint("edit that file by hand")
            }
            DeckEditError::InUse { .. } => {
                Self::request("IN_USE", message).hint("delete those entries of the file first")
            }
            DeckEditError::Link { .. } => Self::request("FILE_IS_LINK", message)
                .hint("delete the link by hand, or the file that it leads to"),
            DeckEditError::NotRemoved { .. } => Self::request("NOT_REMOVED", message)
                .hint("only the last removal of an id can be undone"),
            DeckEditError::Occupied { .. } => Self::request("FILE_EXISTS", message)
                .hint("move that file away, then run this again"),
            DeckEditError::Changed { removed, .. } => Self::request("FILE_CHANGED", message)
                .hint("put it back by hand")
                .with_details(removed),
            DeckEditError::Read { .. } | DeckEditError::Write(_) | DeckEditError::Move { .. } => {
                Self::request("FILE_ERROR", message)
            }
        }
    }
}

/// Switch capabilities off
///
/// Sets `disabled: true` where the capability is defined. Agents do not see it any more; its file stays in the deck.
#[derive(Debug, clap::Args)]
pub(crate) struct DisableArgs {
    #[command(flatten)]
    target: ToggleArgs,
}

/// Switch capabilities on again
///
/// Takes `disabled` out of the definition.
#[derive(Debug, clap::Args)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    target: ToggleArgs,
}

#[derive(Debug, clap::Args)]
struct ToggleArgs {
    /// The capabilities' ids.
    #[arg(value_name = "ID", required = true, add = ids())]
    ids: Vec<String>,
    /// Change it in the project's deck and leave your own.
    #[arg(long)]
    project_deck: bool,
}

pub(crate) fn disable(args: &DisableArgs, context: &CommandContext<'_>) -> CommandResult {
    toggle(&args.target, true, context)
}

pub(crate) fn enable(args: &EnableArgs, context: &CommandContext<'_>) -> CommandResult {
    toggle(&args.target, false, context)
}

fn toggle(args: &ToggleArgs, is_disabled: bool, context: &CommandContext<'_>) -> CommandResult {
    let host = context.open_host()?;
    let printer = context.printer;
    let find = |id: &String| FoundDefinition::find(&host, id, args.project_deck);
    let found: Vec<FoundDefinition> = args.ids.iter().map(find).collect::<Result<_, _>>()?;
    let word = if is_disabled { "disabled" } else { "enabled" };
    let mut items = Vec::new();
    let mut needs_trust = false;
    for one in &found {
        let changed = one.place.set_disabled(is_disabled)?;
        needs_trust |= changed && one.layer.needs_trust();
        items.push(without_nulls(json!({
            "id": one.id,
            "path": one.place.path(),
            "entry": one.place.key(),
            "disabled": is_disabled,
            "changed": changed,
        })));
        if !printer.wants_json() {
            printer.note(&if changed {
                format!("{} is {word} ({})", one.id, one.place.file().display())
            } else {
                format!("{} is {word} already", one.id)
            });
        }
    }
    printer.json_or(&json!({ "items": items }), || {
        if is_disabled {
            let ids = command_line(args.ids.iter().map(String::as_str));
            printer.note(&format!("undo: capdeck enable {ids}"));
        }
        if needs_trust {
            printer.note(TRUST_NEXT);
        }
    })
}
