//! `capdeck capsule new NAME`: makes a capsule.

use capdeck_host::{CreateCapsuleRequest, Visibility};

use crate::{
    capsule_client::ask,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Make a capsule
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule new team --description 'What our agents should know'")]
pub(crate) struct NewArgs {
    /// What it is called. Its id, which is part of addresses, is made of this.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    about: AboutArgs,
}

/// What a capsule says about itself.
#[derive(Debug, clap::Args)]
pub(super) struct AboutArgs {
    /// What it is for, shown to agents that choose between capsules.
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// Who may learn that it exists without an access to it.
    #[arg(long, value_name = "WHO")]
    visibility: Option<Seen>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Seen {
    /// Nobody.
    Private,
    /// The people of this registry.
    Team,
    /// Agents, too: its name and description.
    Discoverable,
}

impl AboutArgs {
    pub(super) fn visibility(&self) -> Option<Visibility> {
        self.visibility.map(|seen| match seen {
            Seen::Private => Visibility::Private,
            Seen::Team => Visibility::Team,
            Seen::Discoverable => Visibility::Discoverable,
        })
    }
}

pub(crate) fn run(args: &NewArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let NewArgs { name, about } = args;
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
