//! Which intent words mean, beside the format's own rules written a second time.

use std::{collections::BTreeSet, sync::LazyLock};

use capdeck_definition::{
    Backend, CmpCandidate, Deck, DeckRoot, IntentMatch, RootOwner, match_intent,
};

use crate::folder::Folder;

const TOOLS: [(&str, &str, &str); 4] = [
    (
        "mail",
        "Mail management: triage, delete, restore",
        r#"[
            {"patterns": ["check email", "unread count", "inbox status", "how many emails"], "command": "m summary"},
            {"patterns": ["analyze emails", "get email data", "list recent emails"], "command": "m analyze"},
            {"patterns": ["delete emails", "trash messages", "clean inbox"], "command": "m delete"},
            {"patterns": ["restore emails", "undo delete", "undelete"], "command": "m restore"},
            {"patterns": ["list accounts", "which email accounts"], "command": "m accounts"}
        ]"#,
    ),
    (
        "repo",
        "Source history: branches, commits, tags",
        r#"[
            {"patterns": ["repository status", "what changed", "re:^status( of)? (the )?repo"], "command": "r status"},
            {"patterns": ["list branches", "show all branches"], "command": "r branches"},
            {"patterns": ["create branch", "re:new branch (called|named) [a-z]+"], "command": "r branch"},
            {"patterns": ["commit changes", "save my work to history"], "command": "r commit"}
        ]"#,
    ),
    (
        "disk",
        "Storage: usage, large files, clean up",
        r#"[
            {"patterns": ["disk usage", "how full is the disk"], "command": "d usage"},
            {"patterns": ["find large files", "biggest files"], "command": "d large"},
            {"patterns": ["clean up", "free space"], "command": "d clean"},
            {"patterns": ["delete files", "remove files"], "command": "d rm"}
        ]"#,
    ),
    (
        "notes",
        "Personal notes: write, find, delete",
        r#"[
            {"patterns": ["find notes", "search my notes"], "command": "n find"},
            {"patterns": ["write a note", "take a note"], "command": "n write"},
            {"patterns": ["delete notes"], "command": "n delete"},
            {"patterns": ["undelete"], "command": "n restore"}
        ]"#,
    ),
];

/// Words, and what they mean: `tool.intent`, `a | b` for a tie, `(tool)` when only summaries fit, `-` for nothing.
const PHRASES: &[(&str, &str)] = &[
    ("check email", "mail.check_email"),
    ("Check Email", "mail.check_email"),
    ("  check email", "mail.check_email"),
    ("unread count", "mail.check_email"),
    ("inbox status", "mail.check_email"),
    ("how many emails", "mail.check_email"),
    ("how many emails do I have", "mail.check_email"),
    ("analyze emails", "mail.analyze_emails"),
    ("get email data", "mail.analyze_emails"),
    ("list recent emails", "mail.analyze_emails"),
    ("delete emails", "mail.delete_emails"),
    ("please delete emails", "mail.delete_emails"),
    ("DELETE EMAILS NOW", "mail.delete_emails"),
    ("trash messages", "mail.delete_emails"),
    ("trash the messages of today", "mail.delete_emails"),
    ("clean inbox", "mail.delete_emails"),
    ("restore emails", "mail.restore_emails"),
    ("undo delete", "mail.restore_emails"),
    ("undelete", "mail.restore_emails | notes.undelete"),
    ("list accounts", "mail.list_accounts"),
    ("which email accounts", "mail.list_accounts"),
    ("accounts", "mail.list_accounts"),
    ("email", "mail.list_accounts"),
    ("emails", "mail.analyze_emails"),
    ("inbox", "mail.check_email"),
    ("delete", "disk.delete_files | mail.delete_emails | notes.delete_notes"),
    ("delete everything", "disk.delete_files | mail.delete_emails | notes.delete_notes"),
    ("repository status", "repo.repository_status"),
    ("status of the repo", "repo.repository_status"),
    ("status repo", "repo.repository_status"),
    ("what changed", "repo.repository_status"),
    ("what changed today", "repo.repository_status"),
    ("list branches", "repo.list_branches"),
    ("show all branches", "repo.list_branches"),
    ("branches", "repo.list_branches"),
    ("list all my branches", "repo.list_branches"),
    ("create branch", "repo.create_branch"),
    ("new branch called topic", "repo.create_branch"),
    ("make a new branch named fix", "repo.create_branch"),
    ("new branch", "repo.create_branch"),
    ("commit changes", "repo.commit_changes"),
    ("save my work", "repo.commit_changes"),
    ("save my work to history", "repo.commit_changes"),
    ("history", "repo.commit_changes"),
    ("disk usage", "disk.disk_usage"),
    ("how full is the disk", "disk.disk_usage"),
    ("disk", "disk.disk_usage"),
    ("full disk", "disk.disk_usage"),
    ("find large files", "disk.find_large_files"),
    ("biggest files", "disk.find_large_files"),
    ("large", "disk.find_large_files"),
    ("find files", "disk.find_large_files"),
    ("find the biggest files", "disk.find_large_files"),
    ("clean up", "disk.clean_up"),
    ("clean", "disk.clean_up | mail.delete_emails"),
    ("clean up the inbox", "disk.clean_up"),
    ("free space", "disk.clean_up"),
    ("delete files", "disk.delete_files"),
    ("remove files", "disk.delete_files"),
    ("delete notes", "notes.delete_notes"),
    ("delete my notes", "notes.delete_notes"),
    ("find notes", "notes.find_notes"),
    ("search my notes", "notes.find_notes"),
    ("notes", "notes.find_notes"),
    ("write a note", "notes.write_a_note"),
    ("take a note", "notes.write_a_note"),
    ("take note of this", "notes.write_a_note"),
    ("storage", "(disk)"),
    ("triage", "(mail)"),
    ("personal", "(notes)"),
    ("weather tomorrow", "-"),
    ("play music", "-"),
    ("up", "disk.clean_up"),
    ("a", "mail.list_accounts"),
    ("xyz", "-"),
    ("list", "mail.analyze_emails"),
    ("re:^status", "repo.repository_status"),
    ("größe der platte", "-"),
    ("status (repo)", "repo.repository_status"),
    ("find", "disk.find_large_files"),
];

/// Every intent that scores 1.0, by the format's rules; else every tool that scores 0.5.
fn reference(words: &str) -> BTreeSet<String> {
    let said = words.to_lowercase().trim().to_owned();
    let gap = LazyLock::force(&GAP);
    let split = |text: &str| gap.split(text).map(str::to_owned).collect::<Vec<String>>();
    let said_words = split(&said);
    let mut full = BTreeSet::new();
    let mut half = BTreeSet::new();
    for (tool, summary, intents) in TOOLS {
        let summary_words = split(&summary.to_lowercase());
        if said_words.iter().any(|word| word.len() > 2 && summary_words.contains(word)) {
            half.insert(format!("({tool})"));
        }
        let intents: serde_json::Value = serde_json::from_str(intents).unwrap();
        for intent in intents.as_array().unwrap() {
            let patterns = intent["patterns"].as_array().unwrap();
            let name = patterns[0].as_str().unwrap().replace(' ', "_");
            let hit = patterns.iter().map(|pattern| pattern.as_str().unwrap()).any(|pattern| {
                if let Some(expression) = pattern.strip_prefix("re:") {
                    let expression = format!("(?i){expression}");
                    return regex::Regex::new(&expression).unwrap().is_match(&said);
                }
                let pattern = pattern.to_lowercase();
                if said.contains(&pattern) || pattern.contains(&said) {
                    return true;
                }
                let wanted = split(&pattern);
                let found =
                    wanted.iter().filter(|word| word.len() > 2 && said_words.contains(word));
                found.count() as f64 >= wanted.len() as f64 * 0.5
            });
            if hit {
                full.insert(format!("{tool}.{name}"));
            }
        }
    }
    if full.is_empty() { half } else { full }
}

/// Separates words: JavaScript's `\W+`.
static GAP: LazyLock<regex::Regex> = LazyLock::new(|| regex::Regex::new("[^A-Za-z0-9_]+").unwrap());

fn deck() -> (Folder, Deck) {
    let folder = Folder::with(&[]);
    for (name, summary, intents) in TOOLS {
        let manifest = serde_json::json!({
            "domain": name, "name": name, "summary": summary, "version": "1.0.0",
        });
        folder.write(&format!("{name}/cmp/manifest.json"), &manifest.to_string());
        let capability = format!("{{\"intents\": {intents}}}");
        folder.write(&format!("{name}/cmp/capability.json"), &capability);
    }
    let deck = Deck::read(&[DeckRoot { dir: folder.dir(), owner: RootOwner::CmpTools }]);
    assert_eq!(deck.diagnostics, []);
    (folder, deck)
}

fn ours(words: &str, deck: &Deck) -> BTreeSet<String> {
    let candidates: Vec<CmpCandidate<'_>> = deck
        .definitions
        .iter()
        .map(|definition| {
            let Backend::Cmp(tool) = &definition.backend else { panic!("no CMP tool") };
            CmpCandidate {
                capability: definition.id.as_str(),
                summary: &definition.description,
                tool,
            }
        })
        .collect();
    let hits = match match_intent(words, &candidates) {
        IntentMatch::Nothing => Vec::new(),
        IntentMatch::One(hit) => vec![hit],
        IntentMatch::Ambiguous(hits) => {
            assert!(hits.len() > 1 || hits[0].doubt.is_some());
            hits
        }
    };
    let name = |hit: &capdeck_definition::IntentHit| match &hit.intent {
        Some(intent) => format!("{}.{intent}", hit.capability),
        None => format!("({})", hit.capability),
    };
    hits.iter().map(name).collect()
}

fn text(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "-".to_owned();
    }
    names.iter().cloned().collect::<Vec<_>>().join(" | ")
}

#[test]
fn words_mean_what_the_format_says_and_ties_are_ranked() {
    let (_folder, deck) = deck();
    assert!(PHRASES.len() >= 60, "{} phrases", PHRASES.len());
    let mut ranked = 0;
    let mut failures = Vec::new();
    for (words, expected) in PHRASES {
        let (ours, reference) = (ours(words, &deck), reference(words));
        if text(&ours) != *expected {
            failures.push(format!("{words}: {}; by the rules: {}", text(&ours), text(&reference)));
        }
        if reference.len() <= 1 {
            assert_eq!(ours, reference, "{words}");
        } else {
            assert!(ours.is_subset(&reference), "{words}: {ours:?} {reference:?}");
            ranked += usize::from(ours.len() == 1);
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(ranked >= 10, "{ranked} ties were ranked");
}

#[test]
fn words_of_all_kinds_agree_with_the_rules() {
    // Pairs and single words of everything that is written anywhere, in both orders.
    let (_folder, deck) = deck();
    let mut vocabulary = BTreeSet::new();
    for (_, summary, intents) in TOOLS {
        for word in format!("{summary} {intents}").split(|letter: char| !letter.is_alphanumeric()) {
            vocabulary.insert(word.to_lowercase());
        }
    }
    vocabulary.remove("");
    let phrases = vocabulary.iter().flat_map(|one| {
        let pair = move |other: &String| format!("{one} {other}");
        vocabulary.iter().step_by(30).map(pair).chain([one.to_uppercase(), format!("{one}!")])
    });
    let mut single = 0;
    for words in phrases {
        let (ours, reference) = (ours(&words, &deck), reference(&words));
        if reference.len() <= 1 {
            single += 1;
            assert_eq!(ours, reference, "{words}");
        } else {
            assert!(!ours.is_empty() && ours.is_subset(&reference), "{words}");
        }
    }
    assert!(single > 100, "{single}");
}

#[test]
fn nothing_said_means_nothing() {
    let (_folder, deck) = deck();
    for words in ["", "   ", "\n"] {
        assert_eq!(ours(words, &deck), BTreeSet::new());
    }
}
