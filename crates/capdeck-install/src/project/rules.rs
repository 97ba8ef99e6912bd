//! Rules: a file each where an agent reads such files, else a block of its instructions. No agent gets one twice.

use std::{collections::BTreeSet, path::Path};

use capdeck_definition::capability_file::{RuleConflicts, RuleVisibility, is_safe_path};
use serde_json::{Map, Value, json};

use super::{
    InstallProblem,
    blocks::MarkerBlock,
    compose::FileComposer,
    content::{RuleContent, is_for},
    desired_files::OwnFile,
    pins::PinSection,
};
use crate::{
    frontmatter::{MarkdownFrontmatter, render_frontmatter},
    provider::{AgentProvider, RuleFiles, RuleHeader},
};

/// The instruction file that agents look for in every folder.
const FOLDER_INSTRUCTIONS: &str = "AGENTS.md";

/// Keys of other agents that mean the files a rule is about.
const GLOB_KEYS: [&str; 4] = ["globs", "paths", "applyTo", "appliesTo"];

impl FileComposer<'_> {
    pub(super) fn add_rules(&mut self) {
        for rule in &self.content.rules {
            let meant: Vec<&AgentProvider> = self
                .providers
                .iter()
                .copied()
                .filter(|provider| is_for(rule.providers.as_ref(), provider.id))
                .collect();
            let mut folded: BTreeSet<&str> = BTreeSet::new();
            for provider in &meant {
                match (&provider.rules, provider.instructions) {
                    (Some(_), _) => {}
                    (None, Some(file)) => {
                        if self.may_fold(rule, file) {
                            folded.insert(file);
                        }
                    }
                    (None, None) => self.files.problems.push(InstallProblem::warning(
                        "no-rules",
                        provider.id,
                        format!("this agent reads no rules, so it does not get `{}`", rule.id),
                    )),
                }
            }
            for provider in &meant {
                let reads_it_already =
                    provider.instructions.is_some_and(|file| folded.contains(file));
                if let Some(files) = &provider.rules
                    && !reads_it_already
                {
                    let path = format!("{}/{}{}", files.folder, rule.id, files.ending);
                    self.own(
                        &path,
                        OwnFile::text(rule_file(rule, files), PinSection::Rule.about(&rule.id)),
                    );
                }
            }
            let id = format!("rule:{}", rule.id);
            for file in folded {
                let folders = own_folders(self.project, rule, file);
                if folders.is_empty() {
                    self.blocks(file, vec![MarkerBlock::new(&id, &folded_text(rule))]);
                }
                for folder in folders {
                    let body = MarkdownFrontmatter::parse(&rule.text).body.trim();
                    let block = MarkerBlock::new(&id, body);
                    self.blocks(&format!("{folder}/{file}"), vec![block]);
                }
            }
        }
    }

    /// Whether a rule may go into a file that agents read which it is not for.
    fn may_fold(&mut self, rule: &RuleContent, file: &str) -> bool {
        let reads = |provider: &&&AgentProvider| provider.instructions == Some(file);
        let mut others: Vec<&str> = self
            .providers
            .iter()
            .filter(reads)
            .filter(|provider| !is_for(rule.providers.as_ref(), provider.id))
            .map(|provider| provider.id)
            .collect();
        others.dedup();
        if others.is_empty() {
            return true;
        }
        let is_strict = rule.visibility == Some(RuleVisibility::Strict);
        let outcome = if is_strict { "so it is left out there" } else { "so they see it too" };
        let others = others.join(", ");
        let message = format!("`{file}` is also read by {others}, which it is not for, {outcome}");
        let problem = match self.content.rule_conflicts {
            RuleConflicts::Error => {
                InstallProblem::error("rule-conflict", PinSection::Rule.about(&rule.id), message)
            }
            RuleConflicts::Warn => {
                InstallProblem::warning("rule-conflict", PinSection::Rule.about(&rule.id), message)
            }
        };
        let hint = "widen its `providers`, or set its `visibility` to `best-effort` or `strict`";
        let problem = problem.with_hint(hint);
        if !self.files.problems.contains(&problem) {
            self.files.problems.push(problem);
        }
        !is_strict
    }
}

/// The folders a folded rule is about, where it is about nothing else: `AGENTS.md` counts for the folder it is in. A folder
/// that is not there yet has nothing to read it for.
fn own_folders<'a>(project: &Path, rule: &'a RuleContent, file: &str) -> Vec<&'a str> {
    if file != FOLDER_INSTRUCTIONS || rule.always_apply == Some(true) {
        return Vec::new();
    }
    let folders = rule.applies_to.iter().map(|glob| folder_of(glob));
    let folders: Option<BTreeSet<&str>> = folders.collect();
    let folders = folders.unwrap_or_default();
    let are_there = folders.iter().all(|folder| project.join(folder).is_dir());
    if are_there { folders.into_iter().collect() } else { Vec::new() }
}

/// The folder that a glob means all files of.
fn folder_of(glob: &str) -> Option<&str> {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let folder = ["/**/*", "/**", "/"].iter().find_map(|end| glob.strip_suffix(end))?;
    let is_plain = is_safe_path(folder) && !folder.contains(['*', '?', '[', '{', '!', '\\']);
    is_plain.then_some(folder)
}

/// The text of a rule's own file.
fn rule_file(rule: &RuleContent, files: &RuleFiles) -> String {
    let source = MarkdownFrontmatter::parse(&rule.text);
    let mut fields = source.fields;
    let ours = header(rule, files.header);
    let says_globs = ours.keys().any(|key| GLOB_KEYS.contains(&key.as_str()));
    let is_said = |key: &str| ours.contains_key(key) || says_globs && GLOB_KEYS.contains(&key);
    fields.retain(|key, _| !is_said(key));
    let mut all = ours;
    all.extend(fields);
    let mut text = render_frontmatter(&all, source.body);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn header(rule: &RuleContent, kind: RuleHeader) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    let globs = &rule.applies_to;
    let always = rule.always_apply.unwrap_or(globs.is_empty());
    match kind {
        RuleHeader::Nothing => {}
        RuleHeader::Paths => {
            if !globs.is_empty() {
                put("paths", json!(globs));
            }
        }
        RuleHeader::ApplyTo => {
            let all = if globs.is_empty() || always { "**".to_owned() } else { globs.join(",") };
            put("applyTo", json!(all));
        }
        RuleHeader::Globs | RuleHeader::Trigger => {
            if let Some(description) = &rule.description {
                put("description", json!(description));
            }
            if !globs.is_empty() {
                put("globs", json!(globs));
            }
            if kind == RuleHeader::Globs {
                put("alwaysApply", json!(always));
            } else {
                let trigger = match (always, globs.is_empty()) {
                    (true, _) => "always_on",
                    (false, false) => "glob",
                    (false, true) => "model_decision",
                };
                put("trigger", json!(trigger));
            }
        }
    }
    fields
}

/// The text of a rule's block. What a header would say is said in words.
fn folded_text(rule: &RuleContent) -> String {
    let body = MarkdownFrontmatter::parse(&rule.text).body.trim();
    if rule.applies_to.is_empty() {
        return body.to_owned();
    }
    let globs: Vec<String> = rule.applies_to.iter().map(|glob| format!("`{glob}`")).collect();
    format!("For files that match {}:\n\n{body}", globs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::folder_of;

    #[test]
    fn globs_that_mean_a_whole_folder() {
        for (glob, folder) in [
            ("src/**", Some("src")),
            ("./src/api/**/*", Some("src/api")),
            ("docs/", Some("docs")),
            ("**/*.rs", None),
            ("src/*", None),
            ("src/**/*.rs", None),
            ("s*c/**", None),
            ("../other/**", None),
            ("/etc/**", None),
            ("/**", None),
        ] {
            assert_eq!(folder_of(glob), folder, "{glob}");
        }
    }
}
