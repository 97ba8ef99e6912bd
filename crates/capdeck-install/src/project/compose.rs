//! From content to files: what each agent's places shall hold.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    AgentEndpoints,
    blocks::MarkerBlock,
    content::{InstallContent, PluginCopy},
    desired_files::{DesiredFiles, DocumentPart, OwnFile, format_of, place_in},
    manifest::ProjectState,
};
use crate::{
    edit::{ConfigDocument, FileFormat, keys},
    provider::AgentProvider,
};

/// The file for instructions when no agent has one of its own.
const DEFAULT_INSTRUCTIONS: &str = "AGENTS.md";

/// The folder of a project's own deck.
const DECK: &str = ".capdeck";

/// What is to be written for which agents, and the files so far.
pub(super) struct FileComposer<'a> {
    pub(super) project: &'a Path,
    pub(super) state: &'a ProjectState,
    pub(super) content: &'a InstallContent,
    pub(super) endpoints: &'a AgentEndpoints,
    pub(super) providers: &'a [&'static AgentProvider],
    pub(super) files: DesiredFiles,
}

impl FileComposer<'_> {
    pub(super) fn compose(mut self) -> DesiredFiles {
        self.add_skills();
        self.add_instructions();
        self.add_rules();
        self.add_gemini_context();
        self.add_hooks();
        self.add_subagents();
        self.add_entries();
        self.add_plugins();
        self.files
    }

    pub(super) fn own(&mut self, relative: &str, file: OwnFile) {
        if let Some(place) = self.place(relative) {
            self.files.add_own(place, file);
        }
    }

    pub(super) fn blocks(&mut self, relative: &str, blocks: Vec<MarkerBlock>) {
        if let Some(place) = self.place(relative) {
            self.files.add_blocks(place, blocks);
        }
    }

    pub(super) fn part(&mut self, relative: &str, part: DocumentPart) {
        if let Some(place) = self.place(relative) {
            self.files.add_part(place, format_of(relative), part);
        }
    }

    fn place(&mut self, relative: &str) -> Option<PathBuf> {
        place_in(self.project, relative).map_err(|problem| self.files.refuse(problem)).ok()
    }

    /// Gemini reads `GEMINI.md` alone until its settings name another file. A setting of the person's that names ours
    /// stays.
    fn add_gemini_context(&mut self) {
        let gemini = self.providers.iter().find(|provider| provider.id == "gemini-cli");
        let Some((file, mcp)) = gemini.and_then(|one| one.instructions.zip(one.mcp.as_ref()))
        else {
            return;
        };
        let is_it = |place: &PathBuf| place.file_name().is_some_and(|name| name == file);
        if !self.files.shared.keys().any(is_it) {
            return;
        }
        let value = json!([file, "GEMINI.md"]);
        let path = ["context", "fileName"];
        let text = fs::read_to_string(self.project.join(mcp.path())).unwrap_or_default();
        let document = ConfigDocument::parse(&text, FileFormat::Json).ok();
        let current = document.as_ref().and_then(|document| document.get(&keys(&path)));
        let names_it = match current {
            Some(Value::String(name)) => name == file,
            Some(Value::Array(names)) => names.iter().any(|name| name == file),
            _ => false,
        };
        if !names_it || current == Some(&value) {
            let keys = path.map(str::to_owned).to_vec();
            self.part(mcp.path(), DocumentPart::Entry { keys, value });
        }
    }

    /// What plugins run: copies of their files, and their servers as definitions of the project's deck.
    fn add_plugins(&mut self) {
        for PluginCopy { id, dir, files } in &self.content.plugin_copies {
            for file in files {
                let own = OwnFile::text(file.content.clone(), format!("plugin `{id}`"));
                let own = OwnFile { is_program: file.is_program, ..own };
                self.files.add_own(dir.join(&file.path), own);
            }
        }
        for server in &self.content.server_definitions {
            let own = OwnFile::text(server.text.clone(), format!("server `{}`", server.id));
            self.own(&format!("{DECK}/{}.md", server.id), own);
        }
    }

    fn add_skills(&mut self) {
        for provider in self.providers {
            for skill in &self.content.skills {
                let folder = format!("{}/{}", provider.skills, skill.id);
                for file in &skill.files {
                    let own = OwnFile {
                        content: file.content.clone(),
                        is_program: file.is_program,
                        is_private: false,
                        part_of: format!("skill `{}`", skill.id),
                        unit: place_in(self.project, &folder).ok(),
                    };
                    self.own(&format!("{folder}/{}", file.path), own);
                }
            }
        }
    }

    fn add_instructions(&mut self) {
        if self.content.instructions.is_empty() {
            return;
        }
        let mut files: Vec<&str> =
            self.providers.iter().filter_map(|provider| provider.instructions).collect();
        files.sort_unstable();
        files.dedup();
        if files.is_empty() {
            files.push(DEFAULT_INSTRUCTIONS);
        }
        for file in files {
            self.blocks(file, self.content.instructions.clone());
        }
    }
}
