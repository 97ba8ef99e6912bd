//! The variables that definitions may refer to: of the environment, which the binary reads once and passes down, and of a
//! project's `.env` file.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A snapshot of environment variables. Cheap to clone; Debug shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvironmentSnapshot(Arc<BTreeMap<String, String>>);

impl EnvironmentSnapshot {
    /// Returns the value of a variable; an empty value counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<Name: Into<String>, Text: Into<String>> FromIterator<(Name, Text)> for EnvironmentSnapshot {
    fn from_iter<Pairs: IntoIterator<Item = (Name, Text)>>(pairs: Pairs) -> Self {
        Self(Arc::new(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
}

impl fmt::Debug for EnvironmentSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

const MAX_BYTES: u64 = 1 << 20;

/// A project's variables by name, and their file. Every value may be a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProjectVariables {
    file: PathBuf,
    values: BTreeMap<String, String>,
}

impl ProjectVariables {
    /// Reads the file; a missing file has no variables.
    pub fn read(file: &Path) -> io::Result<Self> {
        let size = match std::fs::metadata(file) {
            Ok(facts) => facts.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { file: file.to_owned(), ..Self::default() });
            }
            Err(error) => return Err(error),
        };
        if size > MAX_BYTES {
            let message = format!("the file is larger than {MAX_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(Self::parse(&std::fs::read_to_string(file)?, file))
    }

    /// Parses one variable per line: `NAME=value`. A `#` starts a comment only at the start of a line, quotes around
    /// a whole value are removed, and references inside a value are not replaced.
    pub fn parse(text: &str, file: &Path) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let values = text.lines().filter_map(|line| {
            let line = line.trim();
            if line.starts_with('#') {
                return None;
            }
            let (name, value) = line.split_once('=')?;
            let name = name.trim();
            // Shell files have `export` before the name.
            let name = match name.strip_prefix("export") {
                Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
                _ => name,
            };
            (!name.is_empty()).then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
        });
        Self { file: file.to_owned(), values: values.collect() }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns the path of the file, which may not exist.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Debug for ProjectVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProjectVariables").field("file", &self.file).finish_non_exhaustive()
    }
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    // A single quote character is not a pair.
    ['"', '\''].into_iter().find_map(inside).filter(|_| value.len() > 1).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_and_no_values() {
        let environment: EnvironmentSnapshot = [("GH_TOKEN", "canary-1")].into_iter().collect();
        assert_eq!(format!("{environment:?}"), r#"{"GH_TOKEN"}"#);
        assert_eq!(environment.get("GH_TOKEN"), Some("canary-1"));
        assert_eq!(environment.get("OTHER"), None);
    }
}

#[cfg(test)]
mod project_variables_tests {
    use std::path::Path;

    use super::ProjectVariables;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let text = "\u{feff}A=1\r\n  B = two words \n# C=3\nD=\"a # b\"\nE='x\nF=a=b\nexport G=7\nexported=8\n\
                    H=${A}\\n\nI=\nJ\n=K\nL='\nmy-key=9\nA=last\n";
        let variables = ProjectVariables::parse(text, Path::new(".env"));
        let table = [
            ("A", Some("last")),
            ("B", Some("two words")),
            ("C", None),
            ("D", Some("a # b")),
            ("E", Some("'x")),
            ("F", Some("a=b")),
            ("G", Some("7")),
            ("exported", Some("8")),
            ("H", Some("${A}\\n")),
            ("I", Some("")),
            ("J", None),
            ("", None),
            ("L", Some("'")),
            ("my-key", Some("9")),
        ];
        for (name, expected) in table {
            assert_eq!(variables.get(name), expected, "{name}");
        }
        assert!(!format!("{variables:?}").contains("last"));
    }

    #[test]
    fn a_missing_file_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        let variables = ProjectVariables::read(&file).unwrap();
        assert_eq!((variables.get("A"), variables.file()), (None, file.as_path()));
        std::fs::write(&file, [0xff, 0xfe]).unwrap();
        assert!(ProjectVariables::read(&file).is_err());
    }
}
