//! The environment variables that definitions may refer to. The binary takes the snapshot once and passes it down.

use std::{collections::BTreeMap, fmt, sync::Arc};

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
