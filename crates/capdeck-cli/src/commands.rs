//! The commands: typed arguments and a thin function that runs them.

mod add;
mod approvals;
mod artifacts;
mod attach;
mod audit;
mod auth;
pub(crate) mod budget;
mod call;
mod capsule;
mod check;
mod cmp;
mod connect;
mod doctor;
mod import;
mod init;
mod inspect;
mod install;
mod list;
mod packages;
mod pins;
mod run;
mod runs;
mod serve;
mod setup;
mod sh;
mod tools;
mod trust;
mod up;
mod validate;
mod vault;
mod why;

use crate::{completion, context::CommandContext, errors::CommandResult};

/// An enum of commands and the function that runs each, from one table.
macro_rules! command_table {
    (
        $(#[$doc:meta])*
        $vis:vis enum $name:ident { $($(#[$kind:meta])* $variant:ident($args:ty) => $run:path,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        $vis enum $name { $($(#[$kind])* $variant($args),)+ }

        impl $name {
            $vis fn run(&self, context: &CommandContext<'_>) -> CommandResult {
                match self { $(Self::$variant(args) => $run(args, context),)+ }
            }
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
        List(list::ListArgs) => list::run,
        Inspect(inspect::InspectArgs) => inspect::run,
        Why(why::WhyArgs) => why::run,
        Tools(tools::ToolsArgs) => tools::list,
        Describe(tools::DescribeArgs) => tools::describe,
        Search(tools::SearchArgs) => tools::search,
        Call(call::CallArgs) => call::run,
        Sh(sh::ShArgs) => sh::run,
        Run(run::RunArgs) => run::run,
        #[command(subcommand)]
        Runs(runs::RunsCommand) => runs::RunsCommand::run,
        Test(runs::TestArgs) => runs::test,
        Types(tools::TypesArgs) => tools::types,
        #[command(subcommand)]
        Cmp(cmp::CmpCommand) => cmp::CmpCommand::run,
        #[command(subcommand)]
        Capsule(capsule::CapsuleCommand) => capsule::CapsuleCommand::run,
        #[command(subcommand)]
        Audit(audit::AuditCommand) => audit::AuditCommand::run,
        #[command(subcommand)]
        Artifacts(artifacts::ArtifactsCommand) => artifacts::ArtifactsCommand::run,
        #[command(subcommand)]
        Auth(auth::AuthCommand) => auth::AuthCommand::run,
        #[command(subcommand)]
        Vault(vault::VaultCommand) => vault::VaultCommand::run,
        Check(check::CheckArgs) => check::run,
        Doctor(doctor::DoctorArgs) => doctor::run,
        Validate(validate::ValidateArgs) => validate::run,
        Add(add::AddArgs) => add::run,
        Init(init::InitArgs) => init::run,
        Connect(connect::ConnectArgs) => connect::connect,
        Disconnect(connect::DisconnectArgs) => connect::disconnect,
        Import(import::ImportArgs) => import::run,
        Get(packages::GetArgs) => packages::get,
        Update(packages::UpdateArgs) => packages::update,
        Remove(packages::RemoveArgs) => packages::remove,
        Install(install::InstallArgs) => install::install,
        Clean(install::CleanArgs) => install::clean,
        Trust(trust::TrustArgs) => trust::trust,
        Untrust(trust::UntrustArgs) => trust::untrust,
        Setup(setup::SetupArgs) => setup::run,
        Approvals(approvals::ApprovalsArgs) => approvals::list,
        Approve(approvals::ApproveArgs) => approvals::approve,
        #[command(subcommand)]
        Pins(pins::PinsCommand) => pins::PinsCommand::run,
        Budget(budget::BudgetArgs) => budget::run,
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
