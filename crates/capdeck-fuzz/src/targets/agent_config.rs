//! Configuration files of agents: what is read from them, and that an edit that is taken back gives the same bytes.
//!
//! The first line of an input names the agent, the rest is its file.

use std::{fs, path::PathBuf};

use capdeck_install::{
    AgentClient, ClientEntryChange, ClientEntryRecords, ClientEntryTarget, ClientFolders,
    ClientInputs, ClientServerEntry, ConnectError, DocumentStep, EntryPresence, LaunchTarget,
    OverwritePolicy, import_server, keys, plan_connect, plan_disconnect, presence,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{FuzzTarget, seeds};

const NAME: &str = "capdeck";
/// A key of another program.
const OTHER_KEY: &str = "zz-other";

struct AgentConfig {
    folder: TempDir,
    count: usize,
}

/// What the files of one agent are edited with.
struct AgentConfigEditor {
    target: ClientEntryTarget,
    records: ClientEntryRecords,
    entry: Value,
    /// The file before any edit.
    before: Vec<u8>,
}

pub(crate) fn agent_config() -> Box<dyn FuzzTarget> {
    Box::new(AgentConfig { folder: tempfile::tempdir().unwrap(), count: 0 })
}

impl FuzzTarget for AgentConfig {
    fn seeds(&self) -> Vec<Vec<u8>> {
        let golden = seeds::tree("tests/connect/golden");
        let mut seeds = seeds::files("crates/capdeck-fuzz/seeds/agent-config", &[".txt"]);
        for client in AgentClient::all() {
            let Ok(files) = fs::read_dir(golden.join(client.id)) else { continue };
            let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
            files.sort();
            for file in files {
                seeds.push([client.id.as_bytes(), b"\n", &fs::read(file).unwrap()].concat());
            }
        }
        seeds
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        8 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let (first, text) = match input.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&input[..end], &input[end + 1..]),
            None => (&b""[..], input),
        };
        let client = std::str::from_utf8(first).ok().and_then(AgentClient::find);
        let client =
            client.unwrap_or_else(|| &AgentClient::all()[input.len() % AgentClient::all().len()]);
        self.count += 1;
        let home = self.folder.path().join(self.count.to_string());
        let editor = AgentConfigEditor::new(client, &home, text);
        let outcome = editor.check();
        fs::remove_dir_all(&home).unwrap();
        format!("{:?} {outcome}", client.format)
    }
}

impl AgentConfigEditor {
    fn new(client: &'static AgentClient, home: &std::path::Path, text: &[u8]) -> Self {
        let folders = ClientFolders {
            home: home.to_owned(),
            config: home.join(".config"),
            application_data: home.join(".config"),
            project: Some(home.join("project")),
            search_path: Vec::new(),
        };
        fs::create_dir_all(home.join("project")).unwrap();
        let scope = client.scopes()[0];
        let target = ClientEntryTarget::new(client, scope, NAME, &folders).unwrap();
        fs::create_dir_all(target.file.parent().unwrap()).unwrap();
        fs::write(&target.file, text).unwrap();
        let (command, args) = ("capdeck".to_owned(), vec!["serve".to_owned()]);
        let entry = client.entry(NAME, &LaunchTarget::Program { command, args });
        Self {
            target,
            records: ClientEntryRecords::new(&home.join("state")),
            entry,
            before: text.to_vec(),
        }
    }

    fn check(&self) -> String {
        let document = match self.target.document() {
            Ok(document) => document,
            Err(error) => {
                let refused = plan_connect(
                    &self.target,
                    &self.entry,
                    &[],
                    OverwritePolicy::Overwrite,
                    &self.records,
                );
                assert!(refused.is_err(), "an unreadable file is edited");
                return kind_of(&error);
            }
        };
        assert_eq!(document.text().as_bytes(), self.before, "the text is not the file's");
        let servers = self.target.client.servers(&document);
        let taken = servers
            .iter()
            .filter(|server| import_server(server, &ClientInputs::default()).is_ok())
            .count();
        // An entry that leads to Capdeck is ours even if another program wrote it, so taking it back leads to a file without it.
        if presence(&self.target, &self.records).unwrap() == EntryPresence::Ours {
            self.disconnect();
            let left = self.target.client.servers(&self.target.document().unwrap());
            assert_eq!(left, other_servers(&servers), "another entry changed");
            return format!("{} servers, {taken} taken, ours", servers.len().min(4));
        }
        let connected = self.check_connection(&servers);
        let replaced = self.check_takeover(&servers);
        format!("{} servers, {taken} taken, {connected}, {replaced}", servers.len().min(4))
    }

    /// Connects, does it again, and takes it back.
    fn check_connection(&self, servers: &[ClientServerEntry]) -> String {
        let plan = match plan_connect(
            &self.target,
            &self.entry,
            &[],
            OverwritePolicy::Keep,
            &self.records,
        ) {
            Ok(plan) => plan,
            Err(error) => {
                self.assert_unchanged();
                return kind_of(&error);
            }
        };
        plan.diff();
        plan.apply(&self.records).unwrap();
        if plan.change == ClientEntryChange::None {
            self.assert_unchanged();
            return "there already".to_owned();
        }
        assert_eq!(presence(&self.target, &self.records).unwrap(), EntryPresence::Ours);
        let now = self.target.client.servers(&self.target.document().unwrap());
        assert_eq!(other_servers(&now), other_servers(servers), "another entry changed");
        let again =
            plan_connect(&self.target, &self.entry, &[], OverwritePolicy::Keep, &self.records)
                .unwrap();
        assert_eq!(again.change, ClientEntryChange::None);
        let ours = fs::read(&self.target.file).unwrap();
        self.disconnect();
        self.assert_unchanged();
        let edited = self.check_foreign_edit(&ours, servers);
        format!("{:?}, {edited}", plan.change)
    }

    /// Another program changes the file while the entry is in it; taking the entry back leaves that change.
    fn check_foreign_edit(&self, ours: &[u8], servers: &[ClientServerEntry]) -> &'static str {
        plan_connect(&self.target, &self.entry, &[], OverwritePolicy::Keep, &self.records)
            .unwrap()
            .apply(&self.records)
            .unwrap();
        assert_eq!(fs::read(&self.target.file).unwrap(), ours, "the same edit gives another text");
        let mut document = self.target.document().unwrap();
        let key: Vec<DocumentStep> = keys(&[OTHER_KEY]);
        let Ok(true) = document.set(&key, json!(7)) else {
            self.disconnect();
            return "no other edit";
        };
        fs::write(&self.target.file, document.text()).unwrap();
        if plan_disconnect(&self.target, OverwritePolicy::Keep, &self.records)
            .and_then(|plan| plan.apply(&self.records))
            .is_err()
        {
            fs::write(&self.target.file, &self.before).unwrap();
            return "not taken back";
        }
        let left = self.target.document().unwrap();
        assert_eq!(left.get(&key), Some(&json!(7)), "the edit of another program is lost");
        assert_eq!(self.target.client.servers(&left), servers, "another entry changed");
        fs::write(&self.target.file, &self.before).unwrap();
        "taken back"
    }

    /// Puts the entry in the place of all others, and takes that back.
    fn check_takeover(&self, servers: &[ClientServerEntry]) -> String {
        let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        let (target, records) = (&self.target, &self.records);
        match plan_connect(target, &self.entry, &names, OverwritePolicy::Overwrite, records) {
            Ok(plan) => {
                plan.apply(records).unwrap();
                if plan.change != ClientEntryChange::None {
                    self.disconnect();
                }
                self.assert_unchanged();
                format!("{:?}", plan.change)
            }
            Err(error) => {
                self.assert_unchanged();
                kind_of(&error)
            }
        }
    }

    fn disconnect(&self) {
        let plan = plan_disconnect(&self.target, OverwritePolicy::Keep, &self.records).unwrap();
        assert_eq!(plan.change, ClientEntryChange::Remove);
        plan.apply(&self.records).unwrap();
    }

    fn assert_unchanged(&self) {
        let now = fs::read(&self.target.file).unwrap();
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(now == self.before, "{:?} was {:?}", shown(&now), shown(&self.before));
    }
}

fn other_servers(servers: &[ClientServerEntry]) -> Vec<ClientServerEntry> {
    servers.iter().filter(|server| server.name != NAME).cloned().collect()
}

/// The kind of an error, without what differs from run to run.
fn kind_of(error: &ConnectError) -> String {
    let inner = match error {
        ConnectError::Unreadable { source, .. } => source.message.clone(),
        ConnectError::Uneditable { source, .. } => format!("{source:?}"),
        _ => String::new(),
    };
    let kind = format!("{error:?}");
    let kind = kind.split([' ', '(', '{']).next().unwrap_or_default();
    let letters = inner.chars().filter(|letter| letter.is_ascii_alphabetic() || *letter == ' ');
    format!("{kind} {}", letters.take(40).collect::<String>())
}

const WORDS: &[&str] = &[
    "cursor\n",
    "codex\n",
    "goose\n",
    "opencode\n",
    "claude-code\n",
    "zed\n",
    "vscode\n",
    "\"mcpServers\": {",
    "\"servers\": {",
    "\"context_servers\": {",
    "\"mcp\": {",
    "[mcp_servers.capdeck]\n",
    "[mcp_servers]\n",
    "[[mcp_servers]]\n",
    "mcp_servers = {}\n",
    "mcp_servers.capdeck = {}\n",
    "extensions:\n",
    "extensions: {}\n",
    "  capdeck:\n",
    "capdeck",
    "\"capdeck\": {}",
    "\"command\": \"capdeck\"",
    "command = \"capdeck\"\n",
    "command: capdeck\n",
    "cmd: x\n",
    "args",
    "env",
    "url",
    "headers",
    "type",
    "enabled",
    "disabled",
    "${env:TOKEN}",
    "${input:x}",
    "Bearer sk-live-0123456789abcdef",
    "https://user:secret@host.example/?key=1",
    "// note\n",
    "/* note */",
    "# note\n",
    "\u{feff}",
    "\r\n",
    "\t",
    "  ",
    "{}",
    "[]",
    "null",
    ",",
    ",}",
    "}",
    "{",
    "\"\\u0000\"",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!str ",
    "|\n  ",
    ">-\n  ",
    "---\n",
    "...\n",
    "'''",
    "\"\"\"\n",
    "1979-05-27T07:32:00Z",
    "inf",
    "0x1F",
    "? x\n: y\n",
    "é",
];
