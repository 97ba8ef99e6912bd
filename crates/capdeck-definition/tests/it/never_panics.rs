//! Reading a file with any content ends with a deck.

use std::sync::OnceLock;

use capdeck_definition::{Deck, SourceFile, SourceFormat, SourceLayer};
use proptest::prelude::*;

use crate::fixtures::files;

fn read(text: String, name: &str) -> Deck {
    let format = match name {
        _ if name.ends_with(".md") => SourceFormat::Caplet { id: "any".to_owned() },
        _ if name.starts_with("capabilities") => SourceFormat::CapabilityFile,
        _ => SourceFormat::Config,
    };
    Deck::from_sources(vec![SourceFile {
        path: name.into(),
        layer: SourceLayer::UserFile,
        format,
        text: Ok(text),
    }])
}

/// Every fixture that is short enough to be worth mutating.
fn seeds() -> &'static [(String, String)] {
    static SEEDS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        ["valid", "warning", "invalid", "capabilities/valid", "capabilities/broken"]
            .into_iter()
            .flat_map(|folder| files(folder).into_iter().map(move |path| (folder, path)))
            .filter(|(_, path)| path.is_file())
            .map(|(folder, path)| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let name = match folder.split_once('/') {
                    Some((kind, _)) => format!("{kind}-{name}"),
                    None => name,
                };
                (name, std::fs::read_to_string(path).unwrap())
            })
            .filter(|(_, text)| text.len() < 8_000)
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_text(text in any::<String>(), fenced in any::<bool>()) {
        let text = if fenced { format!("---\n{text}\n---\n") } else { text };
        for name in ["any.md", "config.json", "config.yaml", "capabilities.yaml", "capabilities.json"] {
            let deck = read(text.clone(), name);
            prop_assert!(deck.definitions.is_empty());
        }
    }

    #[test]
    fn a_changed_fixture(
        seed in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..6, "[\\PC\n\t]{0,3}"), 1..4),
    ) {
        let (name, text) = seed.get(seeds());
        let mut chars: Vec<char> = text.chars().collect();
        for (at, length, insert) in cuts {
            let start = at.index(chars.len() + 1);
            let end = (start + length).min(chars.len());
            chars.splice(start..end, insert.chars());
        }
        let deck = read(chars.into_iter().collect(), name);
        for found in &deck.diagnostics {
            // That code means that the schema let through what serde could not take.
            prop_assert_ne!(&found.code, "invalid-value");
        }
    }
}
