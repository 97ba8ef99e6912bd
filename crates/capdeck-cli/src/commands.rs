//! The commands, one file each: typed arguments and a thin function that runs them.

mod add;
mod approvals;
mod approve;
mod artifacts;
mod attach;
mod audit;
mod auth;
mod budget;
mod call;
mod capsule;
mod check;
mod clean;
mod cmp;
mod completions;
mod connect;
mod describe;
mod disconnect;
mod doctor;
mod get;
mod import;
mod init;
mod inspect;
mod install;
mod list;
mod package;
mod pins;
mod remove;
mod run;
mod runs;
mod schema;
mod search;
mod serve;
mod setup;
mod sh;
mod test;
mod tools;
mod trust;
mod types;
mod untrust;
mod up;
mod update;
mod validate;
mod vault;
mod why;

use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    logging::DefaultLog,
};

/// What can be asked of the binary. The help of each command is the doc of its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::UpArgs),
    Serve(serve::ServeArgs),
    Attach(attach::AttachArgs),
    List(list::ListArgs),
    Inspect(inspect::InspectArgs),
    Why(why::WhyArgs),
    Tools(tools::ToolsArgs),
    Describe(describe::DescribeArgs),
    Search(search::SearchArgs),
    Call(call::CallArgs),
    Sh(sh::ShArgs),
    Run(run::RunArgs),
    Runs(runs::RunsArgs),
    Test(test::TestArgs),
    Types(types::TypesArgs),
    Cmp(cmp::CmpArgs),
    Capsule(capsule::CapsuleArgs),
    Audit(audit::AuditArgs),
    Artifacts(artifacts::ArtifactsArgs),
    Auth(auth::AuthArgs),
    Vault(vault::VaultArgs),
    Check(check::CheckArgs),
    Doctor(doctor::DoctorArgs),
    Validate(validate::ValidateArgs),
    Add(add::AddArgs),
    Init(init::InitArgs),
    Connect(connect::ConnectArgs),
    Disconnect(disconnect::DisconnectArgs),
    Import(import::ImportArgs),
    Get(get::GetArgs),
    Update(update::UpdateArgs),
    Remove(remove::RemoveArgs),
    Install(install::InstallArgs),
    Clean(clean::CleanArgs),
    Trust(trust::TrustArgs),
    Untrust(untrust::UntrustArgs),
    Setup(setup::SetupArgs),
    Approvals(approvals::ApprovalsArgs),
    Approve(approve::ApproveArgs),
    Pins(pins::PinsArgs),
    Budget(budget::BudgetArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<ExitStatus, Failure> {
        match self {
            Self::Up(args) => up::run(args, context),
            Self::Serve(args) => serve::run(args, context),
            Self::Attach(args) => attach::run(args, context),
            Self::List(args) => list::run(args, context),
            Self::Inspect(args) => inspect::run(args, context),
            Self::Why(args) => why::run(args, context),
            Self::Tools(args) => tools::run(args, context),
            Self::Describe(args) => describe::run(args, context),
            Self::Search(args) => search::run(args, context),
            Self::Call(args) => call::run(args, context),
            Self::Sh(args) => sh::run(args, context),
            Self::Run(args) => run::run(args, context),
            Self::Runs(args) => runs::run(args, context),
            Self::Test(args) => test::run(args, context),
            Self::Types(args) => types::run(args, context),
            Self::Cmp(args) => cmp::run(args, context),
            Self::Capsule(args) => capsule::run(args, context),
            Self::Audit(args) => audit::run(args, context),
            Self::Artifacts(args) => artifacts::run(args, context),
            Self::Auth(args) => auth::run(args, context),
            Self::Vault(args) => vault::run(args, context),
            Self::Check(args) => check::run(args, context),
            Self::Doctor(args) => doctor::run(args, context),
            Self::Validate(args) => validate::run(args, context),
            Self::Add(args) => add::run(args, context),
            Self::Init(args) => init::run(args, context),
            Self::Connect(args) => connect::run(args, context),
            Self::Disconnect(args) => disconnect::run(args, context),
            Self::Import(args) => import::run(args, context),
            Self::Get(args) => get::run(args, context),
            Self::Update(args) => update::run(args, context),
            Self::Remove(args) => remove::run(args, context),
            Self::Install(args) => install::run(args, context),
            Self::Clean(args) => clean::run(args, context),
            Self::Trust(args) => trust::run(args, context),
            Self::Untrust(args) => untrust::run(args, context),
            Self::Setup(args) => setup::run(args, context),
            Self::Approvals(args) => approvals::run(args, context),
            Self::Approve(args) => approve::run(args, context),
            Self::Pins(args) => pins::run(args, context),
            Self::Budget(args) => budget::run(args, context),
            Self::Schema(args) => schema::run(args, context),
            Self::Completions(args) => completions::run(args, context),
        }
    }

    /// Servers say what goes wrong; one-shot commands fail with their own error instead.
    pub(crate) fn default_log(&self) -> DefaultLog {
        match self {
            Self::Up(_) | Self::Serve(_) | Self::Attach(_) => DefaultLog::Warnings,
            _ => DefaultLog::Nothing,
        }
    }
}
