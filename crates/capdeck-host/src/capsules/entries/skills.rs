//! The skills extension: each entry of `skills://` as a folder with one file.

use serde_json::{Value, json};

use super::{EntryNaming, EntryOffer, SKILL_PREFIX, Section, array, resources::BANDED};
use crate::capsules::{CapsuleFailure, CapsuleOperation};

/// What every address of a skill begins with.
const SCHEME: &str = "skill://";

/// The file of a skill.
const FILE: &str = "/SKILL.md";

impl EntryOffer<'_> {
    /// All skills: `{uri, frontmatter, resources}`.
    pub async fn skills(&self) -> Result<Vec<Value>, CapsuleFailure> {
        let sections = self.named_sections().await?;
        let answers = self.ask_each(sections, &CapsuleOperation::Skills).await?;
        let skills = answers.into_iter().flat_map(|(section, answer)| {
            let skills = array(answer, "skills");
            skills.iter().map(|skill| shown(&section, skill)).collect::<Vec<_>>()
        });
        Ok(skills.collect())
    }

    /// True when an address can be that of a skill's file here.
    pub fn is_skill_file(&self, uri: &str) -> bool {
        self.skill_place(uri).is_some()
    }

    /// What `resources/read` answers with for the file of a skill.
    pub async fn read_skill(&self, uri: &str) -> Result<Value, CapsuleFailure> {
        let unknown = || {
            let uri = capdeck_capsule::one_line(uri);
            CapsuleFailure::new("not_found", format!("there is no skill `{uri}`"))
        };
        let (capsule, name) = self.skill_place(uri).ok_or_else(unknown)?;
        let skill = CapsuleOperation::Skill { name: name.to_owned() };
        let skill = self.ask(capsule, skill).await;
        let skill = skill.map_err(|failure| match failure.code.as_str() {
            "invalid_input" => unknown(),
            _ => failure,
        })?;
        Ok(json!({ "contents": [{ "uri": uri, "mimeType": BANDED, "text": skill["text"] }] }))
    }

    /// What is in the folder of a skill: its file. `None` when there is no such skill.
    pub async fn skill_folder(&self, uri: &str) -> Result<Option<Vec<Value>>, CapsuleFailure> {
        let file = format!("{}{FILE}", uri.trim_end_matches('/'));
        let is_there = self.skills().await?.iter().any(|skill| skill["uri"] == file.as_str());
        let listed = || vec![json!({ "uri": file, "name": "SKILL.md", "mimeType": BANDED })];
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

fn shown(section: &Section, skill: &Value) -> Value {
    let name = skill["name"].as_str().unwrap_or_default();
    let uri = match &section.capsule {
        Some(id) if section.is_named => format!("{SKILL_PREFIX}{id}/{name}{FILE}"),
        _ => format!("{SCHEME}{name}{FILE}"),
    };
    json!({
        "uri": uri,
        "frontmatter": skill["frontmatter"],
        "resources": [{ "uri": uri, "digest": skill["digest"], "size": skill["size"] }],
    })
}
