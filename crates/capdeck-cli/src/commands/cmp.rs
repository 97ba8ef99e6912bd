//! `capdeck cmp …`: CMP tools as such: what is installed, what words mean, and the way back.

mod export;
mod intent;
mod list;
mod snippet;
mod validate;

use std::sync::Arc;

use capdeck_catalog::{Capability, Catalog};
use capdeck_definition::{Backend, CmpTool};
use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Work with CMP tools
///
/// CMP describes command-line tools by two files beside them. Tools are found in ~/.cmp/tools, in
/// /usr/local/share/cmp/tools and in the folders that `CMP_TOOL_PATH` names, and are part of the deck.
#[derive(Debug, clap::Args)]
pub(crate) struct CmpArgs {
    #[command(subcommand)]
    command: CmpCommand,
}

/// What can be done with CMP tools.
#[derive(Debug, Subcommand)]
enum CmpCommand {
    List(list::ListArgs),
    Validate(validate::ValidateArgs),
    Intent(intent::IntentArgs),
    Snippet(snippet::SnippetArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(args: &CmpArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        CmpCommand::List(args) => list::run(args, context),
        CmpCommand::Validate(args) => validate::run(args, context),
        CmpCommand::Intent(args) => intent::run(args, context),
        CmpCommand::Snippet(args) => snippet::run(args, context),
        CmpCommand::Export(args) => export::run(args, context),
    }
}

/// The CMP tools in force, by id.
fn installed(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Capability>, &CmpTool)> {
    catalog.capabilities().filter_map(|capability| match &capability.definition.backend {
        Backend::Cmp(tool) if capability.is_usable() => Some((capability, tool)),
        _ => None,
    })
}
