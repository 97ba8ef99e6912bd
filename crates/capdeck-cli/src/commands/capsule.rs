//! `capdeck capsule`: context that agents share, from the command line.

mod display;
mod edit;
mod entry;
mod find;
mod manage;
mod share;
mod transfer;
mod verify;
mod write;

pub(super) use self::{
    display::past,
    verify::{CapsuleReport, each, problem_place},
};

use super::command_table;
use crate::{
    commands::CommandContext,
    completion::{capsules, entries},
    errors::CommandResult,
};

command_table! {
    /// Share notes and documents between agents, with versions
    ///
    /// A capsule holds entries such as `docs://architecture` or `skills://review-pr`, as plain files in the data folder. Agents read
    /// and write them through `capdeck serve` and `capdeck up`; here you do the same, and what only you may do.
    pub(crate) enum CapsuleCommand default List {
        New(manage::CapsuleNewArgs) => manage::new,
        List(find::CapsuleListArgs) => find::list,
        Show(find::CapsuleShowArgs) => find::show,
        Update(manage::CapsuleUpdateArgs) => manage::update,
        Read(entry::CapsuleReadArgs) => entry::read,
        Write(write::CapsuleWriteArgs) => write::run,
        Edit(edit::CapsuleEditArgs) => edit::run,
        Search(find::CapsuleSearchArgs) => find::search,
        History(find::CapsuleHistoryArgs) => find::history,
        Diff(entry::CapsuleDiffArgs) => entry::diff,
        Restore(entry::CapsuleRestoreArgs) => entry::restore,
        Rm(entry::CapsuleRmArgs) => entry::rm,
        Deleted(find::CapsuleDeletedArgs) => find::deleted,
        Schemes(manage::CapsuleSchemesArgs) => manage::schemes,
        Share(share::CapsuleShareArgs) => share::run,
        Export(transfer::CapsuleExportArgs) => transfer::export,
        Import(transfer::CapsuleImportArgs) => transfer::import,
        Verify(verify::CapsuleVerifyArgs) => verify::run,
        Collect(manage::CapsuleCollectArgs) => manage::collect,
    }
}

#[derive(Debug, clap::Args)]
struct CapsuleNameArg {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
}

#[derive(Debug, clap::Args)]
struct CapsuleEntryArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
}
