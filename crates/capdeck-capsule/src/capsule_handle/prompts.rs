//! Entries that are prompts: skills, and those of schemes that say so.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuditNote, CapsuleHandle, ScopedStore};
use crate::{Entry, EntryUri, StoreError, StoreResult, service::*, trust::one_line};

/// A prompt as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryPrompt {
    /// The path of the entry with `.` for `/`.
    pub name: String,
    pub uri: EntryUri,
    pub title: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

/// A place in a prompt's text, written `{{name}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub required: bool,
    /// What it can be, where the writer says so; shown to those who type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// What a skill says about itself at its head.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SkillHeader {
    description: Option<String>,
    arguments: Vec<PromptArgument>,
}

impl CapsuleHandle {
    pub async fn prompts(&self, _: PromptsRequest) -> StoreResult<PromptsResponse> {
        let work = |entries: ScopedStore| async move {
            Ok(PromptsResponse { capsule: entries.id(), prompts: find_prompts(&entries).await? })
        };
        self.audited("prompt.list", work, AuditNote::plain).await
    }

    /// A prompt with its arguments put in, between its bands.
    pub async fn prompt(&self, request: PromptRequest) -> StoreResult<PromptResponse> {
        let PromptRequest { name, arguments } = request;
        let work = |entries: ScopedStore| async move {
            let unknown = || {
                StoreError::invalid("prompt", format!("there is no prompt `{}`", one_line(&name)))
            };
            let prompts = find_prompts(&entries).await?;
            let prompt =
                prompts.into_iter().find(|prompt| prompt.name == name).ok_or_else(unknown)?;
            let missing = prompt
                .arguments
                .iter()
                .find(|declared| declared.required && !arguments.contains_key(&declared.name));
            if let Some(missing) = missing {
                return Err(StoreError::invalid(
                    "arguments",
                    format!("`{}` is missing", one_line(&missing.name)),
                ));
            }
            let mut entry = entries.read(&prompt.uri, None).await?;
            entry.body = filled(split_head(&entry.body).1, &arguments);
            let entry = entries.with_bands(entry, ReadBody::Banded).await?;
            Ok(PromptResponse { entry, name })
        };
        let note = |prompt: &PromptResponse| AuditNote::read(&prompt.entry);
        self.audited("prompt.get", work, note).await
    }
}

async fn find_prompts(entries: &ScopedStore) -> StoreResult<Vec<EntryPrompt>> {
    let (mut found, mut taken) = (Vec::new(), HashSet::new());
    let schemes = entries.schemes().await?.into_iter();
    for scheme in schemes.filter(|scheme| scheme.prompt_source) {
        let read = entries.read_all(scheme.name).await?;
        found.extend(read.iter().map(|entry| prompt(entry, &mut taken)));
    }
    Ok(found)
}

fn prompt(entry: &Entry, taken: &mut HashSet<String>) -> EntryPrompt {
    let uri = &entry.meta.uri;
    let plain = uri.path().replace('/', ".");
    // Two prompts of one name: the later one says its scheme, and if that is taken, too, counts.
    let qualified = format!("{}.{plain}", uri.scheme());
    let counted = (2..).map(|number| format!("{qualified}-{number}"));
    let name = [plain, qualified.clone()]
        .into_iter()
        .chain(counted)
        .find(|name| taken.insert(name.clone()));
    let head: SkillHeader = split_head(&entry.body)
        .0
        .and_then(|head| serde_saphyr::from_str(head).ok())
        .unwrap_or_default();
    let title = one_line(entry.meta.display_title());
    let arguments = head.arguments.into_iter().map(|argument| PromptArgument {
        name: one_line(&argument.name),
        description: one_line(&argument.description),
        values: argument.values.iter().map(|value| one_line(value)).collect(),
        ..argument
    });
    EntryPrompt {
        name: name.unwrap_or_default(),
        uri: uri.clone(),
        description: head.description.map_or_else(|| title.clone(), |text| one_line(&text)),
        title,
        arguments: arguments.collect(),
    }
}

/// The YAML head of a skill, and the rest.
pub(super) fn split_head(body: &str) -> (Option<&str>, &str) {
    let text = body.strip_prefix('\u{feff}').unwrap_or(body);
    let mut lines = text.split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end_matches(['\n', '\r']) == "---";
    let Some(first) = lines.next().filter(|first| is_fence(first)) else { return (None, body) };
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return (text.get(first.len()..end), text.get(end + line.len()..).unwrap_or_default());
        }
        end += line.len();
    }
    (None, body)
}

/// A text with `{{name}}` replaced. What is put in is not looked at again.
fn filled(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        done.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            done.push_str("{{");
            rest = after;
            continue;
        };
        match arguments.get(name.trim()) {
            Some(value) => {
                done.push_str(value);
                rest = behind;
            }
            None => {
                done.push_str("{{");
                rest = after;
            }
        }
    }
    done.push_str(rest);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_whatever_ends_their_lines() {
        let head = "description: Reviews\nname: r\n";
        for (body, rest) in [
            ("---\ndescription: Reviews\nname: r\n---\nDo it", "Do it"),
            ("---\r\ndescription: Reviews\r\nname: r\r\n---\r\nDo it", "Do it"),
            ("\u{feff}---\ndescription: Reviews\nname: r\n---\nDo it", "Do it"),
            ("---\ndescription: Reviews\nname: r\n---", ""),
        ] {
            let (found, behind) = split_head(body);
            assert_eq!(found.unwrap().replace('\r', ""), head, "{body:?}");
            assert_eq!(behind, rest);
            let read: SkillHeader = serde_saphyr::from_str(found.unwrap()).unwrap();
            assert_eq!(read.description.as_deref(), Some("Reviews"));
        }
        for body in ["", "---", "text\n---\n", "---\ndescription: x\n", "----\na: b\n----\n"] {
            assert_eq!(split_head(body), (None, body));
        }
    }

    #[test]
    fn arguments_are_put_in_once() {
        let arguments = BTreeMap::from([
            ("a".to_owned(), "{{b}}".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ]);
        assert_eq!(filled("{{a}} {{ b }} {{c}} {{", &arguments), "{{b}} x {{c}} {{");
    }
}
