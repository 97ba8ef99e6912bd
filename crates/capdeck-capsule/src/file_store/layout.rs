//! Where things are inside a capsule's folder.
//!
//! `knowledge/<scheme>/<path>.md`, `skills/<path>.md` and `entries/<scheme>/<path>.<ext>` hold the current versions,
//! `history/<scheme>/<path>/@<n>.<ext>` every older one, `trash/<scheme>/<path>.json` what is known of deleted ones.
//! No segment of an address can start with `@` or a dot or end in a file's ending, so no two of these can meet.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    BlobId, EntryUri, MemoryOwner, StoreError, StoreResult,
    scheme::{BodyFormat, Scheme, SchemeOrigin},
};

/// Paths below one capsule's `.capsol` folder.
#[derive(Debug, Clone)]
pub(crate) struct CapsuleLayout {
    root: PathBuf,
}

/// The files of one version: the body, and for JSON what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryFiles {
    pub(crate) body: PathBuf,
    pub(crate) meta: Option<PathBuf>,
}

/// What a path has to lead to, where it leads to something.
#[derive(Debug, Clone, Copy)]
enum PathKind {
    File,
    Folder,
}

impl EntryFiles {
    fn at(folder: &Path, stem: &str, format: BodyFormat) -> Self {
        let extension = format.extension();
        Self {
            body: folder.join(format!("{stem}.{extension}")),
            meta: (format == BodyFormat::Json).then(|| folder.join(format!("{stem}.meta.json"))),
        }
    }
}

impl CapsuleLayout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// One of the folders that every capsule has.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        [
            "knowledge",
            "skills",
            "entries",
            "history",
            "trash",
            "blobs",
            "memory",
            "logs",
            "signals",
            "cursors",
            "journal",
            "tmp",
        ]
        .map(|name| self.folder(name))
        .into()
    }

    /// The folder with a scheme's current entries.
    pub(crate) fn scheme_folder(&self, scheme: &Scheme) -> PathBuf {
        match scheme.origin {
            SchemeOrigin::Builtin if scheme.name == "skills" => self.root.join("skills"),
            SchemeOrigin::Builtin => self.root.join("knowledge").join(&scheme.name),
            SchemeOrigin::Registry | SchemeOrigin::Capsule => {
                self.folder("entries").join(&scheme.name)
            }
        }
    }

    /// The files of an entry's current version.
    pub(crate) fn current(&self, uri: &EntryUri, scheme: &Scheme) -> EntryFiles {
        let (folder, stem) = split(self.scheme_folder(scheme), uri.path());
        EntryFiles::at(&folder, stem, scheme.format)
    }

    /// The folder with an entry's older versions.
    pub(crate) fn history_folder(&self, uri: &EntryUri) -> PathBuf {
        self.root.join("history").join(uri.scheme()).join(uri.path())
    }

    pub(crate) fn version(&self, uri: &EntryUri, version: u64, format: BodyFormat) -> EntryFiles {
        EntryFiles::at(&self.history_folder(uri), &format!("@{version}"), format)
    }

    /// What is kept to know of a deleted entry.
    pub(crate) fn tombstone(&self, uri: &EntryUri) -> PathBuf {
        let (folder, stem) = split(self.folder("trash").join(uri.scheme()), uri.path());
        folder.join(format!("{stem}.json"))
    }

    pub(crate) fn blob(&self, id: &BlobId) -> PathBuf {
        self.folder("blobs").join(id.as_str())
    }

    pub(crate) fn memory(&self, owner: &MemoryOwner) -> PathBuf {
        self.root.join("memory").join(format!("{}.json", owner.file_stem()))
    }

    pub(crate) fn cursor(&self, owner: &MemoryOwner) -> PathBuf {
        self.root.join("cursors").join(owner.file_stem())
    }

    pub(crate) fn schemes(&self) -> PathBuf {
        self.root.join("schemes.json")
    }

    /// Refuses a path that leads through a link, or to anything but an ordinary file or nothing.
    pub(crate) fn check_file(&self, path: &Path) -> StoreResult<()> {
        self.check_path(path, PathKind::File)
    }

    /// Refuses a path that leads through a link, or to anything but a folder or nothing.
    pub(crate) fn check_folder(&self, path: &Path) -> StoreResult<()> {
        self.check_path(path, PathKind::Folder)
    }

    fn check_path(&self, path: &Path, kind: PathKind) -> StoreResult<()> {
        let Ok(below) = path.strip_prefix(&self.root) else {
            let path = path.display().to_string();
            return Err(StoreError::UnsafePath { path, found: "it is outside" });
        };
        let mut at = self.root.clone();
        let last = below.components().count();
        for (place, part) in below.components().enumerate() {
            at.push(part);
            let known = match fs::symlink_metadata(&at) {
                Ok(known) => known,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => {
                    return Err(StoreError::io(format!("look at `{}`", self.display_path(&at)))(
                        error,
                    ));
                }
            };
            // Everything above the last part is a folder.
            let expected = if place + 1 == last { kind } else { PathKind::Folder };
            let found = match expected {
                PathKind::File if known.is_file() => continue,
                PathKind::Folder if known.is_dir() => continue,
                _ if known.is_symlink() => "a link, which is not followed",
                PathKind::Folder if known.is_file() => "a file where a folder should be",
                PathKind::File if known.is_dir() => "a folder where a file should be",
                _ => "neither a file nor a folder",
            };
            return Err(StoreError::UnsafePath { path: self.display_path(&at), found });
        }
        Ok(())
    }

    /// A path as shown to people: below the capsule.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn split(base: PathBuf, path: &str) -> (PathBuf, &str) {
    match path.rsplit_once('/') {
        Some((folder, stem)) => (base.join(folder), stem),
        None => (base, path),
    }
}

/// The version in the name of a history file's body: `@3.md`.
pub(crate) fn version_of(name: &str, format: BodyFormat) -> Option<u64> {
    let number = name.strip_prefix('@')?.strip_suffix(format.extension())?.strip_suffix('.')?;
    number.parse().ok().filter(|version: &u64| *version > 0 && version.to_string() == number)
}

/// The address of a file below a scheme's folder; `None` for one that is not a body.
pub(crate) fn uri_of(scheme: &Scheme, below: &Path) -> Option<Result<EntryUri, crate::UriError>> {
    let text = below.to_str()?.replace('\\', "/");
    let stem = text.strip_suffix(scheme.format.extension())?.strip_suffix('.')?;
    if scheme.format == BodyFormat::Json && stem.ends_with(".meta") {
        return None;
    }
    Some(EntryUri::new(&scheme.name, stem))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_are_where_the_layout_says() {
        let layout = CapsuleLayout::new(PathBuf::from("/c"));
        let scheme =
            |name: &str| Scheme::builtin().into_iter().find(|known| known.name == name).unwrap();
        let uri = |text: &str| EntryUri::parse(text).unwrap();
        let docs = layout.current(&uri("docs://team/api"), &scheme("docs"));
        assert_eq!(docs.body, Path::new("/c/knowledge/docs/team/api.md"));
        assert_eq!(docs.meta, None);
        let skill = layout.current(&uri("skills://review-pr"), &scheme("skills"));
        assert_eq!(skill.body, Path::new("/c/skills/review-pr.md"));
        let data = layout.current(&uri("api-data://pets"), &scheme("api-data"));
        assert_eq!(data.body, Path::new("/c/knowledge/api-data/pets.json"));
        assert_eq!(data.meta.as_deref(), Some(Path::new("/c/knowledge/api-data/pets.meta.json")));
        let custom = layout.current(&uri("runbooks://deploy"), &Scheme::named("runbooks"));
        assert_eq!(custom.body, Path::new("/c/entries/runbooks/deploy.md"));
        let old = layout.version(&uri("docs://team/api"), 3, BodyFormat::Markdown);
        assert_eq!(old.body, Path::new("/c/history/docs/team/api/@3.md"));
    }

    #[test]
    fn names_lead_back_to_addresses() {
        let docs = Scheme::named("docs");
        let found = uri_of(&docs, Path::new("team/api.md")).unwrap().unwrap();
        assert_eq!(found.as_str(), "docs://team/api");
        assert!(uri_of(&docs, Path::new("team/api.json")).is_none());
        assert!(uri_of(&docs, Path::new(".hidden.md")).unwrap().is_err());
        assert_eq!(version_of("@12.md", BodyFormat::Markdown), Some(12));
        for name in ["12.md", "@012.md", "@0.md", "@x.md", "@1.json", "@1.meta.json"] {
            assert_eq!(version_of(name, BodyFormat::Markdown), None, "{name}");
        }
        assert_eq!(version_of("@1.meta.json", BodyFormat::Json), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_address_leads_out_of_the_capsule(
            scheme in "[a-z-]{1,6}",
            path in "([a-zA-Z0-9._/@~-]|%2e|\\.\\./|/|\\\\|\\.md|con|\\.meta|[\u{0}-\u{ff}]){1,12}",
        ) {
            if let Ok(uri) = EntryUri::new(&scheme, &path) {
                let layout = CapsuleLayout::new(PathBuf::from("/c"));
                let declared = Scheme { format: BodyFormat::Json, ..Scheme::named(&scheme) };
                let files = layout.current(&uri, &declared);
                for path in [Some(files.body.clone()), files.meta, Some(layout.tombstone(&uri)), Some(layout.version(&uri, 1, BodyFormat::Json).body)].into_iter().flatten() {
                    let below = path.strip_prefix("/c").unwrap();
                    prop_assert!(below.components().all(|part| matches!(part, std::path::Component::Normal(_))), "{path:?}");
                }
                let below = files.body.strip_prefix(layout.scheme_folder(&declared)).unwrap();
                prop_assert_eq!(uri_of(&declared, below).unwrap().unwrap(), uri);
            }
        }
    }
}
