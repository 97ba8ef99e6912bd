//! What the documents show is what happens.

use std::{fs, path::Path};

use capdeck_test::TestDirs;

use crate::{capdeck, run};

/// The transcripts of the README are run in order in one fresh deck; what they print must be what is
/// written there. With `CAPDECK_UPDATE_DOCS=1` it is written there.
#[test]
fn the_readme_shows_real_output() {
    let path = document("README.md");
    let written = fs::read_to_string(&path).unwrap();
    let dirs = TestDirs::new();
    let actual = replay(&dirs, &written);
    #[expect(clippy::disallowed_methods, reason = "the switch of this test, not of the product")]
    if std::env::var_os("CAPDECK_UPDATE_DOCS").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap();
    assert!(actual.contains("$ capdeck"), "the README has transcripts");
    assert_eq!(current, actual, "README.md is old; run this test with CAPDECK_UPDATE_DOCS=1");
}

#[test]
fn every_example_of_the_guide_is_a_sound_capability() {
    let text = fs::read_to_string(document("docs/guide/caplet-files.md")).unwrap();
    let examples: Vec<&str> = fenced(&text, "caplet");
    assert!(examples.len() >= 6, "{}", examples.len());
    for (index, example) in examples.iter().enumerate() {
        let dirs = TestDirs::new();
        dirs.write("config/example.md", example);
        let finished = run(&dirs, &["validate"]);
        assert_eq!(finished.code, Some(0), "example {index}:\n{example}\n{}", finished.stderr);
        assert!(!finished.stderr.contains("warning"), "example {index}: {}", finished.stderr);
    }
}

fn document(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The contents of all fenced blocks of one kind.
fn fenced<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("```{kind}\n");
    text.split(&open).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The text with the output of every `$ capdeck …` line of its console blocks as it is now.
fn replay(dirs: &TestDirs, text: &str) -> String {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" if inside => inside = false,
            _ if inside => {
                let Some(command) = line.strip_prefix("$ capdeck ") else { continue };
                lines.push(line.to_owned());
                let finished = capdeck(dirs).args(words(command)).run();
                let shown = format!("{}{}", finished.stdout, finished.stderr)
                    .replace(dirs.config().to_str().unwrap(), "~/.config/capdeck")
                    .replace(dirs.root().to_str().unwrap(), "~");
                lines.extend(shown.lines().map(|line| line.trim_end().to_owned()));
                continue;
            }
            _ => {}
        }
        lines.push(line.to_owned());
    }
    lines.join("\n") + "\n"
}

/// Splits a command line the way a shell does, as far as the README needs it: blanks and quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
