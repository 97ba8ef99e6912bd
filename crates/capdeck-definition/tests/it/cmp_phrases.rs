//! `fixtures/cmp-phrases/`: what people say to CMP tools, and what is selected.

use std::{fs, path::PathBuf};

use capdeck_definition::{
    Backend, CmpCandidate, Deck, DeckRoot, IntentMatch, RootOwner, match_intent,
};
use serde_json::{Map, Value, json};

use crate::folder::Folder;

fn fixture(name: &str) -> String {
    let base = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/cmp-phrases");
    fs::read_to_string(base.join(name)).unwrap()
}

/// The tools of the fixture, installed like others.
fn deck() -> (Folder, Deck) {
    let folder = Folder::with(&[]);
    let tools: Map<String, Value> = serde_json::from_str(&fixture("tools.json")).unwrap();
    for (name, tool) in &tools {
        let manifest = json!({
            "domain": name, "name": name, "summary": tool["summary"], "version": "1.0.0",
        });
        folder.write(&format!("{name}/cmp/manifest.json"), &manifest.to_string());
        let capability = json!({ "intents": tool["intents"] });
        folder.write(&format!("{name}/cmp/capability.json"), &capability.to_string());
    }
    let deck = Deck::read(&[DeckRoot { dir: folder.dir(), owner: RootOwner::CmpTools }]);
    assert_eq!(deck.diagnostics, []);
    (folder, deck)
}

/// The intent that is selected, or `-`.
fn selected(words: &str, deck: &Deck) -> String {
    let candidates = deck.definitions.iter().map(|definition| {
        let Backend::Cmp(tool) = &definition.backend else { panic!("no CMP tool") };
        let capability = definition.id.as_str();
        CmpCandidate { capability, summary: &definition.description, tool }
    });
    let candidates: Vec<CmpCandidate<'_>> = candidates.collect();
    match match_intent(words, &candidates) {
        IntentMatch::One(hit) => match hit.intent {
            Some(intent) => format!("{}.{intent}", hit.capability),
            None => "-".to_owned(),
        },
        _ => "-".to_owned(),
    }
}

struct CorpusReport {
    phrases: usize,
    unselected: usize,
    failures: Vec<String>,
}

fn examine(corpus: &str) -> CorpusReport {
    let (_folder, deck) = deck();
    let mut report = CorpusReport { phrases: 0, unselected: 0, failures: Vec::new() };
    let text = fixture(corpus);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (expected, words) = line.split_once(" | ").unwrap();
        report.phrases += 1;
        report.unselected += usize::from(expected == "-");
        let found = selected(words, &deck);
        let fits = match expected.strip_suffix('?') {
            Some(allowed) => found == allowed || found == "-",
            None => found == expected,
        };
        if !fits {
            report.failures.push(format!("{words}\n    expected {expected}, found {found}"));
        }
    }
    report
}

#[test]
fn phrases_select_what_a_person_means() {
    let CorpusReport { phrases, unselected, failures } = examine("corpus.txt");
    assert!(phrases >= 150 && unselected * 2 >= phrases, "{unselected} of {phrases}");
    assert_eq!(failures.len(), 0, "of {phrases}:\n{}", failures.join("\n"));
}

#[test]
fn phrases_that_the_matcher_was_not_made_with() {
    let CorpusReport { phrases, failures, .. } = examine("held-out.txt");
    // The one that was wrong at first. It selects something that only reads.
    let known = "lösche bitte keine emails\n    expected -, found mail.analyze_emails";
    assert_eq!(failures, [known], "of {phrases}");
}
