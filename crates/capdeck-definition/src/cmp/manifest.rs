//! `manifest.json`: what a tool is.

use super::{check_keys, read_shape};
use crate::{
    diagnostic::{FileFindings, TextPosition},
    document::ValueNode,
    pattern,
    schema::CMP_MANIFEST,
    shape::cmp_files::ManifestFile,
};

/// A manifest as read.
pub(super) struct CmpManifest {
    pub(super) file: ManifestFile,
    /// Where the name stands.
    pub(super) place: TextPosition,
    /// The text without white space.
    pub(super) text: String,
}

/// The manifest. `None` means the findings say why it cannot be used.
pub(super) fn read(text: &str, findings: &mut FileFindings) -> Option<CmpManifest> {
    let (manifest, root): (ManifestFile, ValueNode) = read_shape(text, &CMP_MANIFEST, findings)?;
    check_keys(&root, &CMP_MANIFEST.keys(), findings);
    if manifest.summary.contains(['\n', '\r']) {
        findings.at(root.child("summary").place).error(
            "not-one-line",
            "the summary has more than one line",
            "say it in one line of at most 100 characters",
        );
    }
    if !is_version(&manifest.version) {
        findings.at(root.child("version").place).error(
            "bad-version",
            format!("`{}` is no version", manifest.version),
            "write three numbers, such as `1.0.0`",
        );
    }
    if pattern::id_from(&manifest.name).is_empty() {
        findings.at(root.child("name").place).error(
            "bad-id",
            format!("no id can be made of `{}`", manifest.name),
            "name the tool with letters, digits, `_` or `-`",
        );
    }
    if manifest.adapter == Some(true) && manifest.wraps.is_none() {
        findings.at(root.key_place("adapter")).warning(
            "missing-key",
            "an adapter does not say which program it describes",
            "add `wraps` with the program's name",
        );
    }
    let place = root.child("name").place;
    let text = root.to_json().to_string();
    findings.first_error_since(0).is_none().then_some(CmpManifest { file: manifest, place, text })
}

/// Semantic versioning: three numbers, then perhaps a pre-release and build metadata.
fn is_version(text: &str) -> bool {
    let (text, build) =
        text.split_once('+').map_or((text, None), |(text, rest)| (text, Some(rest)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(number)
        && pre.is_none_or(|pre| pre.split('.').all(identifier))
        && build.is_none_or(|build| build.split('.').all(identifier))
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn versions_are_semantic() {
        for good in ["0.0.0", "1.20.3", "1.0.0-rc.1", "1.0.0+build.5", "1.0.0-a-b+c"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.x", "1.0.0-", "1.0.0-a..b"]
        {
            assert!(!is_version(bad), "{bad}");
        }
    }
}
