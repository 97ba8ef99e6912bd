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
mod completions;
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
mod schema;
mod serve;
mod setup;
mod sh;
mod test;
mod tools;
mod trust;
mod types;
mod up;
mod validate;
mod vault;
mod why;

use crate::{context::CommandContext, errors::CommandResult, run::DefaultLog};

/// An enum of commands and the function that runs each, from one table.
macro_rules! command_table {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($variant:ident($args:ty) => $run:path,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        $vis enum $name { $($variant($args),)+ }

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
        Runs(runs::RunsArgs) => runs::run,
        Test(test::TestArgs) => test::run,
        Types(types::TypesArgs) => types::run,
        Cmp(cmp::CmpArgs) => cmp::run,
        Capsule(capsule::CapsuleArgs) => capsule::run,
        Audit(audit::AuditArgs) => audit::run,
        Artifacts(artifacts::ArtifactsArgs) => artifacts::run,
        Auth(auth::AuthArgs) => auth::run,
        Vault(vault::VaultArgs) => vault::run,
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
        Pins(pins::PinsArgs) => pins::run,
        Budget(budget::BudgetArgs) => budget::run,
        Schema(schema::SchemaArgs) => schema::run,
        Completions(completions::CompletionsArgs) => completions::run,
    }
}

impl CapdeckCommand {
    /// Servers log what goes wrong; one-shot commands fail with their own error instead.
    pub(crate) fn default_log(&self) -> DefaultLog {
        match self {
            Self::Up(_) | Self::Serve(_) | Self::Attach(_) => DefaultLog::Warnings,
            _ => DefaultLog::Nothing,
        }
    }
}
