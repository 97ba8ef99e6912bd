//! `capdeck pins`: tool definitions as they were first seen, and what changed since.

mod approve;
mod diff;
mod list;

use std::sync::Arc;

use capdeck_catalog::Capability;
use capdeck_definition::PinMode;
use capdeck_host::{Host, PinReview, known_capability};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Show and approve the definitions of tools
///
/// The first sight of a tool's name, texts, schemas and annotations is pinned. A server that changes them later is told on, and
/// with `pins: block` the changed tool is held until you approve it.
#[derive(Debug, clap::Args)]
pub(crate) struct PinsArgs {
    #[command(subcommand)]
    command: PinsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PinsCommand {
    List(list::ListArgs),
    Diff(diff::DiffArgs),
    Approve(approve::ApproveArgs),
}

pub(crate) fn run(args: &PinsArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        PinsCommand::List(args) => list::run(args, context),
        PinsCommand::Diff(args) => diff::run(args, context),
        PinsCommand::Approve(args) => approve::run(args, context),
    }
}

/// The capabilities a command is about, each with its review: one, or all that are watched.
fn reviews(host: &Host, id: Option<&str>) -> Result<Vec<(Arc<Capability>, PinReview)>, Failure> {
    let capabilities = match id {
        Some(id) => vec![known_capability(host, id)?],
        None => {
            let catalog = host.catalog();
            let watched = catalog.capabilities().filter(|one| one.pins != PinMode::Off);
            watched.cloned().collect()
        }
    };
    capabilities.into_iter().map(|one| review(host, &one).map(|review| (one, review))).collect()
}

/// How a capability's tools compare with their pins.
pub(crate) fn review(host: &Host, capability: &Capability) -> Result<PinReview, Failure> {
    let id = &capability.definition.id;
    host.review_pins(capability).map_err(|error| {
        Failure::request("PINS_UNREADABLE", format!("the pins of `{id}` cannot be read: {error}"))
            .hint(format!("take what is there now as approved with: capdeck pins approve {id}"))
    })
}
