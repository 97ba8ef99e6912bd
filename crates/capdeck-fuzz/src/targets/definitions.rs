//! Definition files, read from disk as a deck reads them.

use std::{collections::BTreeSet, fs, path::Path};

use capdeck_definition::{
    Backend, CapabilityId, CmpCandidate, CmpTool, Deck, DeckProject, DeckRoot, Diagnostic,
    DiagnosticSeverity, RootOwner, export_cmp, match_intent,
};
use tempfile::TempDir;

use crate::{FuzzTarget, seeds};

const FIXTURES: &str = "crates/capdeck-definition/fixtures";

const WORDS: &[&str] = &[
    "mcpServer",
    "mcpServers",
    "openapiEndpoint",
    "openapiEndpoints",
    "googleDiscoveryApi",
    "graphqlEndpoint",
    "httpApi",
    "cliTools",
    "capletSet",
    "capletSets",
    "name",
    "description",
    "tags",
    "exposure",
    "direct",
    "progressive",
    "code",
    "search",
    "shadowing",
    "setup",
    "auth",
    "type",
    "bearer",
    "headers",
    "oauth2",
    "token",
    "transport",
    "stdio",
    "http",
    "sse",
    "command",
    "args",
    "env",
    "url",
    "cwd",
    "specPath",
    "specUrl",
    "baseUrl",
    "schemaPath",
    "endpointUrl",
    "discoveryPath",
    "actions",
    "method",
    "path",
    "query",
    "body",
    "inputSchema",
    "outputSchema",
    "required",
    "properties",
    "timeoutMs",
    "maxOutputBytes",
    "annotations",
    "readOnlyHint",
    "tools",
    "allow",
    "deny",
    "policy",
    "rules",
    "effect",
    "ask",
    "pins",
    "chaos",
    "network",
    "rateLimit",
    "retries",
    "projectBinding",
    "runtime",
    "features",
    "disabled",
    "options",
    "serve",
    "limits",
    "oidc",
    "views",
    "artifacts",
    "namespaceAliases",
    "providers",
    "capabilities",
    "servers",
    "skills",
    "hooks",
    "agents",
    "subagents",
    "plugins",
    "requires",
    "exposeAs",
    "security",
    "remote",
    "local",
    "github:",
    "gitlab:",
    "ref",
    "sha256:",
    "visibility",
    "event",
    "matcher",
    "def",
    "cmd",
    "filter",
    "formatter",
    "@a",
    "@a.b",
    "domain",
    "version",
    "binary",
    "wraps",
    "intents",
    "pattern",
    "patterns",
    "params",
    "confirm",
    "destructive",
    "summary",
    "{name}",
    "{{name}}",
    "{{ input.name | json }}",
    "$input",
    "${VAULT:X}",
    "${PROJECT_ROOT}",
    "---\nname: a\n---\n",
    "\n---\n",
];

/// Which files an input becomes.
#[derive(Debug, Clone, Copy)]
enum FileKind {
    Caplet,
    Config,
    Capabilities,
    Cmp,
}

struct DefinitionFile {
    kind: FileKind,
    folder: TempDir,
}

pub(crate) fn caplet() -> Box<dyn FuzzTarget> {
    open(FileKind::Caplet)
}

pub(crate) fn config() -> Box<dyn FuzzTarget> {
    open(FileKind::Config)
}

pub(crate) fn capabilities() -> Box<dyn FuzzTarget> {
    open(FileKind::Capabilities)
}

pub(crate) fn cmp() -> Box<dyn FuzzTarget> {
    open(FileKind::Cmp)
}

fn open(kind: FileKind) -> Box<dyn FuzzTarget> {
    Box::new(DefinitionFile { kind, folder: tempfile::tempdir().unwrap() })
}

/// What is between the two files of a CMP tool in one input.
const SEPARATOR: &[u8] = b"\n=====\n";

impl FuzzTarget for DefinitionFile {
    fn seeds(&self) -> Vec<Vec<u8>> {
        match self.kind {
            FileKind::Caplet => seeds::files(FIXTURES, &[".md"]),
            FileKind::Config => ["valid", "warning", "invalid"]
                .iter()
                .flat_map(|folder| {
                    seeds::files(&format!("{FIXTURES}/{folder}"), &[".json", ".yaml"])
                })
                .collect(),
            FileKind::Capabilities => {
                seeds::files(&format!("{FIXTURES}/capabilities"), &[".json", ".yaml"])
            }
            FileKind::Cmp => seeds::files("crates/capdeck-fuzz/seeds/cmp", &[".txt"]),
        }
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        // Longer than a Caplet may be, so that the limit itself is met.
        140_000
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let root = self.folder.path();
        match self.kind {
            FileKind::Caplet => {
                let file = root.join("any.md");
                fs::write(&file, input).unwrap();
                let deck = read(&[(&file, input)], || user_deck(root));
                assert!(!is_silent(&deck), "the file is passed over without a word");
                label(&deck)
            }
            FileKind::Config => {
                let read_as = |name: &str| {
                    let file = root.join(name);
                    fs::write(&file, input).unwrap();
                    let deck = read(&[(&file, input)], || user_deck(root));
                    fs::remove_file(file).unwrap();
                    label(&deck)
                };
                format!("json {}; yaml {}", read_as("config.json"), read_as("config.yaml"))
            }
            FileKind::Capabilities => {
                let read_as = |name: &str| {
                    let file = root.join(name);
                    fs::write(&file, input).unwrap();
                    let project = DeckProject { dir: root.to_owned(), roots: Vec::new() };
                    let deck = read(&[(&file, input)], || Deck::open(&[], Some(&project)));
                    fs::remove_file(file).unwrap();
                    label(&deck)
                };
                format!(
                    "json {}; yaml {}",
                    read_as("capabilities.json"),
                    read_as("capabilities.yaml")
                )
            }
            FileKind::Cmp => execute_cmp(root, input),
        }
    }
}

fn user_deck(root: &Path) -> Deck {
    Deck::read(&[DeckRoot { dir: root.to_owned(), owner: RootOwner::User }])
}

/// Reads twice, and checks what was said about the files.
fn read(files: &[(&Path, &[u8])], read: impl Fn() -> Deck) -> Deck {
    let deck = read();
    assert_eq!(deck, read(), "reading the same file twice gives two decks");
    for found in &deck.diagnostics {
        check_diagnostic(found, files);
    }
    for definition in &deck.definitions {
        let id = definition.id.as_str();
        assert!(CapabilityId::new(id).is_ok(), "a definition has the invalid id {id:?}");
        serde_json::to_string(&definition.backend).unwrap();
    }
    for quarantined in &deck.quarantined {
        assert!(!quarantined.reason.is_empty(), "{} is left out without a reason", quarantined.id);
    }
    let has_error =
        deck.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error);
    assert!(deck.quarantined.is_empty() || has_error, "something is left out and nothing says so");
    deck
}

fn check_diagnostic(found: &Diagnostic, files: &[(&Path, &[u8])]) {
    assert!(!found.message.is_empty() && !found.code.is_empty(), "{found:?} says nothing");
    // That code means that the schema let through what could not be read afterwards.
    assert_ne!(found.code, "invalid-value", "{found:?}");
    let Some((_, bytes)) = files.iter().find(|(path, _)| *path == found.file) else {
        let folders: Vec<Option<&Path>> = files.iter().map(|(path, _)| path.parent()).collect();
        let is_near = folders.iter().flatten().any(|folder| found.file.starts_with(folder));
        assert!(is_near, "{found:?} is about another file");
        return;
    };
    if found.line == 0 {
        assert_eq!(found.column, 0, "{found:?} has a column and no line");
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    // Editors and the parsers differ in which of these end a line; any of them will do.
    let lines: Vec<&str> = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).collect();
    assert!(found.line as usize <= lines.len(), "{found:?} is below the end of the file");
    let longest = text.split('\n').map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(
        found.column >= 1 && found.column as usize <= longest + 1,
        "{found:?} is beside every line of the file"
    );
}

fn is_silent(deck: &Deck) -> bool {
    deck.definitions.is_empty() && deck.quarantined.is_empty() && deck.diagnostics.is_empty()
}

/// Which kinds of definitions and problems there are.
fn label(deck: &Deck) -> String {
    let kinds: BTreeSet<&str> =
        deck.definitions.iter().map(|definition| definition.backend.kind().as_str()).collect();
    let codes: BTreeSet<&str> = deck.diagnostics.iter().map(|found| found.code.as_str()).collect();
    format!("{kinds:?} {codes:?}")
}

fn execute_cmp(root: &Path, input: &[u8]) -> String {
    let at = input.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (manifest, capability) = match at {
        Some(at) => (&input[..at], &input[at + SEPARATOR.len()..]),
        None => (input, b"{\"intents\":[]}".as_slice()),
    };
    let folder = root.join("cmp");
    fs::create_dir_all(&folder).unwrap();
    let (manifest_path, capability_path) =
        (folder.join("manifest.json"), folder.join("capability.json"));
    fs::write(&manifest_path, manifest).unwrap();
    fs::write(&capability_path, capability).unwrap();
    let files: &[(&Path, &[u8])] = &[(&manifest_path, manifest), (&capability_path, capability)];
    let as_tool = || Deck::read(&[DeckRoot { dir: root.to_owned(), owner: RootOwner::CmpTool }]);
    let deck = read(files, as_tool);
    assert!(!is_silent(&deck), "the tool is passed over without a word");
    for definition in &deck.definitions {
        let Backend::Cmp(tool) = &definition.backend else { panic!("not a CMP tool") };
        // What is written from a tool is that tool.
        let Ok(export) = export_cmp(definition) else { panic!("a CMP tool cannot be exported") };
        fs::write(&manifest_path, export.manifest.to_string()).unwrap();
        fs::write(&capability_path, export.capability.to_string()).unwrap();
        let again = as_tool();
        let same = again
            .definitions
            .first()
            .unwrap_or_else(|| panic!("what was exported cannot be read: {:?}", again.diagnostics));
        let Backend::Cmp(reread) = &same.backend else { panic!("not a CMP tool") };
        assert_eq!(same.id, definition.id);
        // One without a name is named by its place, which changes where an invalid one before it was left out.
        let intents = |tool: &CmpTool| tool.intents.values().cloned().collect::<Vec<_>>();
        assert_eq!(intents(reread), intents(tool), "the export has other intents");
        let (capability, summary) = (definition.id.as_str(), definition.description.as_str());
        let candidates = [CmpCandidate { capability, summary, tool }];
        for phrase in ["", "show disk usage of /tmp", "\u{202e}", "a a a a a a a a a a a a a a"] {
            let matched = match_intent(phrase, &candidates);
            drop(matched);
        }
    }
    label(&deck)
}
