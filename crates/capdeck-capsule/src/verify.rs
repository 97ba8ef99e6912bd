//! Checks a whole capsule: is everything that should be there, and is it what was written?

use std::{collections::BTreeSet, fs, io};

use capdeck_storage::{list_folder, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AuditReport, BlobId, DeletedEntry, EntryUri, StoreResult,
    audit::verify_audit,
    day_file,
    file_store::{LoadedVersion, SignalLine, StoreEngine, VersionIntegrity, find_problems},
};

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    pub entries: usize,
    /// All versions of all entries, deleted ones included.
    pub versions: usize,
    pub blobs: usize,
    pub signals: u64,
    pub audit: AuditReport,
    pub problems: Vec<VerifyProblem>,
    /// Things worth knowing that are no damage, such as files that were edited by hand.
    pub remarks: Vec<VerifyProblem>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyProblem {
    /// An address, or a path below the capsule's folder.
    pub place: String,
    pub what: String,
}

impl VerifyReport {
    /// Whether nothing is damaged.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.audit.problems.is_empty()
    }
}

/// What cannot be read is a problem of the report, and everything else is checked nevertheless.
pub(crate) fn verify(engine: &StoreEngine) -> VerifyReport {
    let report = VerifyReport { problems: find_problems(engine), ..VerifyReport::default() };
    let mut check = CapsuleCheck { engine, report, blobs: BTreeSet::new() };
    let uris: Vec<EntryUri> = engine.state.read().entries.keys().cloned().collect();
    for uri in &uris {
        check.entry(uri);
    }
    let deleted: Vec<DeletedEntry> = engine.state.read().deleted.values().cloned().collect();
    for DeletedEntry { uri, version, .. } in &deleted {
        let past = check.past(uri, version + 1);
        check.gapless(uri, &past, *version);
    }
    match undeclared_folders(engine) {
        Ok(places) => {
            for place in places {
                let what = "its scheme is not declared, so nothing of it is read".to_owned();
                check.report.remarks.push(VerifyProblem { place, what });
            }
        }
        Err(error) => check.unreadable("entries", &error),
    }
    check.blobs();
    check.signals();
    match verify_audit(&engine.files.layout.folder("logs"), "") {
        Ok(audit) => check.report.audit = audit,
        Err(error) => check.unreadable("logs", &error),
    }
    check.report
}

struct CapsuleCheck<'a> {
    engine: &'a StoreEngine,
    report: VerifyReport,
    /// Blobs that versions point to.
    blobs: BTreeSet<BlobId>,
}

impl CapsuleCheck<'_> {
    fn problem(&mut self, place: impl ToString, what: impl Into<String>) {
        self.report.problems.push(VerifyProblem { place: place.to_string(), what: what.into() });
    }

    fn unreadable(&mut self, place: impl ToString, error: &io::Error) {
        self.problem(place, format!("it cannot be read: {error}"));
    }

    fn entry(&mut self, uri: &EntryUri) {
        self.report.entries += 1;
        let version = match self.load(uri, None) {
            Ok(Some(LoadedVersion { entry, fit, .. })) => {
                if fit != VersionIntegrity::Whole {
                    let what = "it was put there or edited by hand".to_owned();
                    self.report.remarks.push(VerifyProblem { place: uri.to_string(), what });
                }
                self.blobs.extend(entry.meta.blob.map(|blob| blob.sha256));
                entry.meta.version
            }
            Ok(None) => {
                self.problem(uri, "its file is missing");
                return;
            }
            Err(error) => {
                self.problem(uri, error.to_string());
                return;
            }
        };
        self.report.versions += 1;
        let past = self.past(uri, version);
        self.gapless(uri, &past, version.saturating_sub(1));
    }

    /// A version as its files are. No writer is between them meanwhile.
    fn load(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<Option<LoadedVersion>> {
        let (files, scheme) = (&self.engine.files, self.engine.scheme(uri)?);
        let _entry = files.stripe(&uri.folded()).lock();
        let paths = match version {
            Some(version) => files.layout.version(uri, version, scheme.format),
            None => files.layout.current(uri, &scheme),
        };
        files.layout.load(uri, &paths, scheme.format)
    }

    /// Checks the kept versions before one.
    fn past(&mut self, uri: &EntryUri, before: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let scheme = self.engine.scheme(uri);
        let versions = match scheme.and_then(|scheme| self.engine.kept_versions(uri, &scheme)) {
            Ok(versions) => versions,
            Err(error) => {
                self.problem(uri, error.to_string());
                return found;
            }
        };
        for version in versions {
            if version >= before {
                continue;
            }
            found.push(version);
            self.report.versions += 1;
            match self.load(uri, Some(version)) {
                Ok(Some(LoadedVersion { entry, fit: VersionIntegrity::Apart, .. })) => {
                    let what = format!("version {} does not match its sidecar", entry.meta.version);
                    self.problem(uri, what);
                }
                Ok(Some(LoadedVersion { entry, .. })) => {
                    // A version that was found without a head counts as the first.
                    if entry.meta.version != version && entry.meta.version != 1 {
                        self.problem(
                            uri,
                            format!("version {version} says that it is {}", entry.meta.version),
                        );
                    }
                    self.blobs.extend(entry.meta.blob.map(|blob| blob.sha256));
                }
                Ok(None) => self.problem(uri, format!("version {version} is missing")),
                Err(error) => self.problem(uri, format!("version {version}: {error}")),
            }
        }
        found
    }

    fn gapless(&mut self, uri: &EntryUri, past: &[u64], last: u64) {
        let missing: Vec<String> = (1..=last)
            .filter(|version| !past.contains(version))
            .map(|version| version.to_string())
            .collect();
        if !missing.is_empty() {
            self.problem(uri, format!("versions are missing: {}", missing.join(", ")));
        }
    }

    fn blobs(&mut self) {
        let found =
            list_folder(&self.engine.files.layout.folder("blobs")).unwrap_or_else(|error| {
                self.unreadable("blobs", &error);
                Vec::new()
            });
        for entry in found {
            let name = entry.file_name().to_string_lossy().into_owned();
            self.report.blobs += 1;
            let Ok(id) = BlobId::parse(&name) else {
                self.problem(format!("blobs/{name}"), "it is no blob");
                continue;
            };
            self.blobs.remove(&id);
            match fs::read(entry.path()) {
                Ok(bytes) if sha256_hex(&bytes) == name => {}
                Ok(_) => {
                    self.problem(
                        format!("blobs/{name}"),
                        "its content does not match the hash in its name",
                    );
                }
                Err(error) => self.unreadable(format!("blobs/{name}"), &error),
            }
        }
        for missing in std::mem::take(&mut self.blobs) {
            self.problem(missing, "an entry points to this blob, and it is missing");
        }
    }

    fn signals(&mut self) {
        if let Err(error) = self.check_signals() {
            self.unreadable("signals", &error);
        }
    }

    fn check_signals(&mut self) -> io::Result<()> {
        let mut before: Option<SignalLine> = None;
        for (_, path) in day_file::days(&self.engine.files.layout.folder("signals"), "")? {
            for line in day_file::lines::<SignalLine>(&path)? {
                let line = line?;
                self.report.signals += 1;
                if let Some(before) = &before
                    && (line.seq != before.seq + 1 || line.signal.id <= before.signal.id)
                {
                    let what = format!("signal {} does not follow {}", line.seq, before.seq);
                    self.problem("signals", what);
                }
                before = Some(line);
            }
        }
        Ok(())
    }
}

/// Folders of entries whose scheme is not declared, below the capsule's folder. Nothing of them is read.
fn undeclared_folders(engine: &StoreEngine) -> io::Result<Vec<String>> {
    let layout = &engine.files.layout;
    let declared: Vec<_> =
        engine.state.read().schemes.iter().map(|scheme| layout.scheme_folder(scheme)).collect();
    let mut found = Vec::new();
    for entry in list_folder(&layout.folder("entries"))? {
        if entry.file_type()?.is_dir() && !declared.contains(&entry.path()) {
            found.push(layout.display_path(&entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
