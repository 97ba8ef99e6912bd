//! `capdeck completions SHELL`: the script that makes a shell ask this binary for completions.

use crate::{
    completion,
    context::CommandContext,
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
    shell: CompletionShell,
}

/// The shells there is a script for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CompletionShell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub(crate) fn run(args: &CompletionsArgs, context: &CommandContext<'_>) -> CommandResult {
    let shell = match args.shell {
        CompletionShell::Bash => "bash",
        CompletionShell::Elvish => "elvish",
        CompletionShell::Fish => "fish",
        CompletionShell::Powershell => "powershell",
        CompletionShell::Zsh => "zsh",
    };
    let script = completion::script(shell, &context.env)?;
    context.printer.bytes(&script);
    Ok(ExitStatus::Done)
}
