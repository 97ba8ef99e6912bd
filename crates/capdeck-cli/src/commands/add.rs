//! `capdeck add KIND ID …`: writes a capability file.

mod apis;
mod cli;
mod mcp;

use std::path::{Path, PathBuf};

use capdeck_definition::{
    CapabilityId, Deck, Diagnostic, DiagnosticSeverity, SourceFile, SourceFormat, SourceLayer,
};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    new_file::{
        CapletDocument, CapletWords, ExistingFilePolicy, FileAccess, already_there, write_new,
    },
    plain_text::{command_line, one_line},
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
#[derive(Debug, Subcommand)]
enum AddKind {
    /// An MCP server, started by a command or reached at a URL.
    Mcp(mcp::AddMcpArgs),
    /// An API described by OpenAPI.
    Openapi(apis::AddOpenapiArgs),
    /// A GraphQL endpoint.
    Graphql(apis::AddGraphqlArgs),
    /// A Google API described by a Discovery document.
    GoogleDiscovery(apis::AddGoogleDiscoveryArgs),
    /// HTTP requests, one tool each.
    Http(apis::AddHttpArgs),
    /// Programs, one tool each.
    Cli(cli::AddCliArgs),
}

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
    let common = args.kind.common();
    let target = NewFileTarget::resolve(common, context)?;
    let block = match &args.kind {
        AddKind::Mcp(args) => args.block(&target.here)?,
        AddKind::Openapi(args) => args.block(&target.here, &target.folder)?,
        AddKind::Graphql(args) => args.block(&target.here, &target.folder)?,
        AddKind::GoogleDiscovery(args) => args.block(&target.here, &target.folder)?,
        AddKind::Http(args) => args.block()?,
        AddKind::Cli(args) => args.block(&target.here)?,
    };
    let text = CapletDocument::new(&common.words(), block).render()?;
    let warnings = check(&text, &common.id, &target.path, context)?;
    let printer = context.printer;
    if common.print {
        if printer.wants_json() {
            printer.json(&json!({ "id": common.id, "text": text, "warnings": warnings }));
        } else {
            printer.data(&text);
        }
        return Ok(ExitStatus::Done);
    }
    target.write(&text, common.force)?;
    target.note_other_id(common, context);
    if printer.wants_json() {
        printer.json(&json!({ "id": common.id, "path": target.path, "warnings": warnings }));
        return Ok(ExitStatus::Done);
    }
    printer.note(&format!("wrote {}", target.path.display()));
    let next = if target.needs_trust {
        format!(
            "review the project's files and allow them to act with: capdeck trust\nthen test it: capdeck check {}",
            common.id
        )
    } else {
        format!("Test it: capdeck check {}", common.id)
    };
    printer.note(&next);
    Ok(ExitStatus::Done)
}

impl AddCommonArgs {
    fn words(&self) -> CapletWords<'_> {
        CapletWords {
            id: self.id.as_str(),
            name: self.name.as_deref(),
            description: self.description.as_deref(),
            tags: &self.tags,
        }
    }
}

/// Where the new file goes.
struct NewFileTarget {
    path: PathBuf,
    /// The folder relative paths in the file start at.
    folder: PathBuf,
    /// The folder relative paths on the command line start at.
    here: PathBuf,
    readers: FileAccess,
    needs_trust: bool,
}

impl NewFileTarget {
    fn resolve(
        common: &AddCommonArgs,
        context: &CommandContext<'_>,
    ) -> Result<Self, CommandFailure> {
        let here = context.env.current_dir.clone().unwrap_or_default();
        let file = format!("{}.md", common.id);
        let (path, readers) = match (&common.output, common.project_deck) {
            (Some(output), _) => (here.join(output), FileAccess::Everyone),
            (None, true) => {
                (context.settings()?.project_deck_dir().join(file), FileAccess::Everyone)
            }
            (None, false) => (context.settings()?.config_dir.join(file), FileAccess::Owner),
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { path, folder, here, readers, needs_trust: common.project_deck })
    }

    /// A file's name decides its id, whatever was asked for.
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
        let existing = if force { ExistingFilePolicy::Replace } else { ExistingFilePolicy::Keep };
        write_new(&self.path, text, existing, self.readers)
    }
}

impl AddKind {
    fn common(&self) -> &AddCommonArgs {
        match self {
            Self::Mcp(args) => &args.common,
            Self::Openapi(args) => &args.common,
            Self::Graphql(args) => &args.common,
            Self::GoogleDiscovery(args) => &args.common,
            Self::Http(args) => &args.common,
            Self::Cli(args) => &args.common,
        }
    }
}

/// Reads the new file as the host would. Errors refuse it; warnings are shown.
fn check(
    text: &str,
    id: &CapabilityId,
    path: &Path,
    context: &CommandContext<'_>,
) -> Result<Vec<Diagnostic>, CommandFailure> {
    let source = SourceFile {
        path: path.to_owned(),
        layer: SourceLayer::UserFile,
        format: SourceFormat::Caplet { id: id.to_string() },
        text: Ok(text.to_owned()),
    };
    let found = Deck::from_sources(vec![source]).diagnostics;
    let errors: Vec<&Diagnostic> =
        found.iter().filter(|one| one.severity == DiagnosticSeverity::Error).collect();
    if let Some(first) = errors.first() {
        let all: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
        let mut failure = CommandFailure::usage(all.join("; "));
        failure.hint = first.fix.clone();
        failure.details = Some(json!({ "problems": errors }));
        return Err(failure);
    }
    if !context.printer.wants_json() {
        let mut frames = SourceFrames::default();
        for warning in &found {
            let shown = Diagnostic { line: 0, column: 0, ..warning.clone() };
            context.printer.note(frames.render(&shown, context.printer.note_palette()).trim_end());
        }
    }
    Ok(found)
}

fn parse_id(text: &str) -> Result<CapabilityId, String> {
    CapabilityId::new(text).map_err(|error| error.to_string())
}

/// A URL as it is, or a file as the new capability file will find it.
enum DocumentPlace {
    Url(String),
    File(String),
}

impl DocumentPlace {
    /// Reads `text` as a URL or as a path from `here`; a file near the new one is named relative to it.
    fn parse(text: &str, here: &Path, folder: &Path) -> Result<Self, CommandFailure> {
        if text.contains("://") {
            return Ok(Self::Url(text.to_owned()));
        }
        let path = here.join(text);
        let real = path.canonicalize().map_err(|error| {
            CommandFailure::usage(format!("cannot read `{text}`: {error}"))
                .hint("name a file that is there, or a URL")
        })?;
        let base = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let named = match real.strip_prefix(&base) {
            Ok(below) => format!("./{}", below.display()),
            Err(_) => real.display().to_string(),
        };
        Ok(Self::File(named))
    }
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
