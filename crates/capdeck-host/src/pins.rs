//! The pins of every capability on disk: what its tools looked like first, or when a person last approved them.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{
    Capability, Discovery, Held, HeldReason, HiddenText, PinBook, PinChange, Tool,
    held_for_hidden_text, hidden_text, tool_words,
};
use capdeck_definition::{Backend, CapabilityId, Definition, Effect, PinMode};
use jiff::Timestamp;
use serde_json::json;

use crate::{Host, Session, audience::AudienceKey, durable};

/// Below the state folder: changes whenever a person approves definitions, so that running hosts notice.
pub(crate) const APPROVED: &str = "pins/approved.json";

/// Pinned definitions, one file per capability.
#[derive(Debug, Clone)]
pub(crate) struct PinStore {
    folder: PathBuf,
    approved: PathBuf,
}

/// Whether an answer differs from what was known, and what that was.
#[derive(Debug)]
pub(crate) enum News {
    Yes(Option<Arc<Discovery>>),
    No,
}

/// How a capability's tools compare with their pins.
#[derive(Debug, Default)]
pub struct PinReview {
    /// The pins; `None` before the first sight, and for tools that stand in the person's own file.
    pub book: Option<PinBook>,
    pub changes: Vec<PinChange>,
    /// Tools with text that people do not see.
    pub hidden: BTreeMap<String, Vec<HiddenText>>,
    pub held: Held,
}

impl PinReview {
    /// True when there is nothing a person should look at.
    pub fn is_clean(&self) -> bool {
        let repointed = self.book.as_ref().is_some_and(|book| book.is_repointed);
        self.changes.is_empty() && self.hidden.is_empty() && !repointed
    }
}

impl PinStore {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("pins"), approved: state_dir.join(APPROVED) }
    }

    /// Compares a capability's tools with their pins.
    fn review(&self, capability: &Capability, offered: &Discovery) -> io::Result<PinReview> {
        let book = self.load(&capability.definition)?;
        let is_told = tells_its_tools(&capability.definition);
        let changes = match &book {
            Some(book) if is_told => book.changes(offered),
            _ => Vec::new(),
        };
        let hidden = offered
            .tools
            .iter()
            .map(|tool| (tool.name().to_owned(), hidden_text(tool)))
            .filter(|(_, found)| !found.is_empty())
            .collect();
        let held = match capability.pins {
            PinMode::Block => self.held(&capability.definition, offered),
            PinMode::Off | PinMode::Warn => Held::new(),
        };
        Ok(PinReview { book: book.filter(|_| is_told), changes, hidden, held })
    }

    /// Takes what is offered now as approved: one tool, or everything.
    fn approve(
        &self,
        definition: &Definition,
        discovery: &Discovery,
        only: Option<&str>,
    ) -> io::Result<()> {
        let path = self.file(&definition.id);
        if only.is_none() && durable::load_json::<PinBook>(&path).is_err() {
            // Approving everything needs nothing of a file that cannot be read.
            std::fs::remove_file(&path)?;
        }
        durable::update_json(&path, |book: &mut PinBook| {
            if book.fingerprint != definition.fingerprint {
                *book = PinBook::first_sight(&definition.fingerprint, discovery);
            }
            book.approve(discovery, only);
        })?;
        durable::update_json(&self.approved, |times: &mut BTreeMap<String, Timestamp>| {
            times.insert(definition.id.to_string(), Timestamp::now());
        })
    }

    /// What is held of these tools while changes are blocked. Pins that cannot be read hold everything.
    pub(crate) fn held(&self, definition: &Definition, discovery: &Discovery) -> Held {
        if let Backend::Caplets(_) | Backend::Capsules = definition.backend {
            return Held::new();
        }
        let book = match self.load(definition) {
            Ok(book) => book,
            Err(error) => {
                tracing::error!(capability = %definition.id, %error, "the pins cannot be read");
                let names = discovery.tools.iter().map(|tool| tool.name().to_owned());
                return names.map(|name| (name, HeldReason::Changed)).collect();
            }
        };
        if !tells_its_tools(definition) {
            return held_for_hidden_text(book.as_ref(), discovery);
        }
        book.unwrap_or_else(|| PinBook::first_sight(&definition.fingerprint, discovery))
            .held(discovery)
    }

    /// Pins what is seen for the first time, by this audience or at all. Says what is not as it was pinned.
    fn observe(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
        before: Option<&Discovery>,
        discovery: &Discovery,
    ) -> io::Result<Held> {
        let path = self.file(&definition.id);
        let audience = audience.to_string();
        let known: PinBook = durable::load_json(&path)?;
        if known.fingerprint == definition.fingerprint && known.audiences.contains(&audience) {
            return Ok(known.held(discovery));
        }
        durable::update_json(&path, |book: &mut PinBook| {
            if book.fingerprint != definition.fingerprint {
                let is_repointed = !book.fingerprint.is_empty();
                *book = PinBook::first_sight(&definition.fingerprint, before.unwrap_or(discovery));
                book.is_repointed = is_repointed;
            } else {
                book.pin_new(before.unwrap_or(discovery));
            }
            book.audiences.insert(audience);
            book.held(discovery)
        })
    }

    /// The pins of this very definition.
    fn load(&self, definition: &Definition) -> io::Result<Option<PinBook>> {
        let book: PinBook = durable::load_json(&self.file(&definition.id))?;
        Ok((book.fingerprint == definition.fingerprint).then_some(book))
    }

    fn file(&self, id: &CapabilityId) -> PathBuf {
        // A file of its own name can never be the one of a capability called `approved`.
        self.folder.join(format!("{id}.pins.json"))
    }
}

impl Host {
    /// Compares what is known of a capability's tools, whomever they are shown to, with their pins.
    pub fn review_pins(&self, capability: &Capability) -> io::Result<PinReview> {
        match self.offered_to_anyone(capability) {
            Some(offered) => self.pins().review(capability, &offered),
            None => {
                let book = self.pins().load(&capability.definition)?;
                Ok(PinReview { book, ..PinReview::default() })
            }
        }
    }

    /// Takes a capability's tools as they are now for approved: one, or all. How many there are; `None` when nobody
    /// knows any.
    pub fn approve_pins(
        &self,
        capability: &Capability,
        only: Option<&str>,
    ) -> io::Result<Option<usize>> {
        let Some(offered) = self.offered_to_anyone(capability) else { return Ok(None) };
        self.pins().approve(&capability.definition, &offered, only)?;
        let is_approved = |tool: &&Arc<Tool>| only.is_none_or(|only| only == tool.name());
        Ok(Some(offered.tools.iter().filter(is_approved).count()))
    }

    /// Every known tool of a capability, whomever it is shown to.
    pub fn offered_to_anyone(&self, capability: &Capability) -> Option<Discovery> {
        if tells_its_tools(&capability.definition) {
            return self.0.discoveries.offered_to_anyone(&capability.definition);
        }
        capability.discovery.as_deref().cloned()
    }

    /// Compares an answer of a backend with its pins.
    pub(crate) fn watch_definitions(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
        discovery: &Discovery,
        news: News,
    ) {
        let id = &definition.id;
        let catalog = self.catalog();
        let mode = catalog.get(id.as_str()).map(|capability| capability.pins);
        if mode.is_none_or(|mode| mode == PinMode::Off) || !tells_its_tools(definition) {
            return;
        }
        let before = match news {
            News::Yes(before) => before,
            News::No if self.pins().file(id).exists() => return,
            News::No => None,
        };
        match self.pins().observe(definition, audience, before.as_deref(), discovery) {
            Ok(held) => {
                for (tool, reason) in held {
                    let reason = reason.as_str();
                    tracing::warn!(capability = %id, tool, reason, "see: capdeck pins diff {id}");
                }
            }
            Err(error) => {
                tracing::error!(capability = %id, %error, "the definitions could not be pinned");
            }
        }
    }
}

impl Session {
    /// The tools of a capability that are held, as far as this client may know of them.
    pub(crate) fn held_names(&self, capability: &Capability) -> Vec<String> {
        if capability.pins != PinMode::Block {
            return Vec::new();
        }
        let catalog = self.host.catalog_for(self.connections.audience().key());
        let Some(whole) = catalog.get(capability.definition.id.as_str()) else { return Vec::new() };
        let is_known = |name: &&String| {
            let tool = catalog.tool(whole.definition.id.as_str(), name);
            self.effect_on(whole, name, tool.map(Arc::as_ref)) != Effect::Deny
        };
        whole.held.keys().filter(is_known).cloned().collect()
    }

    /// Why a tool is kept from this client although it exists, if it is held and not denied.
    pub(crate) fn held(&self, capability: &Capability, name: &str) -> Option<CallError> {
        let catalog = self.host.catalog_for(self.connections.audience().key());
        let id = capability.definition.id.as_str();
        let whole = catalog.get(id)?;
        whole.held.get(name)?;
        let tool = catalog.tool(id, name)?;
        if self.effect_on(whole, name, Some(tool.as_ref())) == Effect::Deny {
            return None;
        }
        // Another process may have approved it since the catalog was built.
        let held = self.host.pins().held(&whole.definition, whole.discovery.as_ref()?);
        let Some(reason) = held.get(name) else {
            self.host.rebuild();
            return None;
        };
        let message = format!("`{name}` of `{id}` is held: {}", reason.as_str());
        Some(
            CallError::new(ErrorCode::ApprovalRequired, message)
                .hint(format!(
                    "the person looks at: capdeck pins diff {words}; then runs: capdeck pins approve {words}",
                    words = tool_words(id, name)
                ))
                .data(json!({ "held": reason })),
        )
    }
}

/// False for tools that the person's own file declares, and for sets: their definitions do not change by themselves.
fn tells_its_tools(definition: &Definition) -> bool {
    match definition.backend {
        Backend::Mcp(_)
        | Backend::OpenApi(_)
        | Backend::GoogleDiscovery(_)
        | Backend::GraphQl(_) => true,
        Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => false,
    }
}
