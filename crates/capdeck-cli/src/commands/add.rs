//! `capdeck add` and `init`: write capability files.

mod apis;
mod capability_file;
mod cli;
mod mcp;
mod openapi;

use std::path::{Path, PathBuf};

use capdeck_definition::{
    CapabilityId, Deck, Diagnostic, DiagnosticSeverity, SourceFile, SourceFormat, SourceLayer,
    nearest,
};
use capdeck_install::OverwritePolicy;
use capdeck_storage::FileReaders;
use serde_json::{Map, Value, json};

use crate::{
    commands::{CommandContext, misplaced::MisplacedSource, starter::StarterNotice},
    errors::{CommandFailure, CommandResult, ExitStatus, TRUST_NEXT},
    new_file::{BackendBlock, already_there, caplet_text, write_new},
    plain_text::{command_line, one_line},
    settings,
    source_frames::SourceFrames,
};

/// Write a new capability file
///
/// The file is checked before it is written, and an existing one is replaced only with --force.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    #[command(subcommand)]
    kind: AddKind,
}

/// The backend of the new capability.
#[derive(Debug, clap::Subcommand)]
enum AddKind {
    /// An MCP server, started by a command or reached at a URL.
    Mcp(mcp::AddMcpArgs),
    /// An API described by OpenAPI.
    Openapi(Box<openapi::AddOpenapiArgs>),
    /// A GraphQL endpoint.
    Graphql(apis::AddGraphqlArgs),
    /// A Google API described by a Discovery document.
    GoogleDiscovery(apis::AddGoogleDiscoveryArgs),
    /// HTTP requests, one tool each.
    Http(apis::AddHttpArgs),
    /// Programs, one tool each.
    Cli(cli::AddCliArgs),
    /// Any other word, which another command may take.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// The kinds, as they are typed.
const KINDS: [&str; 6] = ["mcp", "openapi", "graphql", "google-discovery", "http", "cli"];

/// What every kind takes.
#[derive(Debug, clap::Args)]
struct AddCommonArgs {
    /// The new capability's id: 1 to 64 letters, digits, `_` or `-`.
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: CapabilityId,
    /// The name people see; made from the id by default.
    #[arg(long, value_name = "TEXT", help_heading = "Description")]
    name: Option<String>,
    /// What it does, for agents choosing between many. Worth writing well.
    #[arg(long, value_name = "TEXT", help_heading = "Description")]
    description: Option<String>,
    /// A tag; may be repeated.
    #[arg(long = "tag", value_name = "TAG", help_heading = "Description")]
    tags: Vec<String>,
    /// Print the file instead of writing it.
    #[arg(long, conflicts_with_all = ["output", "project_deck"], help_heading = "Output")]
    print: bool,
    /// Write to this file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write to the project's deck instead of your own.
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    project_deck: bool,
    /// Replace a file that is already there.
    #[arg(long, help_heading = "Output")]
    force: bool,
}

pub(crate) fn run(args: &AddArgs, context: &CommandContext<'_>) -> CommandResult {
    match &args.kind {
        AddKind::Mcp(args) => match capability_file::file_of(&args.common, context)? {
            Some(file) => capability_file::add_server(args, file, context),
            None => add(&args.common, |target| args.block(target), context),
        },
        AddKind::Openapi(args) => openapi::add(args, context),
        AddKind::Graphql(args) => add(&args.common, |target| args.block(target), context),
        AddKind::GoogleDiscovery(args) => add(&args.common, |target| args.block(target), context),
        AddKind::Http(args) => add(&args.common, |_| args.block(), context),
        AddKind::Cli(args) => add(&args.common, |target| args.block(target), context),
        AddKind::Other(words) => Err(not_a_kind(words, context)),
    }
}

/// A word that is no kind. What another command takes is sent there.
fn not_a_kind(words: &[String], context: &CommandContext<'_>) -> CommandFailure {
    if words.iter().any(|word| word == "--json") {
        context.printer.switch_to_json();
    }
    let typed = words.first().map_or("", String::as_str);
    let here = context.env.current_dir.clone().unwrap_or_default();
    if let Some(misplaced) = MisplacedSource::recognise(typed, &here) {
        return misplaced.into_failure(typed, "a kind of capability");
    }
    let failure = CommandFailure::usage(format!("there is no kind `{}`", one_line(typed)));
    match nearest(typed, KINDS) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("name the kind first, one of: {}", KINDS.join(", "))),
    }
}

fn add(
    common: &AddCommonArgs,
    block: impl FnOnce(&NewFileTarget) -> Result<BackendBlock, CommandFailure>,
    context: &CommandContext<'_>,
) -> CommandResult {
    let target = NewFileTarget::resolve(common, context)?;
    let block = block(&target)?;
    write_capability(common, &target, block, context, &Map::new(), || Ok(()))
}

/// Writes the file of a new capability. `then` runs once it is there; `more` belongs to the answer as JSON.
fn write_capability(
    common: &AddCommonArgs,
    target: &NewFileTarget,
    block: BackendBlock,
    context: &CommandContext<'_>,
    more: &Map<String, Value>,
    then: impl FnOnce() -> Result<(), CommandFailure>,
) -> CommandResult {
    let (id, name, description) = (&common.id, common.name.as_deref(), &common.description);
    let text = caplet_text(id.as_str(), name, description.as_deref(), &common.tags, block)?;
    let warnings = check(&text, id, &target.path, context)?;
    let printer = context.printer;
    let answer = |facts: Value| {
        let mut answer = facts;
        if let Some(members) = answer.as_object_mut() {
            members.extend(more.clone());
        }
        answer
    };
    if common.print {
        let facts = json!({ "id": id, "text": text, "warnings": warnings });
        printer.show(&answer(facts), &text)?;
        then()?;
        return Ok(ExitStatus::Done);
    }
    let starter = StarterNotice::of(&context.settings()?);
    target.write(&text, common.force)?;
    target.note_other_id(common, context);
    if !printer.wants_json() {
        printer.note(&format!("wrote {}", target.path.display()));
    }
    then()?;
    let facts = json!({ "id": id, "path": target.path, "warnings": warnings });
    printer.json_or(&answer(facts), || {
        printer.note(&match target.needs_trust {
            true => format!("{TRUST_NEXT}\nthen test it: capdeck check {id}"),
            false => format!("Test it: capdeck check {id}"),
        });
        starter.tell(context);
    })
}

struct NewFileTarget {
    path: PathBuf,
    /// The folder relative paths in the file start at.
    folder: PathBuf,
    /// The folder relative paths on the command line start at.
    here: PathBuf,
    readers: FileReaders,
    needs_trust: bool,
}

impl NewFileTarget {
    fn resolve(
        common: &AddCommonArgs,
        context: &CommandContext<'_>,
    ) -> Result<Self, CommandFailure> {
        let here = context.env.current_dir.clone().unwrap_or_default();
        let (path, readers) = match &common.output {
            Some(output) => (here.join(output), FileReaders::Unchanged),
            None => {
                let (deck, readers) = context.settings()?.target_deck(common.project_deck);
                (deck.join(format!("{}.md", common.id)), readers)
            }
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { path, folder, here, readers, needs_trust: common.project_deck })
    }

    /// A file's name decides its id, not the requested name.
    fn note_other_id(&self, common: &AddCommonArgs, context: &CommandContext<'_>) {
        let named = match self.path.file_name() {
            Some(name) if name == "CAPLET.md" => self.folder.file_name(),
            _ => self.path.file_stem(),
        };
        if let Some(named) = named
            && named != common.id.as_str()
        {
            let named = named.to_string_lossy();
            context
                .printer
                .warn(&format!("the file's name decides the id, so this will be `{named}`"));
        }
    }

    fn write(&self, text: &str, force: bool) -> Result<(), CommandFailure> {
        // The other form of the same capability would silently win over the new file.
        let twin = self.path.with_extension("").join("CAPLET.md");
        if twin.exists() {
            return Err(already_there(&twin)
                .hint("edit that file, or delete it first; a folder wins over a file"));
        }
        write_new(&self.path, text, OverwritePolicy::from_force(force), self.readers)
    }

    /// The key and the value that name a document of this kind: a URL as it is, or a path from `here`, relative to the
    /// new file where it is near.
    fn document(&self, kind: &str, text: &str) -> Result<(String, String), CommandFailure> {
        if text.contains("://") {
            return Ok((format!("{kind}Url"), text.to_owned()));
        }
        let real = self.here.join(text).canonicalize().map_err(|error| {
            CommandFailure::usage(format!("cannot read `{text}`: {error}"))
                .hint("name a file that is there, or a URL")
        })?;
        let base = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        let named = match real.strip_prefix(&base) {
            Ok(below) => format!("./{}", below.display()),
            Err(_) => real.display().to_string(),
        };
        Ok((format!("{kind}Path"), named))
    }
}

/// Reads the new file as the host would. Errors refuse it; warnings are shown.
fn check(
    text: &str,
    id: &CapabilityId,
    path: &Path,
    context: &CommandContext<'_>,
) -> Result<Vec<Diagnostic>, CommandFailure> {
    let found = read_caplet(text, id.as_str(), path, SourceLayer::UserFile).diagnostics;
    let errors: Vec<&Diagnostic> =
        found.iter().filter(|one| one.severity == DiagnosticSeverity::Error).collect();
    if let Some(first) = errors.first() {
        let all: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
        let failure = CommandFailure::usage(all.join("; "));
        let data = json!({ "problems": errors });
        return Err(CommandFailure { hint: first.fix.clone(), ..failure.with_data(data) });
    }
    if !context.printer.wants_json() {
        let mut frames = SourceFrames::default();
        for warning in &found {
            let shown = Diagnostic { line: 0, column: 0, ..warning.clone() };
            context.printer.note(frames.render(&shown, context.printer.note_palette).trim_end());
        }
    }
    Ok(found)
}

fn parse_id(text: &str) -> Result<CapabilityId, String> {
    CapabilityId::new(text).map_err(|error| error.to_string())
}

/// Reads a new capability file as the host would.
pub(super) fn read_caplet(text: &str, id: &str, path: &Path, layer: SourceLayer) -> Deck {
    let format = SourceFormat::Caplet { id: id.to_owned() };
    let (path, text) = (path.to_owned(), Ok(text.to_owned()));
    Deck::from_sources(vec![SourceFile { path, layer, format, text }])
}

/// The `auth` block of an API: a token from the environment, or none.
fn auth(token_env: Option<&str>) -> Value {
    match token_env {
        Some(name) => json!({ "type": "bearer", "token": format!("$env:{name}") }),
        None => json!({ "type": "none" }),
    }
}

/// Checks the name of an environment variable.
fn variable(text: &str) -> Result<String, String> {
    let legal = |(index, letter): (usize, char)| {
        letter == '_' || letter.is_ascii_alphabetic() || (index > 0 && letter.is_ascii_digit())
    };
    if !text.is_empty() && text.chars().enumerate().all(legal) {
        Ok(text.to_owned())
    } else {
        Err("name the variable, such as GITHUB_TOKEN; its value is read when the host connects"
            .to_owned())
    }
}

/// Refuses a whole command line, which no file could start, and says how it is typed. A path may hold blanks, where a file is.
fn program<'a>(typed: &'a str, here: &Path) -> Result<&'a str, CommandFailure> {
    let mut words = typed.split_whitespace();
    let Some(first) = words.next() else {
        return Err(CommandFailure::usage("--command: there is no program")
            .hint("name one, such as: --command npx"));
    };
    let arguments: Vec<String> = words.map(|word| format!(" --arg {}", quoted(word))).collect();
    if arguments.is_empty() || here.join(typed).is_file() {
        return Ok(typed);
    }
    let message = format!("--command: `{}` is a program with arguments", one_line(typed));
    let hint = format!("give them apart: --command {}{}", quoted(first), arguments.concat());
    Err(CommandFailure::usage(message).hint(hint))
}

/// A word as a shell takes it. `$input.name` is for the file and not for the shell.
fn quoted(word: &str) -> String {
    if word.contains('$') && !word.contains('\'') {
        return format!("'{word}'");
    }
    command_line([word])
}

const CONFIG: &str = include_str!("../../starter/config.yaml");
const PROJECT_EXAMPLE: &str = include_str!("../../starter/repository.md");

/// Start a deck: a config file and an example
///
/// Files that are already there are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Start the project's deck, `.capdeck`, instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Write every file of the starter deck, which is otherwise used only while the deck is empty.
    #[arg(long, conflicts_with = "project_deck")]
    starter: bool,
    /// Replace files that are already there.
    #[arg(long)]
    force: bool,
}

type FileOutcome = (PathBuf, bool);

pub(crate) fn init(args: &InitArgs, context: &CommandContext<'_>) -> CommandResult {
    let InitArgs { project_deck, starter, force } = args;
    let (folder, readers) = context.settings()?.target_deck(*project_deck);
    let (name, example) = match project_deck {
        true => ("repository.md", PROJECT_EXAMPLE),
        false => ("machine.md", settings::MACHINE),
    };
    let existing = OverwritePolicy::from_force(*force);
    let other_config = folder.join("config.json");
    let config = if other_config.exists() {
        // Two config files in one folder would leave one unread.
        (other_config, false)
    } else {
        write(folder.join("config.yaml"), CONFIG, existing, readers)?
    };
    let mut outcomes = vec![config];
    if *starter {
        for (id, text) in settings::FILES {
            outcomes.push(write(folder.join(format!("{id}.md")), text, existing, readers)?);
        }
    } else {
        outcomes.push(write(folder.join(name), example, existing, readers)?);
    }
    let item = |(path, is_written): &FileOutcome| json!({ "path": path, "status": if *is_written { "written" } else { "kept" } });
    let items: Vec<Value> = outcomes.iter().map(item).collect();
    let printer = context.printer;
    printer.json_or(&json!({ "items": items }), || {
        for (path, is_written) in &outcomes {
            let verb = if *is_written { "wrote" } else { "kept" };
            printer.note(&format!("{verb} {}", path.display()));
        }
        if *project_deck {
            printer.note(TRUST_NEXT);
        }
        printer.note("see what is in the deck with: capdeck list");
    })
}

fn write(
    path: PathBuf,
    text: &str,
    existing: OverwritePolicy,
    readers: FileReaders,
) -> Result<FileOutcome, CommandFailure> {
    match write_new(&path, text, existing, readers) {
        Ok(()) => Ok((path, true)),
        Err(failure) if failure.code == "FILE_EXISTS" => Ok((path, false)),
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_refused_with_how_it_is_typed() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("my tool"), "").unwrap();
        for sound in ["npx", "/usr/bin/rg", "./a", "my tool"] {
            assert_eq!(program(sound, here.path()).unwrap(), sound);
        }
        for (typed, hint) in [
            ("npx -y @example/notes", "--command npx --arg -y --arg @example/notes"),
            ("rg -- $input.pattern", "--command rg --arg -- --arg '$input.pattern'"),
            (" ", "name one, such as: --command npx"),
        ] {
            let refused = program(typed, here.path()).unwrap_err();
            assert!(refused.hint.as_deref().unwrap().ends_with(hint), "{:?}", refused.hint);
        }
    }
}
