//! The skills extension: each entry of `skills://` as a folder with one file.

use serde_json::{Value, json};

use super::{CapsuleSection, EntryCatalog, EntryNaming, SKILL_PREFIX, resources::BANDED_MIME_TYPE};
use crate::capsules::{CapsuleError, CapsuleErrorCode, SkillInfo, SkillRequest, SkillsRequest};

/// What every address of a skill begins with.
const SCHEME: &str = "skill://";

/// The file of a skill.
const FILE: &str = "/SKILL.md";

impl EntryCatalog<'_> {
    /// All skills: `{uri, frontmatter, resources}`.
    pub async fn skills(&self) -> Result<Vec<Value>, CapsuleError> {
        let sections = self.named_sections().await?;
        let responses = self.ask_each(sections, SkillsRequest).await?;
        let skills = responses.iter().flat_map(|(section, response)| {
            response.skills.iter().map(|skill| skill_item(section, skill))
        });
        Ok(skills.collect())
    }

    /// True when an address can be that of a skill's file here.
    pub fn is_skill_file(&self, uri: &str) -> bool {
        self.skill_place(uri).is_some()
    }

    /// What `resources/read` answers with for the file of a skill.
    pub async fn read_skill(&self, uri: &str) -> Result<Value, CapsuleError> {
        let unknown = || {
            let uri = capdeck_capsule::one_line(uri);
            CapsuleError::new(CapsuleErrorCode::NotFound, format!("there is no skill `{uri}`"))
        };
        let (capsule, name) = self.skill_place(uri).ok_or_else(unknown)?;
        let skill = self.ask(capsule, SkillRequest { name: name.to_owned() }).await;
        let skill = skill.map_err(|error| match error.code {
            CapsuleErrorCode::InvalidInput => unknown(),
            _ => error,
        })?;
        Ok(
            json!({ "contents": [{ "uri": uri, "mimeType": BANDED_MIME_TYPE, "text": skill.text }] }),
        )
    }

    /// What is in the folder of a skill: its file. `None` when there is no such skill.
    pub async fn skill_folder(&self, uri: &str) -> Result<Option<Vec<Value>>, CapsuleError> {
        let file = format!("{}{FILE}", uri.trim_end_matches('/'));
        let is_there = self.skills().await?.iter().any(|skill| skill["uri"] == file.as_str());
        let listed =
            || vec![json!({ "uri": file, "name": "SKILL.md", "mimeType": BANDED_MIME_TYPE })];
        Ok(is_there.then(listed))
    }

    /// The capsule and the name of the skill whose file an address is.
    fn skill_place<'n>(&'n self, uri: &'n str) -> Option<(Option<&'n str>, &'n str)> {
        match self.naming {
            EntryNaming::Own(capsule) => {
                Some((capsule, uri.strip_prefix(SCHEME)?.strip_suffix(FILE)?))
            }
            EntryNaming::Deck { .. } => {
                let rest = uri.strip_prefix(SKILL_PREFIX)?.strip_suffix(FILE)?;
                let (id, name) = rest.split_once('/')?;
                Some((Some(id), name))
            }
        }
    }
}

fn skill_item(section: &CapsuleSection, skill: &SkillInfo) -> Value {
    let SkillInfo { name, frontmatter, digest, size, .. } = skill;
    let uri = match &section.capsule {
        Some(id) if section.is_named => format!("{SKILL_PREFIX}{id}/{name}{FILE}"),
        _ => format!("{SCHEME}{name}{FILE}"),
    };
    json!({
        "uri": uri,
        "frontmatter": frontmatter,
        "resources": [{ "uri": uri, "digest": digest, "size": size }],
    })
}
