//! The commands, one file each: typed arguments and a thin function that runs them.

mod add;
mod budget;
mod call;
mod check;
mod completions;
mod describe;
mod doctor;
mod init;
mod inspect;
mod list;
mod schema;
mod search;
mod serve;
mod setup;
mod tools;
mod trust;
mod untrust;
mod up;
mod validate;
mod why;

use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    logging::DefaultLog,
};

/// What can be asked of the binary.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the deck over HTTP.
    Up(up::UpArgs),
    /// Serve the deck, or one capability, as an MCP server on stdio.
    Serve(serve::ServeArgs),
    /// Show what is in the deck.
    List(list::ListArgs),
    /// Show the card of one capability.
    Inspect(inspect::InspectArgs),
    /// Tell where a capability or tool comes from, and why agents do or do not see it.
    Why(why::WhyArgs),
    /// Show the tools of one capability.
    Tools(tools::ToolsArgs),
    /// Show one tool with its schemas.
    Describe(describe::DescribeArgs),
    /// Find tools by what they do, in plain words.
    Search(search::SearchArgs),
    /// Call a tool.
    Call(call::CallArgs),
    /// Connect to capabilities and see whether they answer.
    Check(check::CheckArgs),
    /// Examine the whole set-up and say what to fix.
    Doctor(doctor::DoctorArgs),
    /// Check definition files; without a path, the decks in use.
    Validate(validate::ValidateArgs),
    /// Write a new capability file.
    Add(add::AddArgs),
    /// Start a deck: a config file and an example.
    Init(init::InitArgs),
    /// Allow a project's files to act, exactly as they are now.
    Trust(trust::TrustArgs),
    /// Take a project's trust back.
    Untrust(untrust::UntrustArgs),
    /// Run the set-up a capability declares.
    Setup(setup::SetupArgs),
    /// Count what each capability costs an agent, in tokens.
    Budget(budget::BudgetArgs),
    /// Print the JSON Schema of a file format.
    Schema(schema::SchemaArgs),
    /// Print a shell's completion script.
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<ExitStatus, Failure> {
        match self {
            Self::Up(args) => up::run(args, context),
            Self::Serve(args) => serve::run(args, context),
            Self::List(args) => list::run(args, context),
            Self::Inspect(args) => inspect::run(args, context),
            Self::Why(args) => why::run(args, context),
            Self::Tools(args) => tools::run(args, context),
            Self::Describe(args) => describe::run(args, context),
            Self::Search(args) => search::run(args, context),
            Self::Call(args) => call::run(args, context),
            Self::Check(args) => check::run(args, context),
            Self::Doctor(args) => doctor::run(args, context),
            Self::Validate(args) => validate::run(args, context),
            Self::Add(args) => add::run(args, context),
            Self::Init(args) => init::run(args, context),
            Self::Trust(args) => trust::run(args, context),
            Self::Untrust(args) => untrust::run(args, context),
            Self::Setup(args) => setup::run(args, context),
            Self::Budget(args) => budget::run(args, context),
            Self::Schema(args) => schema::run(args, context),
            Self::Completions(args) => completions::run(args, context),
        }
    }

    /// Servers say what goes wrong; one-shot commands fail with their own error instead.
    pub(crate) fn default_log(&self) -> DefaultLog {
        match self {
            Self::Up(_) | Self::Serve(_) => DefaultLog::Warnings,
            _ => DefaultLog::Nothing,
        }
    }
}
