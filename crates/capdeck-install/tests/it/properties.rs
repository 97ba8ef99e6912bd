//! What holds for every file: an edit changes what it says it changes, and can be taken back.

use capdeck_install::{Document, FileFormat, Splice, keys};
use proptest::prelude::*;
use serde_json::json;

use crate::generated::{json_file, toml_file, yaml_file};

/// Adds an entry, and takes it out by the record of the change and by its name.
fn check(text: &str, format: FileFormat) -> Result<(), TestCaseError> {
    let before = Document::parse(text, format)
        .map_err(|error| TestCaseError::fail(format!("generated text is broken: {error}")))?;
    prop_assert_eq!(before.text(), text);
    let path = keys(&["servers", "capdeck"]);
    let entry = json!({ "command": "/opt/deck", "args": ["serve", "--project", "a b"], "env": {} });
    let mut document = before.clone();
    prop_assert!(
        document
            .set(&path, entry.clone())
            .map_err(|error| TestCaseError::fail(error.to_string()))?
    );
    prop_assert_eq!(document.get(&path), Some(&entry));

    let after = document.text();
    prop_assert_eq!(Splice::between(text, &after).undo(&after), Some(text.to_owned()));
    let lost =
        text.lines().find(|line| line.trim().starts_with('#') && !after.contains(line.trim()));
    prop_assert_eq!(lost, None);

    prop_assert_eq!(
        document.set(&path, entry).map_err(|error| TestCaseError::fail(error.to_string()))?,
        false
    );
    prop_assert!(document.remove(&path).map_err(|error| TestCaseError::fail(error.to_string()))?);
    if before.get(&keys(&["servers"])).is_some_and(|servers| !servers.is_null()) {
        prop_assert_eq!(document.value(), before.value());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json(text in json_file("servers")) {
        check(&text, FileFormat::Json)?;
    }

    #[test]
    fn toml(text in toml_file("servers")) {
        check(&text, FileFormat::Toml)?;
    }

    #[test]
    fn yaml(text in yaml_file("servers")) {
        check(&text, FileFormat::Yaml)?;
    }

    #[test]
    fn no_text_breaks_a_parser(text in "[ \\n\\[\\]{}\",:#/*a=&|>'-]{0,40}") {
        for format in [FileFormat::Json, FileFormat::Toml, FileFormat::Yaml] {
            if let Ok(mut document) = Document::parse(&text, format) {
                // Whether the edit is possible is another matter.
                let _tried = document.set(&keys(&["servers", "capdeck"]), json!({ "a": 1 }));
            }
        }
    }
}
