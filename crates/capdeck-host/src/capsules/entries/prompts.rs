//! Skills, and entries of schemes that say so, as prompts.

use std::collections::BTreeMap;

use capdeck_capsule::EntryPrompt;
use serde_json::{Value, json};

use super::{CapsuleSection, EntryCatalog, EntryNaming, PROMPT_PREFIX};
use crate::capsules::{CapsuleError, PromptRequest, PromptsRequest};

impl EntryCatalog<'_> {
    /// All prompts as they are listed.
    pub async fn prompts(&self) -> Result<Vec<Value>, CapsuleError> {
        let sections = self.named_sections().await?;
        let responses = self.ask_each(sections, PromptsRequest).await?;
        let prompts = responses.iter().flat_map(|(section, response)| {
            response.prompts.iter().map(|prompt| listed(section, prompt))
        });
        Ok(prompts.collect())
    }

    /// What `prompts/get` responds with.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Value, CapsuleError> {
        let (capsule, real) = self.prompt_place(name)?;
        let get = PromptRequest { name: real.to_owned(), arguments };
        let entry = self.ask(capsule, get).await?.entry;
        let content = json!({ "type": "text", "text": entry.text });
        Ok(json!({
            "description": entry.info.title,
            "messages": [{ "role": "user", "content": content }],
        }))
    }

    /// True when a name can be that of a prompt here.
    pub fn is_prompt_name(&self, name: &str) -> bool {
        self.prompt_place(name).is_ok()
    }

    /// One prompt as its capsule lists it.
    pub(super) async fn declared_prompt(&self, name: &str) -> Result<EntryPrompt, CapsuleError> {
        let (capsule, real) = self.prompt_place(name)?;
        let prompts = self.ask(capsule, PromptsRequest).await?.prompts;
        prompts.into_iter().find(|one| one.name == real).ok_or_else(|| unknown(name))
    }

    fn prompt_place<'n>(
        &'n self,
        name: &'n str,
    ) -> Result<(Option<&'n str>, &'n str), CapsuleError> {
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

fn unknown(name: &str) -> CapsuleError {
    let name = capdeck_capsule::one_line(name);
    CapsuleError::invalid(format!("there is no prompt `{name}`"))
}

fn listed(section: &CapsuleSection, prompt: &EntryPrompt) -> Value {
    let arguments = prompt.arguments.iter().map(|argument| {
        json!({
            "name": argument.name,
            "description": argument.description,
            "required": argument.required,
        })
    });
    let name = match &section.capsule {
        Some(id) if section.is_named => format!("{PROMPT_PREFIX}{id}.{}", prompt.name),
        _ => prompt.name.clone(),
    };
    json!({
        "name": name,
        "title": prompt.title,
        "description": prompt.description,
        "arguments": arguments.collect::<Vec<_>>(),
    })
}
