//! Entries as resources. What is read has its bands; a binary payload comes beside them.

use serde_json::{Value, json};

use super::{EntryNaming, EntryOffer, Section, array};
use crate::capsules::{CapsuleFailure, CapsuleOperation, ListQuery, ReadBody};

/// Entries on one page of the list.
const PAGE: usize = 200;

/// What an entry with its bands is, whatever its body is.
pub(super) const BANDED: &str = "text/markdown";

/// What begins a cursor of the deck's list of entries.
const CURSOR: &str = "entries.";

/// Some of the listed resources.
#[derive(Debug, Default)]
pub struct EntryPage {
    pub resources: Vec<Value>,
    /// Where the list goes on, if it does.
    pub next_cursor: Option<String>,
}

impl EntryPage {
    /// True for a cursor of this list in a deck.
    pub fn is_meant(cursor: &str) -> bool {
        cursor.starts_with(CURSOR)
    }
}

impl EntryOffer<'_> {
    /// One page of all entries.
    pub async fn resources(&self, cursor: Option<&str>) -> Result<EntryPage, CapsuleFailure> {
        match self.naming {
            EntryNaming::Own(capsule) => {
                let section = Section { capsule: capsule.map(str::to_owned), is_named: false };
                self.some_of(&section, PAGE, cursor.map(str::to_owned)).await
            }
            EntryNaming::Deck { .. } => self.across(cursor).await,
        }
    }

    /// One page of the entries of all capsules, one capsule after the other.
    async fn across(&self, cursor: Option<&str>) -> Result<EntryPage, CapsuleFailure> {
        let sections = self.sections().await?;
        let (mut at, mut inside) = match cursor {
            None => (0, None),
            Some(cursor) => position(cursor, &sections).ok_or_else(|| {
                CapsuleFailure::invalid("`cursor` must be that of a page of this list")
            })?,
        };
        let mut resources = Vec::new();
        while let Some(section) = sections.get(at)
            && resources.len() < PAGE
        {
            let asked_inside = inside.is_some();
            match self.some_of(section, PAGE - resources.len(), inside.take()).await {
                Ok(page) => {
                    resources.extend(page.resources);
                    inside = page.next_cursor;
                }
                // A cursor that is none is the client's mistake.
                Err(failure) if asked_inside => return Err(failure),
                Err(failure) => section.note_silence(&failure),
            }
            if inside.is_none() {
                at += 1;
            }
        }
        let next_cursor = sections.get(at).map(|section| section.cursor(inside.as_deref()));
        Ok(EntryPage { resources, next_cursor })
    }

    async fn some_of(
        &self,
        section: &Section,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<EntryPage, CapsuleFailure> {
        let query = ListQuery { limit, cursor, ..ListQuery::default() };
        let list = CapsuleOperation::List(query);
        let answer = self.ask(section.capsule.as_deref(), list).await?;
        let next_cursor = answer["next_cursor"].as_str().map(str::to_owned);
        let entries = array(answer, "entries");
        let resources = entries.iter().map(|entry| resource(section, entry)).collect();
        Ok(EntryPage { resources, next_cursor })
    }

    /// A template for each scheme.
    pub async fn templates(&self) -> Result<Vec<Value>, CapsuleFailure> {
        let answers = self.ask_each(self.sections().await?, &CapsuleOperation::Schemes).await?;
        let templates = answers.into_iter().flat_map(|(section, answer)| {
            let schemes = array(answer, "schemes");
            schemes.iter().map(|scheme| template(&section, scheme)).collect::<Vec<_>>()
        });
        Ok(templates.collect())
    }

    /// What `resources/read` answers with.
    pub async fn read(&self, uri: &str) -> Result<Value, CapsuleFailure> {
        let place = self.place(uri)?;
        let (capsule, real) = (place.capsule.as_deref(), place.uri);
        let body = ReadBody::Banded;
        let read = CapsuleOperation::Read { uri: real.clone(), version: None, body };
        let entry = self.ask(capsule, read).await?;
        if capsule.is_some_and(|id| entry["capsule"] != id) {
            // Names of capsules change; an address that can be watched and kept has the id.
            let message = format!("there is no entry `{uri}`");
            let id = entry["capsule"].as_str().unwrap_or_default();
            return Err(CapsuleFailure::new("not_found", message)
                .hint(format!("the id of this capsule is `{id}`")));
        }
        let mut contents = vec![json!({ "uri": uri, "mimeType": BANDED, "text": entry["text"] })];
        if entry["blob"].is_object() {
            // Of the version that was read, in case there is a newer one by now.
            let version = entry["version"].as_u64();
            let read = CapsuleOperation::ReadBlob { uri: real, version };
            let blob = self.ask(capsule, read).await?;
            contents.push(json!({ "uri": uri, "mimeType": blob["mime"], "blob": blob["data"] }));
        }
        Ok(json!({ "contents": contents }))
    }
}

impl Section {
    /// A cursor that goes on in this section.
    fn cursor(&self, inside: Option<&str>) -> String {
        let capsule = self.capsule.as_deref().unwrap_or_default();
        let form = if self.is_named { "named" } else { "mounted" };
        format!("{CURSOR}{form}.{capsule}.{}", inside.unwrap_or_default())
    }
}

/// The section and the place in it that a cursor means.
fn position(cursor: &str, sections: &[Section]) -> Option<(usize, Option<String>)> {
    let is_start = |section: &Section| cursor.strip_prefix(&section.cursor(None)).is_some();
    let at = sections.iter().position(is_start)?;
    let inside = cursor.strip_prefix(&sections.get(at)?.cursor(None))?;
    Some((at, (!inside.is_empty()).then(|| inside.to_owned())))
}

fn resource(section: &Section, entry: &Value) -> Value {
    let mime = entry["blob"]["mime"].as_str().unwrap_or(BANDED);
    let uri = section.address(entry["uri"].as_str().unwrap_or_default());
    json!({
        "uri": uri,
        "name": uri,
        "title": entry["title"],
        "mimeType": mime,
        "annotations": { "lastModified": entry["written_at"] },
    })
}

fn template(section: &Section, scheme: &Value) -> Value {
    let name = scheme["name"].as_str().unwrap_or_default();
    let shown = match &section.capsule {
        Some(id) if section.is_named => format!("{id}/{name}"),
        _ => name.to_owned(),
    };
    let mut template = json!({
        "uriTemplate": section.address(&format!("{name}://{{+path}}")),
        "name": shown,
        "mimeType": BANDED,
    });
    for key in ["title", "description"] {
        if let Some(text) = scheme[key].as_str().filter(|text| !text.is_empty()) {
            template[key] = json!(text);
        }
    }
    template
}
