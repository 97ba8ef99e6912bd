//! The members of a `capletSet`: another folder or config file, loaded below the set's id.

use std::path::{Path, PathBuf};

use crate::{
    CapletSet, Definition, Diagnostic, RootOwner, SourceFormat, SourceLayer,
    deck::LoadScope,
    load::{FolderLayers, LoadedFiles},
    pattern::holds_reference,
};

/// Sets inside sets inside sets; deeper is a mistake.
const MAX_DEPTH: usize = 8;
/// Files that all sets of a deck may bring in. Sets that nest each other multiply, so this must end somewhere.
const MAX_FILES: usize = 10_000;

/// Reads the files of a set, or says why it cannot be used. `file_count` is how many the sets of the deck have.
pub(crate) fn load_members(
    set: &CapletSet,
    definition: &Definition,
    scope: &LoadScope,
    file_count: &mut usize,
) -> Result<(Vec<LoadedFiles>, LoadScope), Diagnostic> {
    if scope.depth >= MAX_DEPTH {
        let message = format!("sets nest more than {MAX_DEPTH} levels deep");
        return Err(Diagnostic::error("set-too-deep", message, "flatten the sets"));
    }
    let layers = member_layers(scope.owner);
    let mut chain = scope.chain.clone();
    let mut loaded = Vec::new();
    if let Some(path) = &set.config_path {
        chain.push(real_path(path, "configPath", &scope.chain)?);
        loaded.push(LoadedFiles::one(Path::new(path), layers.config, SourceFormat::Config));
    }
    if let Some(path) = &set.caplets_root {
        chain.push(real_path(path, "capletsRoot", &scope.chain)?);
        loaded.push(LoadedFiles::caplets(Path::new(path), layers));
    }
    let files: usize = loaded.iter().map(|loaded| loaded.files.len()).sum();
    if *file_count + files > MAX_FILES {
        let message = format!("the sets of this deck hold more than {MAX_FILES} files");
        return Err(Diagnostic::error("set-too-large", message, "nest fewer sets"));
    }
    *file_count += files;
    let inner = LoadScope {
        owner: scope.owner,
        member_of: Some(definition.id.clone()),
        depth: scope.depth + 1,
        chain,
        base: scope.base.clone(),
    };
    Ok((loaded, inner))
}

/// What a project's set brings in needs the same trust as the project, so it stays in the project's layers.
fn member_layers(owner: RootOwner) -> FolderLayers {
    match owner {
        RootOwner::User => {
            FolderLayers { config: SourceLayer::SetConfig, file: SourceLayer::SetFile }
        }
        RootOwner::Project | RootOwner::CmpTools | RootOwner::CmpTool => owner.layers(),
    }
}

fn real_path(path: &str, key: &str, chain: &[PathBuf]) -> Result<PathBuf, Diagnostic> {
    if holds_reference(path) {
        return Err(Diagnostic::error(
            "unresolved-path",
            format!("`{key}` holds a reference, but sets are read before references are resolved"),
            "write the path out",
        ));
    }
    let (what, fits): (&str, fn(&Path) -> bool) = match key {
        "configPath" => ("file", Path::is_file),
        _ => ("folder", Path::is_dir),
    };
    let real = Path::new(path).canonicalize().ok().filter(|real| fits(real));
    let real = real.ok_or_else(|| {
        let message = format!("`{key}` names no {what}: `{path}`");
        Diagnostic::error("missing-path", message, "create it, or correct the path")
    })?;
    if chain.contains(&real) {
        let message = format!("`{key}` leads back to where this set is nested: `{path}`");
        let fix = "point the set at a folder that does not contain it";
        return Err(Diagnostic::error("cyclic-set", message, fix));
    }
    Ok(real)
}
