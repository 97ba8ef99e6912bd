//! Names of capsules and addresses of entries, for lines being typed. The data folder is only read: no lock is taken and
//! nothing is recorded.

use std::ffi::OsStr;

use capdeck_host::{
    Author, CapsuleCaller, CapsuleDesk as _, CapsuleOperation, ListQuery, LocalDesk, Mode,
    StoreOptions,
};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;

use super::{matching, settings, typed_words};
use crate::{env_vars, runtime::single_thread};

/// More than anybody reads.
const MAX_CANDIDATES: usize = 200;

/// Completes the id of a capsule.
pub(crate) fn capsules() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let list = CapsuleOperation::ListCapsules { with_counts: false };
        let answer = ask(None, list).unwrap_or_default();
        let found = texts(&answer, "capsules", "id", "name");
        matching(current, found.into_iter())
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
        let answer = ask(Some(&capsule), CapsuleOperation::Schemes).unwrap_or_default();
        let schemes = texts(&answer, "schemes", "name", "title");
        return matching(
            current,
            schemes.into_iter().map(|(name, help)| (format!("{name}://"), help)),
        );
    };
    let query = ListQuery {
        scheme: Some(scheme.to_owned()),
        limit: MAX_CANDIDATES,
        ..ListQuery::default()
    };
    let answer = ask(Some(&capsule), CapsuleOperation::List(query)).unwrap_or_default();
    matching(current, texts(&answer, "entries", "uri", "title").into_iter())
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

fn ask(capsule: Option<&str>, operation: CapsuleOperation) -> Option<Value> {
    let folder = settings()?.data_dir;
    if !folder.is_dir() {
        return None;
    }
    let options = StoreOptions { mode: Mode::ReadOnly, ..StoreOptions::default() };
    let caller = CapsuleCaller::local(Author::client("capdeck"));
    single_thread().ok()?.block_on(async {
        let desk = LocalDesk::open(&folder, options).await.ok()?;
        desk.ask(caller.request(capsule, operation)).await.ok()
    })
}

fn texts(answer: &Value, list: &str, name: &str, help: &str) -> Vec<(String, String)> {
    let text = |item: &Value, field: &str| {
        item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let items = answer.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().map(|item| (text(item, name), text(item, help))).collect()
}
