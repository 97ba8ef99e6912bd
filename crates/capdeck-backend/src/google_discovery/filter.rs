//! Which methods of a document become tools.

use capdeck_definition::Glob;

/// `includeOperations` and `excludeOperations`.
#[derive(Debug, Clone, Default)]
pub(super) struct GoogleOperationFilter {
    pub(super) include: Vec<String>,
    pub(super) exclude: Vec<String>,
}

impl GoogleOperationFilter {
    /// True when a method is included, by name or because nothing is named, and not excluded.
    pub(super) fn accepts(&self, method: &str) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, method));
        (self.include.is_empty() || is_in(&self.include)) && !is_in(&self.exclude)
    }

    /// The patterns that name none of these methods, with the setting they stand in.
    pub(super) fn unused_patterns<'a>(
        &'a self,
        methods: &'a [String],
    ) -> impl Iterator<Item = (&'static str, &'a str)> {
        let include = self.include.iter().map(|pattern| ("includeOperations", pattern.as_str()));
        let exclude = self.exclude.iter().map(|pattern| ("excludeOperations", pattern.as_str()));
        let is_idle = |pattern: &str| !methods.iter().any(|method| matches(pattern, method));
        include.chain(exclude).filter(move |(_, pattern)| is_idle(pattern))
    }
}

/// `*` stands for one part of a dotted name, or for some of its letters. At the start of a pattern that is shorter than
/// the name it stands for all the parts before.
fn matches(pattern: &str, method: &str) -> bool {
    let (pattern, method) = (parts(pattern.trim()), parts(method));
    let Some(surplus) = method.len().checked_sub(pattern.len()) else { return false };
    if surplus > 0 && pattern.first() != Some(&"*") {
        return false;
    }
    let mut pairs = pattern.iter().zip(method.iter().skip(surplus));
    pairs.all(|(pattern, part)| Glob::new(*pattern).matches(part))
}

fn parts(name: &str) -> Vec<&str> {
    name.split('.').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_parts_of_names() {
        for (pattern, method, expected) in [
            ("drive.files.list", "drive.files.list", true),
            ("drive.files.list", "drive.files.listLabels", false),
            ("drive.files.*", "drive.files.list", true),
            ("drive.files.*", "drive.files.labels.list", false),
            ("drive.*", "drive.files.list", false),
            ("*.list", "drive.files.list", true),
            ("*.files.list", "drive.files.list", true),
            ("*.list", "list", false),
            ("*", "drive.files.list", true),
            ("*.*.list", "drive.files.list", true),
            ("drive.*.list", "drive.files.list", true),
            ("drive.files.get*", "drive.files.getMedia", true),
            ("drive.files.*s", "drive.files.generateIds", true),
            ("drive.files.g*e*s", "drive.files.generateIds", true),
            ("drive.files.g*x*s", "drive.files.generateIds", false),
            (" drive.files.list ", "drive.files.list", true),
            ("", "drive.files.list", false),
        ] {
            assert_eq!(matches(pattern, method), expected, "{pattern} {method}");
        }
    }

    #[test]
    fn exclusion_comes_last_and_idle_patterns_are_told() {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let filter = GoogleOperationFilter {
            include: owned(&["*.list", "a.b.gone"]),
            exclude: owned(&["a.c.*", "x.*"]),
        };
        assert!(filter.accepts("a.b.list"));
        assert!(!filter.accepts("a.c.list"));
        assert!(!filter.accepts("a.b.get"));
        assert!(GoogleOperationFilter::default().accepts("anything"));
        let methods: Vec<String> = owned(&["a.b.list", "a.c.list"]);
        let idle: Vec<_> = filter.unused_patterns(&methods).collect();
        assert_eq!(idle, [("includeOperations", "a.b.gone"), ("excludeOperations", "x.*")]);
    }
}
