//! What an export wrote, as a folder or as a tar archive, read back.
//!
//! Nothing of an archive is ever written to a path of its choice: its names only become addresses, which are checked
//! like any other.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    import_candidates::{ContentLocation, ImportCandidate, ImportCandidates, files_below},
    manifest::{BLOBS, ExportManifest, MANIFEST, path_of},
    tar_index::{MemberKind, index},
};
use crate::{
    CapsuleHandle, EntryUri, Scheme, SchemeOrigin, StoreError, StoreResult, blocking::blocking,
    scheme,
};

/// The files of an export by their names in it.
type ArchiveFiles = BTreeMap<String, ContentLocation>;

/// Everything in an export that can become an entry.
pub(super) async fn gather(
    session: &CapsuleHandle,
    source: &Path,
) -> StoreResult<ImportCandidates> {
    let mut gathered = ImportCandidates::default();
    let is_folder = fs::metadata(source)
        .map_err(StoreError::io(format!("read `{}`", source.display())))?
        .is_dir();
    let files = if is_folder {
        in_folder(source, &mut gathered).await?
    } else {
        in_tar(source, &mut gathered).await?
    };
    let manifest = match files.get(MANIFEST) {
        None if is_folder => {
            let reason = format!("`{}` has no `{MANIFEST}`, so it is no export", source.display());
            return Err(StoreError::invalid("source", reason));
        }
        None => ExportManifest::default(),
        Some(place) => {
            let text = place.bytes().await;
            let text = text.map_err(|reason| StoreError::invalid("source", reason))?;
            ExportManifest::parse(&text)?
        }
    };
    for reason in &manifest.unusable {
        gathered.skip(MANIFEST, reason);
    }
    let mut schemes = session.entries.schemes().await?;
    gathered.schemes = take_schemes(&manifest, &mut schemes)?;
    take_files(&files, &manifest, &schemes, &mut gathered);
    Ok(gathered)
}

/// The schemes that the capsule lacks. All are checked here, so that a bad one is known before anything is written.
fn take_schemes(manifest: &ExportManifest, known: &mut Vec<Scheme>) -> StoreResult<Vec<Scheme>> {
    let here: Vec<String> = known.iter().map(|scheme| scheme.name.clone()).collect();
    let mut new = Vec::new();
    for declared in manifest.schemes.iter().filter(|declared| !here.contains(&declared.name)) {
        let scheme = Scheme { origin: SchemeOrigin::Capsule, ..declared.clone() };
        scheme.check(known)?;
        known.push(scheme.clone());
        new.push(scheme);
    }
    Ok(new)
}

fn take_files(
    files: &ArchiveFiles,
    manifest: &ExportManifest,
    schemes: &[Scheme],
    gathered: &mut ImportCandidates,
) {
    let mut seen = BTreeSet::new();
    let others = |name: &&String| {
        name.as_str() != MANIFEST && name.split('/').next().is_none_or(|top| top != BLOBS)
    };
    for name in files.keys().filter(others) {
        let uri = match entry_at(name, schemes) {
            Ok(uri) => uri,
            Err(reason) => {
                gathered.skip(name, reason);
                continue;
            }
        };
        seen.insert(uri.clone());
        let known = manifest.entries.get(&uri).cloned();
        let blob = known.as_ref().and_then(|known| known.blob.as_ref());
        let blob_place =
            blob.and_then(|blob| files.get(&format!("{BLOBS}/{}", blob.sha256.as_str())));
        if let (Some(blob), None) = (blob, blob_place) {
            gathered.skip(name, format!("the export does not hold its blob `{}`", blob.sha256));
            continue;
        }
        let (blob, Some(place)) = (blob_place.cloned(), files.get(name).cloned()) else { continue };
        gathered.found.push(ImportCandidate { file: PathBuf::from(name), uri, place, known, blob });
    }
    let mut missing: Vec<&EntryUri> =
        manifest.entries.keys().filter(|uri| !seen.contains(*uri)).collect();
    missing.sort();
    for uri in missing {
        let format = schemes.iter().find(|scheme| scheme.name == uri.scheme());
        let name = path_of(uri, format.map(|scheme| scheme.format).unwrap_or_default());
        gathered.skip(name, "the export names it and does not hold it");
    }
}

/// The address of a file in an export.
fn entry_at(name: &str, schemes: &[Scheme]) -> Result<EntryUri, String> {
    let Some((top, path)) = name.split_once('/') else {
        return Err("entries are in folders that are named like their schemes".to_owned());
    };
    let scheme = scheme::find(schemes, top).map_err(|error| error.to_string())?;
    let ending = format!(".{}", scheme.format.extension());
    let path = path
        .strip_suffix(&ending)
        .ok_or_else(|| format!("`{top}://` takes files that end in `{ending}`"))?;
    EntryUri::new(top, path).map_err(|error| error.to_string())
}

async fn in_folder(folder: &Path, gathered: &mut ImportCandidates) -> StoreResult<ArchiveFiles> {
    let files = files_below(folder, gathered).await?.into_iter().map(|path| {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        (name, ContentLocation::File(path))
    });
    Ok(files.collect())
}

async fn in_tar(source: &Path, gathered: &mut ImportCandidates) -> StoreResult<ArchiveFiles> {
    let failed = StoreError::io(format!("read `{}`", source.display()));
    let path = source.to_owned();
    let work = move || -> io::Result<_> {
        let mut file = fs::File::open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is neither a folder nor an ordinary file"));
        }
        index(&mut io::BufReader::new(&mut file))
    };
    let members = blocking(work).await.flatten().map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => StoreError::invalid("archive", error.to_string()),
        _ => failed(error),
    })?;
    let file = Arc::new(source.to_owned());
    let mut files = ArchiveFiles::new();
    for member in members {
        match (member.kind, files.entry(member.path)) {
            (MemberKind::Folder, _) => {}
            (MemberKind::Other, entry) => {
                gathered.skip(entry.key(), "it is a link or a device, not a file");
            }
            (MemberKind::File, btree_map::Entry::Occupied(entry)) => {
                gathered.skip(entry.key(), "there is a file of this name before it");
            }
            (MemberKind::File, btree_map::Entry::Vacant(entry)) => {
                let (file, start, bytes) = (Arc::clone(&file), member.start, member.bytes);
                entry.insert(ContentLocation::Part { file, start, bytes });
            }
        }
    }
    Ok(files)
}
