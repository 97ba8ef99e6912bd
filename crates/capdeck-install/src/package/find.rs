//! Which packages a source has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::CapabilityId;

use super::{Package, PackageError, PackageKind, contents::MAIN};

/// A package that a source has, not yet read.
#[derive(Debug, Clone)]
struct Found {
    id: String,
    kind: PackageKind,
    path: PathBuf,
}

/// The packages of a folder: in its `caplets` folder if there is one, else in itself, else itself. With ids, those only.
pub fn find_packages(dir: &Path, ids: &[String]) -> Result<Vec<Package>, PackageError> {
    let inner = dir.join("caplets");
    let place = if is_real_folder(&inner) { inner } else { dir.to_owned() };
    let mut found = list(&place)?;
    if found.is_empty() && place.join(MAIN).is_file() {
        found.extend(itself(&place));
    }
    if found.is_empty() {
        return Err(PackageError::Empty { path: place });
    }
    let chosen: Vec<Found> = if ids.is_empty() {
        found
    } else {
        ids.iter().map(|id| choose(id, &found)).collect::<Result<_, _>>()?
    };
    chosen.iter().map(|found| Package::read(&found.id, found.kind, &found.path)).collect()
}

fn list(dir: &Path) -> Result<Vec<Found>, PackageError> {
    let failed = |source| PackageError::file("read", dir, source);
    let mut found: Vec<Found> = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let facts = fs::symlink_metadata(&path)
            .map_err(|source| PackageError::file("read", &path, source))?;
        let (id, kind) = match name.strip_suffix(".md") {
            Some(stem) if facts.is_file() && declares(&path) => (stem, PackageKind::File),
            _ if facts.is_dir() && path.join(MAIN).is_file() => (name, PackageKind::Directory),
            _ => continue,
        };
        // A name that is no id could not be installed under it.
        if CapabilityId::new(id).is_ok() {
            found.push(Found { id: id.to_owned(), kind, path: path.clone() });
        }
    }
    // A folder wins over a file of the same id, as it does in a deck.
    found.sort_by(|one, other| {
        let is_file = |found: &Found| found.kind == PackageKind::File;
        (&one.id, is_file(one)).cmp(&(&other.id, is_file(other)))
    });
    found.dedup_by(|later, earlier| later.id == earlier.id);
    Ok(found)
}

/// A folder that is one capability, under its own name.
fn itself(dir: &Path) -> Option<Found> {
    let real = dir.canonicalize().ok()?;
    let id = real.file_name()?.to_str()?;
    CapabilityId::new(id).ok()?;
    Some(Found { id: id.to_owned(), kind: PackageKind::Directory, path: dir.to_owned() })
}

fn choose(id: &str, found: &[Found]) -> Result<Found, PackageError> {
    if let Some(one) = found.iter().find(|one| one.id == id) {
        return Ok(one.clone());
    }
    // The unit is the file; its children come with it.
    let parent = id.split_once("__").map(|(parent, _)| parent);
    if let Some(one) = found.iter().find(|one| Some(one.id.as_str()) == parent) {
        return Err(PackageError::Child { child: id.to_owned(), id: one.id.clone() });
    }
    let known = found.iter().take(20).map(|one| one.id.clone()).collect();
    Err(PackageError::NoSuchPackage { id: id.to_owned(), known })
}

/// A README is for people, unless it declares something.
fn declares(path: &Path) -> bool {
    fs::read(path)
        .is_ok_and(|text| text.starts_with(b"---") || text.starts_with(b"\xef\xbb\xbf---"))
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}
