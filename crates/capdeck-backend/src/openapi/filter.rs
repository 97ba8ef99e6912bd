//! `includeOperations` and `excludeOperations`: which operations become tools.

use capdeck_definition::OpenApiEndpoint;

/// Patterns with `*` for any text and `?` for one character.
///
/// Each is compared with the operation's id, with `METHOD /path`, and with `tag:NAME` for each of its tags.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Filter {
    pub(super) fn new(block: &OpenApiEndpoint) -> Self {
        Self {
            include: block.include_operations.clone(),
            exclude: block.exclude_operations.clone(),
        }
    }

    /// True when an operation with these names is wanted. Nothing to include means all.
    pub(super) fn wants<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> bool {
        let any = |patterns: &[String]| {
            patterns.iter().any(|pattern| names.clone().any(|name| matches(pattern.trim(), name)))
        };
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    /// Patterns that an author wrote and that met nothing, which is nearly always a slip.
    pub(super) fn unmet<'a>(&'a self, names: &[Vec<String>]) -> Vec<&'a str> {
        let meets =
            |pattern: &&String| names.iter().flatten().any(|name| matches(pattern.trim(), name));
        let patterns = self.include.iter().chain(&self.exclude);
        patterns.filter(|pattern| !meets(pattern)).map(String::as_str).collect()
    }
}

/// Matches in time proportional to the product of the lengths at worst: a star is only tried again at the last one.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut position) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while position < text.len() {
        match pattern.get(at) {
            Some('*') => {
                last_star = Some((at, position));
                at += 1;
            }
            Some('?') => {
                at += 1;
                position += 1;
            }
            Some(letter) if text.get(position) == Some(letter) => {
                at += 1;
                position += 1;
            }
            _ => match last_star {
                Some((star, taken)) => {
                    last_star = Some((star, taken + 1));
                    at = star + 1;
                    position = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("issues/*", "issues/create", true),
            ("*", "", true),
            ("*create*", "issues/create-comment", true),
            ("*/list-*", "issues/list-for-repo", true),
            ("GET /repos/*/issues", "GET /repos/{owner}/{repo}/issues", true),
            ("GET *", "POST /repos", false),
            ("tag:pets", "tag:pets", true),
            ("tag:pet", "tag:pets", false),
            ("get?ser", "getUser", true),
            ("a*b*c", "a-b-b", false),
            ("ä*", "äöü", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn include_comes_first_then_exclude() {
        let filter = Filter {
            include: vec!["issues/*".to_owned(), "tag:users".to_owned()],
            exclude: vec!["*/delete".to_owned(), "DELETE *".to_owned(), "nothing".to_owned()],
        };
        let wants = |names: &[&str]| filter.wants(names.iter().copied());
        assert!(wants(&["issues/get", "GET /issues/{id}"]));
        assert!(!wants(&["issues/delete", "POST /issues/{id}"]));
        assert!(!wants(&["pulls/get", "GET /pulls/{id}"]));
        assert!(wants(&["whoami", "GET /me", "tag:users"]));
        assert!(!wants(&["forget", "DELETE /me", "tag:users"]));
        assert!(Filter::default().wants(["anything"].into_iter()));
        let all = [
            vec!["issues/delete".to_owned(), "DELETE /i".to_owned()],
            vec!["tag:users".to_owned()],
        ];
        assert_eq!(filter.unmet(&all), ["nothing"]);
    }
}
