//! What a half-typed address or argument may become.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{EntryAddress, EntryCatalog};
use crate::capsules::{CapsuleError, ListQuery};

/// The most that one answer may hold.
const MAX_COMPLETIONS: usize = 100;

/// What a template of entries ends with.
const VARIABLE: &str = "{+path}";

#[derive(Deserialize)]
struct CompletionRequest {
    #[serde(rename = "ref")]
    about: CompletionReference,
    argument: CompletionArgument,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum CompletionReference {
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
}

#[derive(Deserialize)]
struct CompletionArgument {
    name: String,
    value: String,
}

impl EntryCatalog<'_> {
    /// What `completion/complete` with these parameters answers with.
    pub async fn complete(&self, params: Value) -> Result<Value, CapsuleError> {
        let request: CompletionRequest = serde_json::from_value(params)
            .map_err(|error| CapsuleError::invalid(error.to_string()))?;
        let CompletionArgument { name, value } = request.argument;
        let (values, has_more) = match request.about {
            CompletionReference::Resource { uri } => {
                let place = self.template_place(&uri).filter(|_| name == "path");
                let place = place.ok_or_else(|| {
                    let uri = capdeck_capsule::one_line(&uri);
                    CapsuleError::invalid(format!("`{uri}` is no template with `{name}`"))
                })?;
                let start = place.uri;
                let capsule = place.capsule.as_deref();
                let (found, has_more) = self.addresses(capsule, &format!("{start}{value}")).await;
                let paths = found.iter().filter_map(|uri| uri.strip_prefix(&start));
                (paths.map(str::to_owned).collect(), has_more)
            }
            CompletionReference::Prompt { name: prompt } => {
                self.argument_values(&prompt, &name, &value).await?
            }
        };
        Ok(json!({ "completion": { "values": values, "hasMore": has_more } }))
    }

    /// The scheme that a template is for, as the start of its addresses.
    pub fn template_place(&self, template: &str) -> Option<EntryAddress> {
        let start = template.strip_suffix(VARIABLE)?;
        let place = self.place(start).ok()?;
        let scheme = place.uri.strip_suffix("://")?;
        (!scheme.is_empty() && !scheme.contains(['/', ':'])).then_some(place)
    }

    /// What the skill says its argument can be; else addresses, once the value begins like one.
    async fn argument_values(
        &self,
        prompt: &str,
        argument: &str,
        value: &str,
    ) -> Result<(Vec<String>, bool), CapsuleError> {
        let prompt = self.declared_prompt(prompt).await?;
        let mut declared = prompt.arguments.into_iter();
        let declared = declared.find(|one| one.name == argument).ok_or_else(|| {
            let argument = capdeck_capsule::one_line(argument);
            CapsuleError::invalid(format!("the prompt has no argument `{argument}`"))
        })?;
        let mut fitting = declared.values;
        fitting.retain(|one| one.starts_with(value));
        if fitting.is_empty()
            && value.contains("://")
            && let Ok(place) = self.place(value)
        {
            return Ok(self.addresses(place.capsule.as_deref(), &place.uri).await);
        }
        let has_more = fitting.len() > MAX_COMPLETIONS;
        fitting.truncate(MAX_COMPLETIONS);
        Ok((fitting, has_more))
    }

    /// Addresses of entries that begin so. What can begin no address has none.
    async fn addresses(&self, capsule: Option<&str>, start: &str) -> (Vec<String>, bool) {
        let prefix =
            Some(if start.ends_with("://") { start.to_owned() } else { format!("{start}*") });
        let query = ListQuery { prefix, limit: MAX_COMPLETIONS, ..ListQuery::default() };
        let Ok(page) = self.ask(capsule, query).await else { return (Vec::new(), false) };
        let uris = page.entries.iter().map(|entry| entry.uri.to_string()).collect();
        (uris, page.next_cursor.is_some())
    }
}
