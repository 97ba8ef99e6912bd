//! What a package can do on this machine, computed from its definition. Each part is a list of plain texts, so that more of
//! anything is visible as a new line.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use capdeck_definition::{
    Backend, BackendAuth, CliAction, Definition, HttpBlock, HttpMethod, NetworkAccess,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contents::{PackageFiles, hash};

/// Everything a package can do, part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRisk {
    /// Command lines that are run.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub commands: BTreeSet<String>,
    /// Programs and scripts in the package that a command can run, each with the beginning of its hash.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
    /// Hosts that are contacted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// Rights that are asked for.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<String>,
    /// Variables and entries of the vault that are read.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub secrets: BTreeSet<String>,
    /// Tools that say, or do not deny, that they change something.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub mutating: BTreeSet<String>,
    /// Steps of its set-up.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub setup: BTreeSet<String>,
    /// Reach beyond the usual: private networks, other definitions.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub reach: BTreeSet<String>,
}

/// One thing that is new or gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskChange {
    /// The part, as the lock calls it.
    pub part: &'static str,
    pub what: String,
    pub is_new: bool,
}

impl PackageRisk {
    /// The parts with their names, in the order they are shown.
    pub fn parts(&self) -> [(&'static str, &BTreeSet<String>); 8] {
        [
            ("commands", &self.commands),
            ("programs", &self.programs),
            ("hosts", &self.hosts),
            ("scopes", &self.scopes),
            ("secrets", &self.secrets),
            ("mutating", &self.mutating),
            ("setup", &self.setup),
            ("reach", &self.reach),
        ]
    }

    /// What changes from this to another, new things first within each part.
    pub fn changes(&self, next: &Self) -> Vec<RiskChange> {
        let mut changes = Vec::new();
        for ((part, before), (_, after)) in self.parts().into_iter().zip(next.parts()) {
            let change = |what: &String, is_new| RiskChange { part, what: what.clone(), is_new };
            changes.extend(after.difference(before).map(|what| change(what, true)));
            changes.extend(before.difference(after).map(|what| change(what, false)));
        }
        changes
    }

    pub(super) fn assess(
        definitions: &[Arc<Definition>],
        place: &Path,
        files: &PackageFiles,
    ) -> Self {
        let mut risk = Self::default();
        for definition in definitions {
            risk.add(definition, place);
        }
        if !risk.commands.is_empty() || !risk.setup.is_empty() {
            for (name, file) in files {
                if file.is_program || file.content.starts_with(b"#!") || is_code(name) {
                    let alone = PackageFiles::from([(name.clone(), file.clone())]);
                    let digest: String = hash(&alone).chars().take(12).collect();
                    risk.programs.insert(format!("{name} ({digest})"));
                }
            }
        }
        risk
    }

    fn add(&mut self, definition: &Definition, place: &Path) {
        if let Ok(block) = serde_json::to_value(&definition.backend) {
            self.note_references(&block);
        }
        let passed = definition.backend.pass_env().iter();
        self.secrets.extend(passed.map(|name| name.as_str().to_owned()));
        match &definition.backend {
            Backend::Mcp(server) => {
                if let Some(command) = &server.command {
                    self.commands.insert(line(command, &server.args, place));
                }
                self.host(server.url.as_deref());
                self.auth(server.auth.as_ref());
            }
            Backend::OpenApi(api) => {
                self.api(api, [api.spec_url.as_deref(), api.import.base_url.as_deref()]);
            }
            Backend::GoogleDiscovery(api) => {
                self.api(api, [api.discovery_url.as_deref(), api.import.base_url.as_deref()]);
            }
            Backend::GraphQl(api) => {
                self.api(api, [Some(&api.endpoint_url), api.schema_url.as_deref()]);
            }
            Backend::Http(api) => {
                self.api(api, [Some(&api.base_url), None]);
                for (name, action) in &api.actions {
                    if action.method != HttpMethod::Get {
                        self.mutating.insert(format!("{}.{name}", definition.id));
                    }
                }
            }
            Backend::Cli(tools) => {
                for (name, action) in &tools.actions {
                    self.commands.insert(line(
                        &action.program.command,
                        &action.program.args,
                        place,
                    ));
                    if changes_something(action) {
                        self.mutating.insert(format!("{}.{name}", definition.id));
                    }
                }
            }
            Backend::Cmp(tool) => {
                for (name, intent) in &tool.intents {
                    self.commands.insert(intent.command.text().to_owned());
                    if intent.confirm || !intent.idempotent {
                        self.mutating.insert(format!("{}.{name}", definition.id));
                    }
                }
            }
            Backend::Caplets(set) => {
                for path in [&set.config_path, &set.caplets_root].into_iter().flatten() {
                    self.reach.insert(format!("reads definitions from {}", below(path, place)));
                }
            }
            // No package declares them.
            Backend::Capsules => {}
        }
        if let Some(setup) = &definition.setup {
            let steps = setup.commands.iter().chain(&setup.verify);
            self.setup
                .extend(steps.map(|step| line(&step.program.command, &step.program.args, place)));
        }
        if definition.project_bound {
            self.reach.insert("works in the project's folder".to_owned());
        }
    }

    fn host(&mut self, url: Option<&str>) {
        let Some(url) = url else { return };
        // A reference in the place of a host is shown as it is written.
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        self.hosts.insert(host.to_ascii_lowercase());
    }

    fn api(&mut self, api: &impl HttpBlock, addresses: [Option<&str>; 2]) {
        addresses.into_iter().for_each(|address| self.host(address));
        let requests = api.requests();
        if api.outgoing().network == NetworkAccess::Private {
            self.reach.insert("private networks and this machine".to_owned());
        }
        self.auth(Some(&requests.auth));
    }

    fn auth(&mut self, auth: Option<&BackendAuth>) {
        let Some(auth) = auth else { return };
        let Ok(value) = serde_json::to_value(auth) else { return };
        for scope in value.get("scopes").and_then(Value::as_array).into_iter().flatten() {
            self.scopes.extend(scope.as_str().map(str::to_owned));
        }
        if matches!(auth, BackendAuth::OAuth2(_) | BackendAuth::Oidc(_)) {
            self.scopes.insert("signs in as you".to_owned());
        }
    }

    /// `${NAME}`, `$env:NAME` and `$vault:NAME`, in every field.
    fn note_references(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for rest in text.split('$').skip(1) {
                    self.secrets.extend(reference(rest));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note_references(item)),
            Value::Object(members) => {
                members.values().for_each(|member| self.note_references(member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The name that follows a `$`, when it is a reference.
fn reference(rest: &str) -> Option<String> {
    let (text, is_braced) = match rest.strip_prefix('{') {
        Some(inner) => (inner.split_once('}')?.0, true),
        None => (rest, false),
    };
    let (text, place) = match (text.strip_prefix("vault:"), text.strip_prefix("env:")) {
        (Some(entry), _) => (entry, "vault "),
        (None, Some(name)) if !is_braced => (name, ""),
        _ if is_braced => (text, ""),
        _ => return None,
    };
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let name: String = text.chars().take_while(is_name).collect();
    (!name.is_empty()).then(|| format!("{place}{name}"))
}

/// A command changes something unless it says that it only reads.
fn changes_something(action: &CliAction) -> bool {
    let hints = action.annotations.unwrap_or_default();
    hints.destructive_hint == Some(true) || hints.read_only_hint != Some(true)
}

fn line(command: &str, args: &[String], place: &Path) -> String {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    let words = words.map(|word| {
        let word = below(word, place);
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,$~".contains(letter);
        if !word.is_empty() && word.chars().all(is_plain) { word } else { format!("{word:?}") }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A path inside the package, from there: a source may lie anywhere, and its place is no part of what it does.
fn below(text: &str, place: &Path) -> String {
    let folder = if place.is_dir() { place } else { place.parent().unwrap_or(place) };
    match Path::new(text).strip_prefix(folder) {
        Ok(inner) => format!("./{}", inner.display()),
        Err(_) => text.to_owned(),
    }
}

fn is_code(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    ["sh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "lua", "php", "ps1", "exe", "jar", "wasm"]
        .contains(&extension)
}
