//! Skills as files: what a `SKILL.md` with each of them says.
//!
//! Clients compare such a file with a digest they were given before, so the same entry always gives the same bytes. It has
//! its bands like everything that is read, without an age, which would change.

use std::collections::HashSet;

use capdeck_storage::sha256_hex;
use serde_json::{Map, Value, json};

use super::{AuditNote, CapsuleHandle, ScopedStore, prompts::split_head};
use crate::{
    AnchorReport, Entry, ProvenanceFrame, StoreError, StoreResult, service::*, trust::one_line,
};

const MAX_NAME: usize = 64;

impl CapsuleHandle {
    /// All skills that the caller reaches.
    pub async fn skills(&self, _: SkillsRequest) -> StoreResult<SkillsResponse> {
        let work = |entries: ScopedStore| async move {
            let found = find_skills(&entries).await?.into_iter().map(|found| found.skill);
            Ok(SkillsResponse { capsule: entries.id(), skills: found.collect() })
        };
        self.audited("skill.list", work, AuditNote::plain).await
    }

    pub async fn skill(&self, request: SkillRequest) -> StoreResult<SkillResponse> {
        let SkillRequest { name } = request;
        let work = |entries: ScopedStore| async move {
            let mut found = find_skills(&entries).await?.into_iter();
            let unknown = || format!("there is no skill `{}`", one_line(&name));
            found
                .find(|found| found.skill.name == name)
                .ok_or_else(|| StoreError::invalid("skill", unknown()))
        };
        self.audited("skill.read", work, AuditNote::plain).await
    }
}

async fn find_skills(entries: &ScopedStore) -> StoreResult<Vec<SkillResponse>> {
    let (read, mut taken) = (entries.read_all("skills".to_owned()).await?, HashSet::new());
    Ok(read.into_iter().map(|entry| skill(entries.id(), entry, &mut taken)).collect())
}

fn skill(capsule: String, mut entry: Entry, taken: &mut HashSet<String>) -> SkillResponse {
    let plain = plain_name(entry.meta.uri.path());
    let counted = (2..).map(|number| format!("{plain}-{number}"));
    let name =
        std::iter::once(plain.clone()).chain(counted).find(|name| taken.insert(name.clone()));
    let name = name.unwrap_or_default();
    let (head, body) = split_head(&entry.body);
    let mut frontmatter: Map<String, Value> =
        head.and_then(|head| serde_saphyr::from_str(head).ok()).unwrap_or_default();
    let described = frontmatter.get("description").and_then(Value::as_str).map(one_line);
    let described = described.filter(|text| !text.is_empty());
    let title = || one_line(entry.meta.display_title());
    frontmatter.insert("description".to_owned(), json!(described.unwrap_or_else(title)));
    frontmatter.insert("name".to_owned(), json!(name));
    entry.body = body.to_owned();
    let anchors = AnchorReport::for_entry(&entry.meta, None);
    let banded = ProvenanceFrame { entry: &entry, anchors: &anchors, now: None }.render();
    // JSON is YAML, and has no line that could end the head.
    let lines = frontmatter.iter().map(|(key, value)| format!("{}: {value}\n", json!(key)));
    let text = format!("---\n{}---\n{banded}", lines.collect::<String>());
    let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
    let (uri, size) = (entry.meta.uri, text.len());
    SkillResponse { capsule, skill: SkillInfo { name, uri, frontmatter, digest, size }, text }
}

/// A path as the name of a skill.
fn plain_name(path: &str) -> String {
    let mut name = String::new();
    for letter in path.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    name.truncate(MAX_NAME - 4);
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names_that_skills_may_have() {
        assert_eq!(plain_name("review-pr"), "review-pr");
        assert_eq!(plain_name("Team/Review_PR.v2-"), "team-review-pr-v2");
        assert!(plain_name(&"a-".repeat(100)).len() <= 60);
    }
}
