//! Skills, and entries of schemes that say so, as prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{EntryNaming, EntryOffer, PROMPT_PREFIX, Section, array};
use crate::capsules::{CapsuleFailure, CapsuleOperation};

impl EntryOffer<'_> {
    /// All prompts as they are listed.
    pub async fn prompts(&self) -> Result<Vec<Value>, CapsuleFailure> {
        let sections = self.named_sections().await?;
        let answers = self.ask_each(sections, &CapsuleOperation::Prompts).await?;
        let prompts = answers.into_iter().flat_map(|(section, answer)| {
            let prompts = array(answer, "prompts");
            prompts.iter().map(|prompt| listed(&section, prompt)).collect::<Vec<_>>()
        });
        Ok(prompts.collect())
    }

    /// What `prompts/get` answers with.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Value, CapsuleFailure> {
        let (capsule, real) = self.prompt_place(name)?;
        let get = CapsuleOperation::Prompt { name: real.to_owned(), arguments };
        let answer = self.ask(capsule, get).await?;
        let content = json!({ "type": "text", "text": answer["text"] });
        Ok(json!({
            "description": answer["title"],
            "messages": [{ "role": "user", "content": content }],
        }))
    }

    /// True when a name can be that of a prompt here.
    pub fn is_prompt_name(&self, name: &str) -> bool {
        self.prompt_place(name).is_ok()
    }

    /// One prompt as the desk tells it.
    pub(super) async fn declared_prompt(&self, name: &str) -> Result<Value, CapsuleFailure> {
        let (capsule, real) = self.prompt_place(name)?;
        let prompts = array(self.ask(capsule, CapsuleOperation::Prompts).await?, "prompts");
        prompts.into_iter().find(|one| one["name"] == real).ok_or_else(|| unknown(name))
    }

    fn prompt_place<'n>(
        &'n self,
        name: &'n str,
    ) -> Result<(Option<&'n str>, &'n str), CapsuleFailure> {
        match self.naming {
            EntryNaming::Own(capsule) => Ok((capsule, name)),
            EntryNaming::Deck { .. } => {
                let rest = name.strip_prefix(PROMPT_PREFIX);
                let (id, name) =
                    rest.and_then(|rest| rest.split_once('.')).ok_or_else(|| unknown(name))?;
                Ok((Some(id), name))
            }
        }
    }
}

fn unknown(name: &str) -> CapsuleFailure {
    let name = capdeck_capsule::one_line(name);
    CapsuleFailure::invalid(format!("there is no prompt `{name}`"))
}

fn listed(section: &Section, prompt: &Value) -> Value {
    let arguments = prompt["arguments"].as_array().into_iter().flatten().map(|argument| {
        json!({
            "name": argument["name"],
            "description": argument["description"],
            "required": argument["required"],
        })
    });
    let name = prompt["name"].as_str().unwrap_or_default();
    let name = match &section.capsule {
        Some(id) if section.is_named => format!("{PROMPT_PREFIX}{id}.{name}"),
        _ => name.to_owned(),
    };
    json!({
        "name": name,
        "title": prompt["title"],
        "description": prompt["description"],
        "arguments": arguments.collect::<Vec<_>>(),
    })
}
