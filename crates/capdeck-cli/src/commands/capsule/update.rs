//! `capdeck capsule update NAME`: what a capsule is called and says about itself.

use capdeck_host::CapsuleUpdate;

use super::new::CapsuleInfoArgs;
use crate::{
    capsule_client::ask,
    completion::capsules,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Change a capsule's name, description or visibility; its id stays
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleUpdateArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// What it is called from now on.
    #[arg(long = "name", value_name = "NEW")]
    new_name: Option<String>,
    #[command(flatten)]
    about: CapsuleInfoArgs,
}

pub(crate) fn run(
    args: &CapsuleUpdateArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleUpdateArgs { name, new_name, about } = args;
    let visibility = about.visibility();
    if new_name.is_none() && about.description.is_none() && visibility.is_none() {
        return Err(CommandFailure::usage("say what to change")
            .hint("use --name, --description or --visibility"));
    }
    let operation = CapsuleUpdate {
        name: new_name.clone(),
        description: about.description.clone(),
        visibility,
    };
    let changed = ask(context, Some(name), operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&changed);
    } else {
        printer.note(&format!("changed the capsule {}", changed.id));
    }
    Ok(ExitStatus::Done)
}
