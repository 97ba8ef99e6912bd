//! The commands: typed arguments and a thin function that runs them.

mod add;
mod artifacts;
mod attach;
mod audit;
mod auth;
mod call;
mod capsule;
mod check;
mod cmp;
mod connect;
mod doctor;
mod import;
mod install;
mod list;
mod migrate;
mod misplaced;
mod packages;
mod pins;
mod remove;
mod run;
mod runs;
mod serve;
mod setup;
mod sh;
mod starter;
mod tools;
mod trust;
mod uninstall;
mod up;
mod validate;
mod vault;
mod visibility;
mod withheld;

use capdeck_host::Host;

pub(crate) use self::call::CallWatcher;

use crate::{
    args::GlobalArgs,
    completion,
    env_vars::EnvVars,
    errors::{CommandFailure, CommandResult},
    printer::Printer,
    settings::CommandSettings,
};

/// The surroundings of one command.
#[derive(Debug)]
pub(crate) struct CommandContext<'a> {
    pub(crate) global: GlobalArgs,
    pub(crate) env: EnvVars,
    pub(crate) printer: &'a Printer,
}

impl CommandContext<'_> {
    /// The settings of this run. Commands that need no folders never ask.
    pub(crate) fn settings(&self) -> Result<CommandSettings, CommandFailure> {
        CommandSettings::resolve(&self.global, &self.env)
    }

    /// Opens the host on the decks in force, without connecting to anything.
    pub(crate) fn open_host(&self) -> Result<Host, CommandFailure> {
        self.settings()?.open_host()
    }
}

// A command that may be typed without a subcommand. A doc comment would replace the help of the subcommands.
#[derive(Debug, clap::Args)]
pub(crate) struct OptionalSubcommand<C: clap::Subcommand> {
    #[command(subcommand)]
    command: Option<C>,
}

/// An enum of commands and the function that runs each, from one table. `default` names the command that runs when none is
/// typed; its arguments must have defaults.
macro_rules! command_table {
    (
        $(#[$doc:meta])*
        $vis:vis enum $name:ident $(default $default:ident)? { $($(#[$kind:meta])* $variant:ident($args:ty) => $run:path,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        $vis enum $name { $($(#[$kind])* $variant($args),)+ }

        impl $name {
            $vis fn run(&self, context: &CommandContext<'_>) -> CommandResult {
                match self { $(Self::$variant(args) => $run(args, context),)+ }
            }

            $($vis fn run_or_list(
                args: &$crate::commands::OptionalSubcommand<Self>,
                context: &CommandContext<'_>,
            ) -> CommandResult {
                let default = Self::$default(Default::default());
                args.command.as_ref().unwrap_or(&default).run(context)
            })?
        }
    };
}
use command_table;

command_table! {
    /// The commands. The help of each is the doc of its arguments.
    pub(crate) enum CapdeckCommand {
        Up(up::UpArgs) => up::run,
        Serve(serve::ServeArgs) => serve::run,
        Attach(attach::AttachArgs) => attach::run,
        #[command(visible_alias = "ls")]
        List(list::ListArgs) => list::run,
        Inspect(list::InspectArgs) => list::inspect,
        Why(list::WhyArgs) => list::why,
        Tools(tools::ToolsArgs) => tools::list,
        Describe(tools::DescribeArgs) => tools::describe,
        Search(tools::SearchArgs) => tools::search,
        Call(call::CallArgs) => call::run,
        Sh(sh::ShArgs) => sh::run,
        Run(run::RunArgs) => run::run,
        Runs(OptionalSubcommand<runs::RunsCommand>) => runs::RunsCommand::run_or_list,
        Test(runs::TestArgs) => runs::test,
        Types(tools::TypesArgs) => tools::types,
        Cmp(OptionalSubcommand<cmp::CmpCommand>) => cmp::CmpCommand::run_or_list,
        Capsule(OptionalSubcommand<capsule::CapsuleCommand>) => capsule::CapsuleCommand::run_or_list,
        #[command(visible_alias = "log", alias = "logs")]
        Audit(audit::AuditArgs) => audit::run,
        Artifacts(OptionalSubcommand<artifacts::ArtifactsCommand>) => artifacts::ArtifactsCommand::run_or_list,
        Auth(OptionalSubcommand<auth::AuthCommand>) => auth::AuthCommand::run_or_list,
        Vault(OptionalSubcommand<vault::VaultCommand>) => vault::VaultCommand::run_or_list,
        Check(check::CheckArgs) => check::run,
        #[command(visible_alias = "status")]
        Doctor(doctor::DoctorArgs) => doctor::run,
        Validate(validate::ValidateArgs) => validate::run,
        Add(add::AddArgs) => add::run,
        Init(add::InitArgs) => add::init,
        Connect(connect::ConnectArgs) => connect::connect,
        Disconnect(connect::DisconnectArgs) => connect::disconnect,
        Import(import::ImportArgs) => import::run,
        Migrate(migrate::MigrateArgs) => migrate::run,
        Uninstall(uninstall::UninstallArgs) => uninstall::run,
        Get(packages::GetArgs) => packages::get,
        Update(packages::UpdateArgs) => packages::update,
        #[command(visible_alias = "rm")]
        Remove(remove::RemoveArgs) => remove::remove,
        Disable(remove::DisableArgs) => remove::disable,
        Enable(remove::EnableArgs) => remove::enable,
        Install(install::InstallArgs) => install::install,
        Clean(install::CleanArgs) => install::clean,
        Trust(trust::TrustArgs) => trust::trust,
        Untrust(trust::UntrustArgs) => trust::untrust,
        Setup(setup::SetupArgs) => setup::run,
        Approvals(trust::ApprovalsArgs) => trust::approvals,
        Approve(trust::ApproveArgs) => trust::approve,
        Pins(OptionalSubcommand<pins::PinsCommand>) => pins::PinsCommand::run_or_list,
        Budget(check::BudgetArgs) => check::budget,
        Schema(validate::SchemaArgs) => validate::schema,
        Completions(completion::CompletionsArgs) => completion::run,
    }
}

impl CapdeckCommand {
    /// Servers log what goes wrong; one-shot commands fail with their own error instead.
    pub(crate) fn default_log(&self) -> Option<&'static str> {
        matches!(self, Self::Up(_) | Self::Serve(_) | Self::Attach(_)).then_some("warn")
    }
}
