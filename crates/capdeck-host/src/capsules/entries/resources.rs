//! Entries as resources. What is read has its bands; a binary payload comes beside them.

use capdeck_capsule::Scheme;
use serde_json::{Value, json};

use super::{CapsuleSection, EntryCatalog, EntryNaming};
use crate::capsules::{
    CapsuleError, CapsuleErrorCode, EntryInfo, ListQuery, ReadBlobRequest, ReadBody, ReadRequest,
    SchemesRequest,
};

/// Entries on one page of the list.
const PAGE_SIZE: usize = 200;

/// The media type of an entry with its bands, for every format of its body.
pub(super) const BANDED_MIME_TYPE: &str = "text/markdown";

/// What begins a cursor of the deck's list of entries.
const CURSOR_PREFIX: &str = "entries.";

/// Some of the listed resources.
#[derive(Debug, Default)]
pub struct EntryPage {
    pub resources: Vec<Value>,
    /// Where the list goes on, if it does.
    pub next_cursor: Option<String>,
}

impl EntryPage {
    /// True for a cursor of this list in a deck.
    pub fn is_entry_uri(cursor: &str) -> bool {
        cursor.starts_with(CURSOR_PREFIX)
    }
}

impl EntryCatalog<'_> {
    /// One page of all entries.
    pub async fn resources(&self, cursor: Option<&str>) -> Result<EntryPage, CapsuleError> {
        match self.naming {
            EntryNaming::Own(capsule) => {
                let section =
                    CapsuleSection { capsule: capsule.map(str::to_owned), is_named: false };
                self.some_of(&section, PAGE_SIZE, cursor.map(str::to_owned)).await
            }
            EntryNaming::Deck { .. } => self.across(cursor).await,
        }
    }

    /// One page of the entries of all capsules, one capsule after the other.
    async fn across(&self, cursor: Option<&str>) -> Result<EntryPage, CapsuleError> {
        let sections = self.sections().await?;
        let (mut at, mut inside) = match cursor {
            None => (0, None),
            Some(cursor) => position(cursor, &sections).ok_or_else(|| {
                CapsuleError::invalid("`cursor` must be that of a page of this list")
            })?,
        };
        let mut resources = Vec::new();
        while let Some(section) = sections.get(at)
            && resources.len() < PAGE_SIZE
        {
            let asked_inside = inside.is_some();
            match self.some_of(section, PAGE_SIZE - resources.len(), inside.take()).await {
                Ok(page) => {
                    resources.extend(page.resources);
                    inside = page.next_cursor;
                }
                // A cursor that is none is the client's mistake.
                Err(error) if asked_inside => return Err(error),
                Err(error) => section.log_failure(&error),
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
        section: &CapsuleSection,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<EntryPage, CapsuleError> {
        let query = ListQuery { limit, cursor, ..ListQuery::default() };
        let page = self.ask(section.capsule.as_deref(), query).await?;
        let resources = page.entries.iter().map(|entry| resource(section, entry)).collect();
        Ok(EntryPage { resources, next_cursor: page.next_cursor })
    }

    /// A template for each scheme.
    pub async fn templates(&self) -> Result<Vec<Value>, CapsuleError> {
        let responses = self.ask_each(self.sections().await?, SchemesRequest).await?;
        let templates = responses.iter().flat_map(|(section, response)| {
            response.schemes.iter().map(|scheme| template(section, scheme))
        });
        Ok(templates.collect())
    }

    /// What `resources/read` responds with.
    pub async fn read(&self, uri: &str) -> Result<Value, CapsuleError> {
        let place = self.place(uri)?;
        let (capsule, real) = (place.capsule.as_deref(), place.uri);
        let read = ReadRequest { uri: real.clone(), version: None, body: ReadBody::Banded };
        let entry = self.ask(capsule, read).await?;
        if capsule.is_some_and(|id| entry.capsule != id) {
            // Names of capsules change; an address that can be watched has the id.
            let message = format!("there is no entry `{uri}`");
            return Err(CapsuleError::new(CapsuleErrorCode::NotFound, message)
                .hint(format!("the id of this capsule is `{}`", entry.capsule)));
        }
        let mut contents =
            vec![json!({ "uri": uri, "mimeType": BANDED_MIME_TYPE, "text": entry.text })];
        if entry.info.blob.is_some() {
            // Of the version that was read, in case there is a newer one by now.
            let version = Some(entry.info.version);
            let blob = self.ask(capsule, ReadBlobRequest { uri: real, version }).await?;
            contents.push(json!({ "uri": uri, "mimeType": blob.mime, "blob": blob.data }));
        }
        Ok(json!({ "contents": contents }))
    }
}

impl CapsuleSection {
    /// A cursor that goes on in this section.
    fn cursor(&self, inside: Option<&str>) -> String {
        let capsule = self.capsule.as_deref().unwrap_or_default();
        let form = if self.is_named { "named" } else { "mounted" };
        format!("{CURSOR_PREFIX}{form}.{capsule}.{}", inside.unwrap_or_default())
    }
}

/// The section and the place in it that a cursor means.
fn position(cursor: &str, sections: &[CapsuleSection]) -> Option<(usize, Option<String>)> {
    let is_start = |section: &CapsuleSection| cursor.strip_prefix(&section.cursor(None)).is_some();
    let at = sections.iter().position(is_start)?;
    let inside = cursor.strip_prefix(&sections.get(at)?.cursor(None))?;
    Some((at, (!inside.is_empty()).then(|| inside.to_owned())))
}

fn resource(section: &CapsuleSection, entry: &EntryInfo) -> Value {
    let mime = entry.blob.as_ref().map_or(BANDED_MIME_TYPE, |blob| &blob.mime);
    let uri = section.address(entry.uri.as_str());
    json!({
        "uri": uri,
        "name": uri,
        "title": entry.title,
        "mimeType": mime,
        "annotations": { "lastModified": entry.written_at },
    })
}

fn template(section: &CapsuleSection, scheme: &Scheme) -> Value {
    let Scheme { name, title, description, .. } = scheme;
    let shown = match &section.capsule {
        Some(id) if section.is_named => format!("{id}/{name}"),
        _ => name.clone(),
    };
    let mut template = json!({
        "uriTemplate": section.address(&format!("{name}://{{+path}}")),
        "name": shown,
        "mimeType": BANDED_MIME_TYPE,
    });
    for (key, text) in [("title", title), ("description", description)] {
        if !text.is_empty() {
            template[key] = json!(text);
        }
    }
    template
}
