//! Relative paths in definitions: they start at the file that names them.

use std::path::{Component, Path, PathBuf};

use super::{BackendDeclaration, DeclarationFile};
use crate::{
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
    reference::holds_reference,
};

/// Resolves an input file or folder. Config files may not climb out of their own folder with `..`.
pub(super) fn resolve_input(
    value: &mut Option<String>,
    key: &str,
    node: &ValueNode,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    let Some(path) = value else { return };
    let climbs = Path::new(path.as_str()).components().any(|part| part == Component::ParentDir)
        || path.split(['/', '\\']).any(|part| part == "..");
    if declaration.declared_in == DeclarationFile::Config && climbs {
        findings.add(
            Diagnostic::error(
                "path-escapes",
                format!("`{key}` may not contain `..` in a config file"),
            )
            .with_fix("use an absolute path, or move the file below the config's folder")
            .at(node.child(key).place),
        );
        return;
    }
    resolve(value, declaration);
}

/// Resolves a path against the file's folder. Absolute paths and paths with a reference stay as they are.
pub(super) fn resolve(value: &mut Option<String>, declaration: &BackendDeclaration<'_>) {
    let Some(path) = value else { return };
    if holds_reference(path) || Path::new(path.as_str()).is_absolute() {
        return;
    }
    let joined: PathBuf = declaration
        .base_dir
        .components()
        .chain(Path::new(path.as_str()).components().filter(|part| *part != Component::CurDir))
        .collect();
    // The folder itself has no name when the file was named without one.
    let joined = if joined.as_os_str().is_empty() { PathBuf::from(".") } else { joined };
    *path = joined.to_string_lossy().into_owned();
}
