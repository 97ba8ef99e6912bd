//! Content from elsewhere: repositories by commit, addresses by hash.

use std::{collections::HashMap, fs, path::PathBuf};

use capdeck_definition::capability_file::RepoReference;
use capdeck_storage::sha256_hex;

use super::{PinUse, SourceAccess};
use crate::{
    git::{CommitSnapshot, GitError, GitRevision, RepoAddress},
    project::{
        InstallProblem,
        pins::{PinOrigin, PinSection, SourcePin, SourcePins},
    },
    replace_file,
};

/// The largest text that is taken from an address.
const MAX_REMOTE_TEXT_BYTES: usize = 10 << 20;

/// Where content was found, and what is pinned because of it.
pub(super) struct ContentOrigins<'a> {
    access: SourceAccess<'a>,
    pub(super) pinned: &'a SourcePins,
    pin_use: PinUse,
    pub(super) pins: SourcePins,
    /// One repository is asked once for one revision, however many things come from it.
    snapshots: HashMap<(RepoAddress, String), CommitSnapshot>,
}

impl<'a> ContentOrigins<'a> {
    pub(super) fn new(access: SourceAccess<'a>, pinned: &'a SourcePins, pin_use: PinUse) -> Self {
        Self { access, pinned, pin_use, pins: SourcePins::default(), snapshots: HashMap::new() }
    }

    /// What is pinned now, with what others wrote about it.
    pub(super) fn into_pins(mut self) -> SourcePins {
        self.pins.keep_others(self.pinned);
        self.pins
    }

    /// The files of a repository, at the pinned commit if there is one.
    pub(super) fn snapshot(
        &mut self,
        section: PinSection,
        id: &str,
        repo: &RepoReference,
    ) -> Result<PathBuf, InstallProblem> {
        let failed = |error: GitError| {
            InstallProblem::bad_source(section.about(id), &error).with_hint_if(error.hint())
        };
        let address = RepoAddress::on(repo.host, &repo.name).map_err(failed)?;
        let pinned =
            self.pinned.commit(section, id, repo).filter(|_| self.pin_use != PinUse::Update);
        let (revision, version) = match pinned {
            Some((commit, version)) => {
                (GitRevision::Commit(commit.to_owned()), version.map(str::to_owned))
            }
            None if self.pin_use == PinUse::Frozen => return Err(not_pinned(section.about(id))),
            None => {
                let version = repo.version.as_deref();
                (GitRevision::from_request(version, repo.commit.as_deref()).map_err(failed)?, None)
            }
        };
        let key = (address.clone(), format!("{revision:?}"));
        let snapshot = match self.snapshots.get(&key) {
            Some(snapshot) => snapshot.clone(),
            None => {
                let snapshot = self.access.git.snapshot(&address, &revision).map_err(failed)?;
                self.snapshots.insert(key, snapshot.clone());
                snapshot
            }
        };
        let origin = PinOrigin::Git {
            repo: repo.clone(),
            commit: snapshot.commit,
            version: version.or(snapshot.version),
            sha256: None,
        };
        self.pins.add(SourcePin::new(section, id, origin));
        Ok(snapshot.path)
    }

    /// Pins the hash of a text from a repository. One that differs from its pin was changed in the cache.
    pub(super) fn check_body(
        &mut self,
        section: PinSection,
        id: &str,
        content: &[u8],
    ) -> Result<(), InstallProblem> {
        let hash = sha256_hex(content);
        let commit = self.pins.note_body(section, id, &hash);
        let pinned = commit.and_then(|commit| self.pinned.body(section, id, &commit));
        if pinned.is_some_and(|pinned| pinned != hash) && self.pin_use != PinUse::Update {
            let message = "its text differs from the one that the lock file pins for this commit";
            return Err(InstallProblem::error("changed", section.about(id), message)
                .with_hint("remove the folder `git` in the cache folder, then run this again"));
        }
        Ok(())
    }

    /// The text at an address, which must be what is pinned if anything is.
    pub(super) fn remote(
        &mut self,
        section: PinSection,
        id: &str,
        url: &str,
    ) -> Result<Vec<u8>, InstallProblem> {
        let failed = |message: String| InstallProblem::bad_source(section.about(id), message);
        let pinned = self.pinned.hash(section, id, url).filter(|_| self.pin_use != PinUse::Update);
        if pinned.is_none() && self.pin_use == PinUse::Frozen {
            return Err(not_pinned(section.about(id)));
        }
        let folder = self.access.cache_dir.join("remote");
        let cached = pinned.and_then(|hash| {
            let content = fs::read(folder.join(hash)).ok()?;
            (sha256_hex(&content) == hash).then_some(content)
        });
        let content = match cached {
            Some(content) => content,
            None => {
                let content = (self.access.fetch)(url).map_err(|error| {
                    failed(format!("`{url}` cannot be fetched: {error}")).with_hint_if(error.hint)
                })?;
                check(&content).map_err(|reason| failed(format!("`{url}` {reason}")))?;
                content
            }
        };
        let hash = sha256_hex(&content);
        if pinned.is_some_and(|pinned| pinned != hash) {
            let message = format!("the content of `{url}` differs from the pinned one");
            return Err(InstallProblem::error("changed", section.about(id), message)
                .with_hint("review it, then accept it with: capdeck install --update"));
        }
        // Only a cache: what cannot be kept is fetched again.
        let _fetched_again = replace_file(&folder.join(&hash), &content);
        let origin = PinOrigin::Remote { url: url.to_owned(), sha256: hash };
        self.pins.add(SourcePin::new(section, id, origin));
        Ok(content)
    }
}

fn not_pinned(about: String) -> InstallProblem {
    InstallProblem::error("not-pinned", about, "the lock does not pin it as it is declared now")
        .with_hint("run `capdeck install` without --frozen and commit the lock")
}

fn check(content: &[u8]) -> Result<(), String> {
    if content.len() > MAX_REMOTE_TEXT_BYTES {
        return Err(format!("answers with more than {} MB", MAX_REMOTE_TEXT_BYTES >> 20));
    }
    let start: String = String::from_utf8_lossy(content).trim_start().chars().take(15).collect();
    let start = start.to_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Err("answers with a web page, not with a text".to_owned());
    }
    Ok(())
}
