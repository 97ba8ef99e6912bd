//! Verbs of questions and of tool names: which kind of thing they want done.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::words::{each_word, stemmed};

/// What kind of thing a verb does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum VerbClass {
    #[default]
    Unknown,
    /// Only looks.
    Look,
    Create,
    Change,
    /// Takes something away. Such a tool is never a guess: it must be asked for.
    Remove,
    /// Anything else: runs, sends, moves, stops.
    Act,
}

const VERBS: [(VerbClass, &str); 5] = [
    (
        VerbClass::Look,
        "get list read show search find query describe retrieve check view fetch count print see \
         look inspect explain display enumerate lookup browse download export compare diff \
         analyze diagnose verify validate whoami tell calculate estimate suggest recommend measure",
    ),
    (
        VerbClass::Create,
        "create add make insert generate register compose draft write append put set build \
         provision save store upload attach give start declare raise file invite comment leave plan log",
    ),
    (
        VerbClass::Change,
        "update edit change modify patch rename replace rewrite set put write overwrite fix \
         configure resize scale adjust correct assign mark move transfer apply enable disable \
         switch turn reset manage close reopen resolve restrict limit allow grant deny block lock \
         unlock pin unpin hide unhide format color highlight sort",
    ),
    (
        VerbClass::Remove,
        "delete remove uninstall drop erase destroy purge unassign revoke unpublish clear forget \
         discard cleanup unregister del",
    ),
    (
        VerbClass::Act,
        "run execute trigger invoke send post publish reply respond answer stop cancel abort halt \
         pause launch play call deploy install restart retry rerun rollback merge approve accept \
         reject decline finish complete finalize convert import copy clone duplicate fork archive \
         unarchive link connect disconnect share book click press type navigate visit hover drag \
         wait subscribe unsubscribe follow push pull sync rotate request submit transition promote \
         dismiss react transcribe simulate refund scrape crawl extract exec forward undo star \
         unstar protect unprotect cordon drain upgrade commit checkout release schedule \
         select fill remember ask acknowledge silence notify alert remind translate filter group \
         track watch pay charge bill record sign test",
    ),
];

/// Words that name a thing at least as often as they ask for something: `commit history`.
const NOUNS: [&str; 46] = [
    "alert",
    "answer",
    "bill",
    "block",
    "book",
    "build",
    "call",
    "charge",
    "color",
    "comment",
    "commit",
    "file",
    "filter",
    "fork",
    "format",
    "group",
    "highlight",
    "limit",
    "link",
    "lock",
    "log",
    "merge",
    "mock",
    "patch",
    "pin",
    "plan",
    "post",
    "pull",
    "push",
    "query",
    "record",
    "release",
    "request",
    "run",
    "schedule",
    "share",
    "sign",
    "sort",
    "star",
    "start",
    "test",
    "track",
    "type",
    "upgrade",
    "view",
    "watch",
];

/// Words of names that say little about the thing itself.
const NEUTRAL_WORDS: [&str; 16] = [
    "api",
    "content",
    "current",
    "data",
    "detail",
    "id",
    "info",
    "information",
    "item",
    "object",
    "plain",
    "record",
    "resource",
    "simple",
    "text",
    "uid",
];

pub(super) fn is_neutral(stem: &str) -> bool {
    NEUTRAL_WORDS.contains(&stem)
}

/// The class of a stemmed verb. A verb in several rows counts as the first of them.
pub(super) fn class_of(stem: &str) -> VerbClass {
    static TABLE: OnceLock<FxHashMap<String, VerbClass>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = FxHashMap::default();
        for (class, verbs) in VERBS {
            each_word(verbs, &mut String::new(), |verb| {
                table.entry(stemmed(verb)).or_insert(class);
            });
        }
        table
    });
    table.get(stem).copied().unwrap_or_default()
}

/// True for a verb that may also be a thing, unless an article follows it.
pub(super) fn is_noun_too(word: &str) -> bool {
    NOUNS.contains(&word)
}
