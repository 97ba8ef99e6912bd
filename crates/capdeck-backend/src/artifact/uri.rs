//! The name of an artifact, and of a part of it.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use capdeck_definition::CapabilityId;

use super::{ArtifactError, read_error};

const PREFIX: &str = "capdeck://artifacts/";

/// `capdeck://artifacts/<capability>/<call>/<filename>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUri {
    capability: CapabilityId,
    call: String,
    filename: String,
}

/// Which part of an artifact is meant: the query of its URI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ArtifactPart {
    #[default]
    Whole,
    /// `?offset=N&length=N`, in bytes; either may be left out.
    Bytes { offset: u64, length: Option<u64> },
}

impl ArtifactUri {
    /// True for every URI that is meant for the artifact store, well-formed or not.
    pub fn is_meant(uri: &str) -> bool {
        uri.starts_with(PREFIX)
    }

    /// Reads a URI and the part its query names.
    pub fn parse(text: &str) -> Result<(Self, ArtifactPart), ArtifactError> {
        let (uri, query) = match text.split_once('?') {
            Some((uri, query)) => (uri, Some(query)),
            None => (text, None),
        };
        let uri = Self::without_query(uri)
            .ok_or_else(|| ArtifactError::InvalidUri { uri: text.to_owned() })?;
        let part = query.map_or(Ok(ArtifactPart::Whole), ArtifactPart::parse)?;
        Ok((uri, part))
    }

    fn without_query(text: &str) -> Option<Self> {
        let segments: Vec<&str> = text.strip_prefix(PREFIX)?.split('/').collect();
        let [capability, call, filename] = segments.as_slice() else { return None };
        let safe = |segment: &str| is_safe_segment(segment).then(|| segment.to_owned());
        Self::new(CapabilityId::new(capability).ok()?, safe(call)?, safe(filename)?)
    }

    /// The name of a file below the store, if all of it may stand in a URI.
    pub(super) fn new(capability: CapabilityId, call: String, filename: String) -> Option<Self> {
        let is_safe = is_safe_segment(capability.as_str())
            && is_safe_segment(&call)
            && is_safe_segment(&filename);
        is_safe.then_some(Self { capability, call, filename })
    }

    /// Whose result it is.
    pub fn capability(&self) -> &CapabilityId {
        &self.capability
    }

    /// The file's name.
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// The folder of the call below the store's.
    pub(super) fn folder(&self, root: &Path) -> PathBuf {
        root.join(self.capability.as_str()).join(&self.call)
    }

    /// The file below the store, checked to be a plain one that no link leads to.
    pub(super) fn file(&self, root: &Path) -> Result<PathBuf, ArtifactError> {
        let mut path = root.to_owned();
        let segments = [self.capability.as_str(), &self.call, &self.filename];
        for (index, segment) in segments.into_iter().enumerate() {
            path.push(segment);
            // Not following links anywhere on the way keeps a planted one from leading out.
            let facts = fs::symlink_metadata(&path).map_err(|source| read_error(self, source))?;
            let expected = if index < 2 { facts.is_dir() } else { facts.is_file() };
            if !expected {
                return Err(ArtifactError::NotFound { uri: self.to_string() });
            }
        }
        Ok(path)
    }
}

impl fmt::Display for ArtifactUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, call, filename } = self;
        write!(formatter, "{PREFIX}{capability}/{call}/{filename}")
    }
}

impl ArtifactPart {
    fn parse(query: &str) -> Result<Self, ArtifactError> {
        let (mut offset, mut length) = (None, None);
        for member in query.split('&') {
            let (key, value) = member.split_once('=').unwrap_or((member, ""));
            let slot = match key {
                "offset" => &mut offset,
                "length" => &mut length,
                _ => return Err(invalid(format!("`{key}` is no part of an artifact"))),
            };
            if slot.replace(number(key, value)?).is_some() {
                return Err(invalid(format!("`{key}` stands there twice")));
            }
        }
        Ok(Self::Bytes { offset: offset.unwrap_or(0), length })
    }
}

/// Digits and nothing else: no sign, no space.
fn number(key: &str, value: &str) -> Result<u64, ArtifactError> {
    let digits = (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| value.parse().ok());
    digits
        .flatten()
        .ok_or_else(|| invalid(format!("`{key}` must be a whole number from 0 on, not `{value}`")))
}

fn invalid(reason: String) -> ArtifactError {
    ArtifactError::InvalidPart { reason }
}

fn is_safe_segment(segment: &str) -> bool {
    !segment.is_empty()
        && !segment.starts_with('.')
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
