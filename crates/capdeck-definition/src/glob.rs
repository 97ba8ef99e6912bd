//! A pattern for names: `*` matches any letters, `?` one.

use capdeck_access::NamePattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pattern as written. Upper and lower case differ, as they do in names of tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Glob(#[schemars(length(min = 1, max = 256))] String);

impl Glob {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches its own text only.
    pub fn is_plain(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// Whether the whole name fits. Takes time in proportion to both lengths at worst, for every pattern.
    pub fn matches(&self, name: &str) -> bool {
        NamePattern::new(&self.0).matches(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_take_any_letters_and_question_marks_one() {
        for (pattern, name, expected) in [
            ("git*", "github", true),
            ("git*", "git", true),
            ("git*", "legit", false),
            ("*", "", true),
            ("read_*", "read_file", true),
            ("read_*", "Read_file", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbX", false),
            ("?", "ä", true),
            ("?", "", false),
            ("de?ete", "delete", true),
            ("delete", "delete_all", false),
            ("[ab]", "a", false),
            ("issues/*", "issues/create", true),
            ("*create*", "issues/create-comment", true),
            ("*/list-*", "issues/list-for-repo", true),
            ("GET /repos/*/issues", "GET /repos/{owner}/{repo}/issues", true),
            ("GET *", "POST /repos", false),
            ("tag:pet", "tag:pets", false),
            ("ä*", "äöü", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        let pattern = Glob::new(format!("{}b", "a*".repeat(100)));
        assert!(!pattern.matches(&"a".repeat(10_000)));
    }
}
