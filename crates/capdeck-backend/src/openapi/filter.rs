//! `includeOperations` and `excludeOperations`: which operations become tools.

use capdeck_definition::{Glob, OpenApiEndpoint};

/// Patterns with `*` for any text and `?` for one character.
///
/// Each is compared with the operation's id, with `METHOD /path`, and with `tag:NAME` for each of its tags.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationFilter {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl OperationFilter {
    pub(super) fn new(block: &OpenApiEndpoint) -> Self {
        Self {
            include: block.include_operations.clone(),
            exclude: block.exclude_operations.clone(),
        }
    }

    /// True when an operation with these names is wanted. Nothing to include means all.
    pub(super) fn matches_any<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> bool {
        let any = |patterns: &[String]| {
            patterns.iter().any(|pattern| names.clone().any(|name| matches(pattern, name)))
        };
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    /// Patterns that an author wrote and that met nothing, which is nearly always a slip.
    pub(super) fn unused_patterns<'a>(&'a self, names: &[Vec<String>]) -> Vec<&'a str> {
        let meets = |pattern: &&String| names.iter().flatten().any(|name| matches(pattern, name));
        let patterns = self.include.iter().chain(&self.exclude);
        patterns.filter(|pattern| !meets(pattern)).map(String::as_str).collect()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    Glob::new(pattern.trim()).matches(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_comes_first_then_exclude() {
        let filter = OperationFilter {
            include: vec!["issues/*".to_owned(), "tag:users".to_owned()],
            exclude: vec!["*/delete".to_owned(), "DELETE *".to_owned(), "nothing".to_owned()],
        };
        let wants = |names: &[&str]| filter.matches_any(names.iter().copied());
        assert!(wants(&["issues/get", "GET /issues/{id}"]));
        assert!(!wants(&["issues/delete", "POST /issues/{id}"]));
        assert!(!wants(&["pulls/get", "GET /pulls/{id}"]));
        assert!(wants(&["whoami", "GET /me", "tag:users"]));
        assert!(!wants(&["forget", "DELETE /me", "tag:users"]));
        assert!(OperationFilter::default().matches_any(["anything"].into_iter()));
        let all = [
            vec!["issues/delete".to_owned(), "DELETE /i".to_owned()],
            vec!["tag:users".to_owned()],
        ];
        assert_eq!(filter.unused_patterns(&all), ["nothing"]);
    }
}
