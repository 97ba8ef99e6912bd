//! The URI of an artifact, and of a part of it.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use capdeck_definition::CapabilityId;
use percent_encoding::percent_decode_str;

use super::{ArtifactError, read_error};

const PREFIX: &str = "capdeck://artifacts/";

/// `capdeck://artifacts/<capability>/<call>/<filename>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUri {
    capability: CapabilityId,
    call: String,
    filename: String,
}

/// The part of an artifact: the query of its URI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ArtifactPart {
    #[default]
    Whole,
    /// `?offset=N&length=N`, in bytes; either is optional.
    Bytes { offset: u64, length: Option<u64> },
    /// `?at=POINTER&from=N&count=N`: items of the list, or characters of the text, at a pointer in a JSON document;
    /// all are optional.
    Place { at: String, from: u64, count: Option<u64> },
}

impl ArtifactUri {
    /// Returns whether a URI has the form of an artifact URI, valid or not.
    pub fn is_meant(uri: &str) -> bool {
        uri.starts_with(PREFIX)
    }

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

    pub(super) fn new(capability: CapabilityId, call: String, filename: String) -> Option<Self> {
        let is_safe = is_safe_segment(capability.as_str())
            && is_safe_segment(&call)
            && is_safe_segment(&filename);
        is_safe.then_some(Self { capability, call, filename })
    }

    pub fn capability(&self) -> &CapabilityId {
        &self.capability
    }

    pub fn filename(&self) -> &str {
        &self.filename
    }

    pub(super) fn folder(&self, root: &Path) -> PathBuf {
        root.join(self.capability.as_str()).join(&self.call)
    }

    /// Returns the file below the store after checking that it is a plain file without links in its path.
    pub(super) fn file(&self, root: &Path) -> Result<PathBuf, ArtifactError> {
        let mut path = root.to_owned();
        let segments = [self.capability.as_str(), &self.call, &self.filename];
        for (index, segment) in segments.into_iter().enumerate() {
            path.push(segment);
            // A planted link anywhere in the path could lead out of the store.
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
        let mut members: BTreeMap<&str, &str> = BTreeMap::new();
        for member in query.split('&') {
            let (key, value) = member.split_once('=').unwrap_or((member, ""));
            if !["offset", "length", "at", "from", "count"].contains(&key) {
                return Err(invalid(format!("`{key}` is not a parameter of an artifact URI")));
            }
            if members.insert(key, value).is_some() {
                return Err(invalid(format!("`{key}` is given twice")));
            }
        }
        let is_place = ["at", "from", "count"].iter().any(|key| members.contains_key(key));
        let is_range = ["offset", "length"].iter().any(|key| members.contains_key(key));
        let number = |key: &str| members.get(key).map(|value| number(key, value)).transpose();
        match (is_place, is_range) {
            (true, true) => Err(invalid("a part is bytes or a place, not both".to_owned())),
            (true, false) => {
                let at = members.get("at").copied().unwrap_or_default();
                let at = percent_decode_str(at)
                    .decode_utf8()
                    .map_err(|_| invalid(format!("`at` is no text: `{at}`")))?;
                if !at.is_empty() && !at.starts_with('/') {
                    return Err(invalid(format!("`at` must start with `/`, not `{at}`")));
                }
                let (from, count) = (number("from")?.unwrap_or(0), number("count")?);
                Ok(Self::Place { at: at.into_owned(), from, count })
            }
            (false, _) => Ok(Self::Bytes {
                offset: number("offset")?.unwrap_or(0),
                length: number("length")?,
            }),
        }
    }
}

/// Only digits: no sign, no space.
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
