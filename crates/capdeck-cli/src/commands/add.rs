//! `capdeck add KIND ID …`: writes a capability file.

mod cli;
mod google_discovery;
mod graphql;
mod http;
mod mcp;
mod openapi;
mod place;
mod program;

use std::path::{Path, PathBuf};

use capdeck_definition::{CapabilityId, Deck, Diagnostic, Format, Layer, Severity, SourceFile};
use clap::Subcommand;
use serde_json::json;

use crate::{
    caplet_document::{BackendBlock, Document, Words},
    context::Context,
    errors::{ExitStatus, Failure},
    frames::Frames,
    new_file::{Existing, Readers, already_there, write_new},
};

/// Write a new capability file
///
/// The file is checked before it is kept, and an existing one is not replaced unasked.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    #[command(subcommand)]
    kind: Kind,
}

/// What stands behind the new capability.
#[derive(Debug, Subcommand)]
enum Kind {
    /// An MCP server, started by a command or reached at a URL.
    Mcp(mcp::McpArgs),
    /// An API described by OpenAPI.
    Openapi(openapi::OpenapiArgs),
    /// A GraphQL endpoint.
    Graphql(graphql::GraphqlArgs),
    /// A Google API described by a Discovery document.
    GoogleDiscovery(google_discovery::GoogleDiscoveryArgs),
    /// HTTP requests, one tool each.
    Http(http::HttpArgs),
    /// Programs, one tool each.
    Cli(cli::CliArgs),
}

/// What every kind takes.
#[derive(Debug, clap::Args)]
struct CommonArgs {
    /// The new capability's id: 1 to 64 letters, digits, `_` or `-`.
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: CapabilityId,
    /// The name people see; made from the id if left out.
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

pub(crate) fn run(args: &AddArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let common = args.kind.common();
    let target = Target::resolve(common, context)?;
    let block = match &args.kind {
        Kind::Mcp(args) => args.block(&target.here)?,
        Kind::Openapi(args) => args.block(&target.here, &target.folder)?,
        Kind::Graphql(args) => args.block(&target.here, &target.folder)?,
        Kind::GoogleDiscovery(args) => args.block(&target.here, &target.folder)?,
        Kind::Http(args) => args.block()?,
        Kind::Cli(args) => args.block(&target.here)?,
    };
    let text = Document::new(&common.words(), block).render()?;
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
            "review the project's files and allow them to act with: capdeck trust\nthen see whether it answers with: capdeck check {}",
            common.id
        )
    } else {
        format!("see whether it answers with: capdeck check {}", common.id)
    };
    printer.note(&next);
    Ok(ExitStatus::Done)
}

impl CommonArgs {
    fn words(&self) -> Words<'_> {
        Words {
            id: self.id.as_str(),
            name: self.name.as_deref(),
            description: self.description.as_deref(),
            tags: &self.tags,
        }
    }
}

/// Where the new file goes.
struct Target {
    path: PathBuf,
    /// The folder relative paths in the file start at.
    folder: PathBuf,
    /// The folder relative paths on the command line start at.
    here: PathBuf,
    readers: Readers,
    needs_trust: bool,
}

impl Target {
    fn resolve(common: &CommonArgs, context: &Context<'_>) -> Result<Self, Failure> {
        let here = context.env.current_dir.clone().unwrap_or_default();
        let file = format!("{}.md", common.id);
        let (path, readers) = match (&common.output, common.project_deck) {
            (Some(output), _) => (here.join(output), Readers::Everyone),
            (None, true) => (context.settings()?.project_deck_dir().join(file), Readers::Everyone),
            (None, false) => (context.settings()?.config_dir.join(file), Readers::Owner),
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { path, folder, here, readers, needs_trust: common.project_deck })
    }

    /// A file's name decides its id, whatever was asked for.
    fn note_other_id(&self, common: &CommonArgs, context: &Context<'_>) {
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

    fn write(&self, text: &str, force: bool) -> Result<(), Failure> {
        // The other form of the same capability would silently win over the new file.
        let twin = self.path.with_extension("").join("CAPLET.md");
        if twin.exists() {
            return Err(already_there(&twin)
                .hint("edit that file, or delete it first; a folder wins over a file"));
        }
        let existing = if force { Existing::Replace } else { Existing::Keep };
        write_new(&self.path, text, existing, self.readers)
    }
}

impl Kind {
    fn common(&self) -> &CommonArgs {
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

/// Reads the new file as the host would. Errors refuse it; warnings are told.
fn check(
    text: &str,
    id: &CapabilityId,
    path: &Path,
    context: &Context<'_>,
) -> Result<Vec<Diagnostic>, Failure> {
    let source = SourceFile {
        path: path.to_owned(),
        layer: Layer::UserFile,
        format: Format::Caplet { id: id.to_string() },
        text: Ok(text.to_owned()),
    };
    let found = Deck::from_sources(vec![source]).diagnostics;
    let errors: Vec<&Diagnostic> =
        found.iter().filter(|one| one.severity == Severity::Error).collect();
    if let Some(first) = errors.first() {
        let all: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
        let mut failure = Failure::usage(all.join("; "));
        failure.hint = first.fix.clone();
        failure.details = Some(json!({ "problems": errors }));
        return Err(failure);
    }
    if !context.printer.wants_json() {
        let mut frames = Frames::default();
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
