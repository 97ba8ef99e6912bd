//! Names of capsules and addresses of entries, for lines being typed. The data folder is only read: no lock is taken and
//! nothing is recorded.

use std::ffi::OsStr;

use capdeck_host::{
    CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleServiceExt as _, ListCapsulesRequest,
    ListQuery, LocalCapsuleService, SchemesRequest, StoreMode, StoreOptions,
};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::{matching, settings, typed_words};
use crate::{env_vars, runtime::single_thread};

/// More than a person reads.
const MAX_COMPLETIONS: usize = 200;

/// Completes the id of a capsule.
pub(crate) fn capsules() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let listed = ask(None, ListCapsulesRequest::default());
        let found = listed.into_iter().flat_map(|listed| listed.capsules);
        matching(current, found.map(|capsule| (capsule.info.id, capsule.info.name)))
    })
}

/// Completes the address of an entry of the capsule already typed.
pub(crate) fn entries() -> ArgValueCompleter {
    ArgValueCompleter::new(addresses)
}

/// Completes a part of the address space: a scheme, or an entry with what is below it.
pub(crate) fn entry_prefixes() -> ArgValueCompleter {
    ArgValueCompleter::new(addresses)
}

fn addresses(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(capsule) = typed_capsule() else { return Vec::new() };
    let typed = current.to_string_lossy();
    let Some((scheme, _)) = typed.split_once("://") else {
        let listed = ask(Some(&capsule), SchemesRequest);
        let schemes = listed.into_iter().flat_map(|listed| listed.schemes);
        let shown = schemes.map(|scheme| (format!("{}://", scheme.name), scheme.title));
        return matching(current, shown);
    };
    let query = ListQuery {
        scheme: Some(scheme.to_owned()),
        limit: MAX_COMPLETIONS,
        ..ListQuery::default()
    };
    let found = ask(Some(&capsule), query).into_iter().flat_map(|page| page.entries);
    matching(current, found.map(|entry| (entry.uri.to_string(), entry.title)))
}

/// The capsule that the line names: the first word after `capsule`, `audit` and what is asked of them.
fn typed_capsule() -> Option<String> {
    let typed = typed_words(env_vars::words());
    let before = typed.split_last().map_or(typed.as_slice(), |(_, before)| before);
    let mut words = before.iter().map(|word| word.to_string_lossy().into_owned());
    words.find(|word| word == "capsule" || word == "audit")?;
    let mut rest = words.filter(|word| !word.starts_with('-'));
    let command = rest.next()?;
    let next = rest.next()?;
    let is_nested = matches!(
        (command.as_str(), next.as_str()),
        ("schemes", "add" | "remove") | ("share", "list" | "revoke")
    );
    if is_nested { rest.next() } else { Some(next) }
}

fn ask<C: CapsuleCall>(capsule: Option<&str>, call: C) -> Option<C::Response> {
    let folder = settings()?.data_dir;
    if !folder.is_dir() {
        return None;
    }
    let options = StoreOptions { mode: StoreMode::ReadOnly, ..StoreOptions::default() };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    single_thread().ok()?.block_on(async {
        let capsules = LocalCapsuleService::open(&folder, options).await.ok()?;
        capsules.ask(caller.request(capsule, call)).await.ok()
    })
}
