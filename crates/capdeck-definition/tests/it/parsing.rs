//! Definitions of all four formats in compact tables: good, odd and bad input, and what becomes of it.
//!
//! Each row is an input and its outcome: the definitions as `id kind`, then what was found as `W:code` and `E:code`. The rows
//! follow the public descriptions of the formats; where Capdeck takes more or less than the reference, the row says why.

mod capabilities;
mod caplets;
mod cmp;
mod configs;

use std::path::{Path, PathBuf};

use capdeck_definition::{Deck, DiagnosticSeverity, SourceFile, SourceFormat, SourceLayer};

/// A name, an input and its outcome.
type Row = (&'static str, &'static str, &'static str);

/// Reads each input by `read` and compares everything at once, so that one run shows all rows that differ.
#[track_caller]
fn check(rows: &[Row], read: impl Fn(&str) -> Deck) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(name, input, expected)| {
            let found = outcome(&read(input));
            (found != *expected)
                .then(|| format!("{name}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn outcome(deck: &Deck) -> String {
    let definitions: Vec<String> = deck
        .definitions
        .iter()
        .map(|one| {
            let state = if one.disabled { " off" } else { "" };
            format!("{} {}{state}", one.id, one.backend.kind().as_str())
        })
        .collect();
    let found: Vec<String> = deck
        .diagnostics
        .iter()
        .map(|one| {
            let letter = match one.severity {
                DiagnosticSeverity::Error => 'E',
                DiagnosticSeverity::Warning => 'W',
            };
            format!("{letter}:{}", one.code)
        })
        .collect();
    let definitions = if definitions.is_empty() { "-".to_owned() } else { definitions.join(", ") };
    match found.as_slice() {
        [] => definitions,
        found => format!("{definitions} | {}", found.join(" ")),
    }
}

fn source(path: &str, layer: SourceLayer, format: SourceFormat, text: String) -> SourceFile {
    SourceFile { path: PathBuf::from(path), layer, format, text: Ok(text) }
}

/// A Caplet file `one.md` of exactly this text.
fn caplet(text: &str) -> Deck {
    let format = SourceFormat::Caplet { id: "one".to_owned() };
    Deck::from_sources(vec![source("/deck/one.md", SourceLayer::UserFile, format, text.to_owned())])
}

/// A Caplet file with a name, a description and this in its frontmatter.
fn front(lines: &str) -> Deck {
    caplet(&format!("---\nname: One\ndescription: A thing to try out.\n{lines}\n---\n# One\n"))
}

fn config(path: &str, text: &str) -> Deck {
    let layer = SourceLayer::UserConfig;
    Deck::from_sources(vec![source(path, layer, SourceFormat::Config, text.to_owned())])
}

fn capability_file(path: &str, text: &str) -> Deck {
    let layer = SourceLayer::ProjectCapabilityFile;
    Deck::from_sources(vec![source(path, layer, SourceFormat::CapabilityFile, text.to_owned())])
}

/// A CMP tool in a folder of its own.
fn cmp_tool(manifest: &str, capability: &str) -> Deck {
    let format = SourceFormat::Cmp(Box::new(capdeck_definition::CmpFiles {
        dir: Path::new("/tools/mail").to_owned(),
        capability_path: PathBuf::from("/tools/mail/cmp/capability.json"),
        capability: Ok(capability.to_owned()),
        bin: None,
    }));
    let path = "/tools/mail/cmp/manifest.json";
    Deck::from_sources(vec![source(path, SourceLayer::Cmp, format, manifest.to_owned())])
}
