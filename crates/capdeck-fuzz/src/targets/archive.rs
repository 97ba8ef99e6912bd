//! Archives of capsules: a tar file that is imported into a capsule of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use capdeck_capsule::{
    CapsuleAccess, CapsuleAuthor, CapsuleRegistry, CapsuleUpdate, EntryScope, ExistingEntryMode,
    ImportFilesRequest, ImportMode, ImportReport, ImportSource, ListQuery, StoreError,
    StoreOptions, WriteDurability, import,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::json_rpc;
use crate::{FuzzTarget, RandomSource, seeds};

/// Capsules in one data folder, before a new one is made.
const MAX_CAPSULES: usize = 100;
const BLOCK: usize = 512;

struct CapsuleArchive {
    runtime: Runtime,
    stage: ArchiveStage,
}

/// A data folder among folders that must stay as they are.
struct ArchiveStage {
    folder: TempDir,
    capsules: CapsuleRegistry,
    count: usize,
}

pub(crate) fn capsule_archive() -> Box<dyn FuzzTarget> {
    let runtime = json_rpc::runtime();
    let stage = runtime.block_on(ArchiveStage::open());
    Box::new(CapsuleArchive { runtime, stage })
}

impl FuzzTarget for CapsuleArchive {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/archive", &[".tar"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        24 * 1024
    }

    /// Nearly every change breaks a header's sum, behind which nothing is read.
    fn restore(&self, input: &mut Vec<u8>, random: &mut RandomSource) {
        if random.chance(1, 20) {
            return;
        }
        let mut at = 0;
        while let Some(header) = input.get_mut(at..at + BLOCK) {
            header[148..156].copy_from_slice(b"        ");
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            if sum > 8 * u32::from(b' ') {
                header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            } else {
                header[148..156].fill(0);
            }
            let size = String::from_utf8_lossy(&header[124..135]).into_owned();
            let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).unwrap_or_default();
            at =
                at.saturating_add(BLOCK).saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK));
        }
    }

    fn execute(&mut self, input: &[u8]) -> String {
        if self.stage.count >= MAX_CAPSULES {
            self.stage = self.runtime.block_on(ArchiveStage::open());
        }
        self.stage.count += 1;
        self.runtime.block_on(self.stage.import(input))
    }
}

/// What a capsule holds: schemes, and versions by address.
type CapsuleContents = (BTreeSet<String>, BTreeMap<String, u64>);

impl ArchiveStage {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "outside", "outside/docs"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("outside/canary"), "untouched").unwrap();
        let options =
            StoreOptions { durability: WriteDurability::Cached, ..StoreOptions::default() };
        let capsules = CapsuleRegistry::open(&folder.path().join("data"), options).await.unwrap();
        Self { folder, capsules, count: 0 }
    }

    async fn import(&self, input: &[u8]) -> String {
        let name = format!("c{}", self.count);
        let new = CapsuleUpdate { name: Some(name.clone()), ..CapsuleUpdate::default() };
        self.capsules.create(new).await.unwrap();
        let source = self.folder.path().join("archive.tar");
        fs::write(&source, input).unwrap();
        let others = self.outside(&name);
        let before = self.contents(&name).await;
        let rehearsed = self.take(&name, &source, ImportMode::Rehearse).await;
        assert_eq!(self.contents(&name).await, before, "a rehearsal changed the capsule");
        let written = self.take(&name, &source, ImportMode::Write).await;
        assert_eq!(self.outside(&name), others, "something was written outside of the capsule");
        let after = self.contents(&name).await;
        let verified = self.capsules.store(&name).await.unwrap().verify().await.unwrap();
        assert!(verified.is_clean(), "the capsule is damaged: {verified:?}");
        match (rehearsed, written) {
            (Err(rehearsed), Err(written)) => {
                assert_eq!(after, before, "a refused archive left something behind");
                assert_eq!(rehearsed.code(), written.code(), "a rehearsal says another reason");
                format!("refused {}", written.code())
            }
            (Ok(rehearsed), Ok(written)) => {
                check_report(&written, &after);
                assert_eq!(rehearsed.schemes, written.schemes, "a rehearsal says other schemes");
                // A rehearsal does not see what entries of one archive do to each other; everything else it does.
                for entry in &written.entries {
                    assert!(rehearsed.entries.contains(entry), "a rehearsal misses {entry:?}");
                }
                let again = self.take(&name, &source, ImportMode::Write).await.unwrap();
                assert!(again.schemes.is_empty());
                assert_eq!(self.contents(&name).await, after, "a second import changed something");
                let reasons: BTreeSet<String> =
                    written.skipped.iter().map(|skipped| words_of(&skipped.reason)).collect();
                format!(
                    "{} {} {reasons:?}",
                    written.schemes.len().min(3),
                    written.entries.len().min(6)
                )
            }
            (rehearsed, written) => {
                panic!("a rehearsal ends with {rehearsed:?}, and the import with {written:?}")
            }
        }
    }

    async fn take(
        &self,
        name: &str,
        source: &Path,
        mode: ImportMode,
    ) -> Result<ImportReport, StoreError> {
        let author = CapsuleAuthor::client("fuzz");
        let session = self.capsules.handle(name, author, CapsuleAccess::owner()).await.unwrap();
        let source = source.to_owned();
        let request = ImportFilesRequest {
            path: source,
            form: ImportSource::Export,
            existing: ExistingEntryMode::Replace,
            mode,
        };
        import(&session, &request).await
    }

    async fn contents(&self, name: &str) -> CapsuleContents {
        let store = self.capsules.store(name).await.unwrap();
        let schemes =
            store.schemes().await.unwrap().into_iter().map(|scheme| scheme.name).collect();
        let mut entries = BTreeMap::new();
        let mut request = ListQuery { limit: 1_000, ..ListQuery::default() };
        loop {
            let page = store.list(&request, &EntryScope::all()).await.unwrap();
            for meta in &page.items {
                entries.insert(meta.uri.to_string(), meta.version);
            }
            request.cursor = page.next_cursor;
            if request.cursor.is_none() {
                return (schemes, entries);
            }
        }
    }

    /// Every file that is no part of this capsule, with its length.
    fn outside(&self, name: &str) -> BTreeMap<PathBuf, u64> {
        let own = self.capsules.root(name).unwrap();
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, facts) = (entry.path(), entry.metadata().unwrap());
                // Each call is a line in the capsule's own record.
                let is_record = path.to_string_lossy().contains("audit");
                if path == own || is_record {
                    continue;
                }
                if facts.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path, if facts.is_dir() { 0 } else { facts.len() });
            }
        }
        found
    }
}

/// What was imported is there.
fn check_report(report: &ImportReport, after: &CapsuleContents) {
    for entry in &report.entries {
        assert_eq!(after.1.get(entry.uri.as_str()), Some(&entry.version), "{entry:?} is not there");
        assert!(after.0.contains(entry.uri.scheme()), "{entry:?} has no scheme");
    }
    for scheme in &report.schemes {
        assert!(after.0.contains(scheme), "the scheme {scheme} is not there");
    }
    assert_eq!(report.entries.len(), after.1.len(), "there is more than the report says");
    assert!(report.skipped.iter().all(|skipped| !skipped.reason.is_empty()));
}

/// A reason without what it quotes.
fn words_of(reason: &str) -> String {
    let outside: Vec<&str> = reason.split('`').step_by(2).collect();
    outside.join("_").chars().filter(|letter| !letter.is_ascii_digit()).take(40).collect()
}

const WORDS: &[&str] = &[
    "capsule.json",
    "_blobs/",
    "docs/",
    "notes/",
    "facts/",
    "skills/",
    ".md",
    ".json",
    ".txt",
    "../../outside/canary",
    "/etc/passwd",
    "./",
    "docs/../../x.md",
    "docs//x.md",
    "docs/CON.md",
    "docs/.git/x.md",
    "con",
    "docs/a\\b.md",
    "ustar\0",
    "\0",
    "path=",
    "size=",
    "20 path=docs/long.md\n",
    "99999999999",
    "77777777777",
    "\u{80}\0\0\0",
    "schemes",
    "entries",
    "uri",
    "docs://readme",
    "facts://x",
    "x://y",
    "title",
    "tags",
    "risk_class",
    "structural",
    "specific_code",
    "promotion_reason",
    "file_anchor",
    "commit_at_write",
    "file_anchors",
    "blob",
    "sha256:",
    "mime",
    "bytes",
    "name",
    "format",
    "markdown",
    "json",
    "text",
    "prompt_source",
    "origin",
    "builtin",
    "capsule",
    "host",
];
