//! `capdeck completions SHELL`: the script that makes a shell ask this binary for completions.

use crate::{
    completion,
    context::Context,
    errors::{CommandResult, ExitStatus},
};

/// Print a shell's completion script
///
/// Commands, capabilities, tools and their arguments, capsules and their entries are completed, from what is already known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  source <(capdeck completions bash)      # in ~/.bashrc
  source <(capdeck completions zsh)       # in ~/.zshrc
  capdeck completions fish | source       # in ~/.config/fish/config.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The shells there is a script for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub(crate) fn run(args: &CompletionsArgs, context: &Context<'_>) -> CommandResult {
    let shell = match args.shell {
        Shell::Bash => "bash",
        Shell::Elvish => "elvish",
        Shell::Fish => "fish",
        Shell::Powershell => "powershell",
        Shell::Zsh => "zsh",
    };
    let script = completion::script(shell, &context.env)?;
    context.printer.bytes(&script);
    Ok(ExitStatus::Done)
}
