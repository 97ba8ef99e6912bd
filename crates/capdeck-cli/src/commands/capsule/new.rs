//! `capdeck capsule new NAME`: makes a capsule.

use capdeck_host::{CapsuleVisibility, CreateCapsuleRequest};

use crate::{
    capsule_client::ask,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Make a capsule
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule new team --description 'What our agents should know'")]
pub(crate) struct CapsuleNewArgs {
    /// What it is called. Its id, which is part of addresses, is made of this.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    about: CapsuleInfoArgs,
}

/// What a capsule says about itself.
#[derive(Debug, clap::Args)]
pub(super) struct CapsuleInfoArgs {
    /// What it is for, shown to agents that choose between capsules.
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// Who may learn that it exists without an access to it.
    #[arg(long, value_name = "WHO")]
    visibility: Option<VisibilityArg>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum VisibilityArg {
    /// Nobody.
    Private,
    /// The people of this registry.
    Team,
    /// Agents, too: its name and description.
    Discoverable,
}

impl CapsuleInfoArgs {
    pub(super) fn visibility(&self) -> Option<CapsuleVisibility> {
        self.visibility.map(|seen| match seen {
            VisibilityArg::Private => CapsuleVisibility::Private,
            VisibilityArg::Team => CapsuleVisibility::Team,
            VisibilityArg::Discoverable => CapsuleVisibility::Discoverable,
        })
    }
}

pub(crate) fn run(
    args: &CapsuleNewArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleNewArgs { name, about } = args;
    let operation = CreateCapsuleRequest {
        name: name.clone(),
        description: about.description.clone(),
        visibility: about.visibility(),
    };
    let made = ask(context, None, operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&made);
        return Ok(ExitStatus::Done);
    }
    let id = &made.id;
    printer.note(&format!("Created capsule {id}"));
    printer.note(&format!("write to it with: capdeck capsule write {id} docs://readme FILE"));
    Ok(ExitStatus::Done)
}
