//! The pins of every capability on disk: its tools as they were first seen, or last approved.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_catalog::{
    Capability, CapabilityPins, Discovery, HeldTools, HiddenText, HoldReason, PinChange, Tool,
    held_for_hidden_text, hidden_text,
};
use capdeck_definition::{Backend, CapabilityId, Definition, PinMode};
use jiff::Timestamp;

use crate::{Host, audience::AudienceKey, durable};

/// Below the state folder: changes whenever a person approves definitions, so that running hosts
/// notice.
pub(crate) const APPROVED_PINS_FILE: &str = "pins/approved.json";

#[derive(Debug, Clone)]
pub(crate) struct PinStore {
    folder: PathBuf,
    approved: PathBuf,
}

/// A capability's tools compared with their pins.
#[derive(Debug, Default)]
pub struct PinReview {
    /// `None` before the tools were first seen, and for tools of the person's own file.
    pub book: Option<CapabilityPins>,
    pub changes: Vec<PinChange>,
    /// Tools with invisible text.
    pub hidden: BTreeMap<String, Vec<HiddenText>>,
    pub held: HeldTools,
}

impl PinReview {
    /// Compares a capability's known tools, of all audiences, with their pins.
    pub fn of(host: &Host, capability: &Capability) -> io::Result<Self> {
        let (pins, definition) = (host.pins(), &capability.definition);
        let book = pins.load(definition)?;
        let Some(offered) = offered_tools(host, capability) else {
            return Ok(Self { book, ..Self::default() });
        };
        let book = book.filter(|_| !declares_its_tools(definition));
        let hidden = offered
            .tools
            .iter()
            .map(|tool| (tool.name().to_owned(), hidden_text(tool)))
            .filter(|(_, found)| !found.is_empty())
            .collect();
        let held = match capability.pins {
            PinMode::Block => pins.held(definition, &offered),
            PinMode::Off | PinMode::Warn => HeldTools::new(),
        };
        let changes = book.as_ref().map(|book| book.changes(&offered)).unwrap_or_default();
        Ok(Self { book, changes, hidden, held })
    }

    /// True when nothing needs a review.
    pub fn is_clean(&self) -> bool {
        let repointed = self.book.as_ref().is_some_and(|book| book.is_repointed);
        self.changes.is_empty() && self.hidden.is_empty() && !repointed
    }
}

impl PinStore {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("pins"), approved: state_dir.join(APPROVED_PINS_FILE) }
    }

    fn approve(
        &self,
        definition: &Definition,
        discovery: &Discovery,
        only: Option<&str>,
    ) -> io::Result<()> {
        let path = self.file(&definition.id);
        if only.is_none() && durable::load_json::<CapabilityPins>(&path).is_err() {
            // Approving everything does not need the old file, which may be unreadable.
            std::fs::remove_file(&path)?;
        }
        durable::update_json(&path, |book: &mut CapabilityPins| {
            if book.fingerprint != definition.fingerprint {
                *book = CapabilityPins::first_sight(&definition.fingerprint, discovery);
            }
            book.approve(discovery, only);
        })?;
        durable::update_json(&self.approved, |times: &mut BTreeMap<String, Timestamp>| {
            times.insert(definition.id.to_string(), Timestamp::now());
        })
    }

    /// The tools that are blocked because they changed. Unreadable pins block everything.
    pub(crate) fn held(&self, definition: &Definition, discovery: &Discovery) -> HeldTools {
        if let Backend::Caplets(_) | Backend::Capsules = definition.backend {
            return HeldTools::new();
        }
        let book = match self.load(definition) {
            Ok(book) => book,
            Err(error) => {
                tracing::error!(capability = %definition.id, %error, "the pins cannot be read");
                let names = discovery.tools.iter().map(|tool| tool.name().to_owned());
                return names.map(|name| (name, HoldReason::Changed)).collect();
            }
        };
        if declares_its_tools(definition) {
            return held_for_hidden_text(book.as_ref(), discovery);
        }
        book.unwrap_or_else(|| CapabilityPins::first_sight(&definition.fingerprint, discovery))
            .held(discovery)
    }

    /// Pins tools that are seen for the first time, by this audience or at all. Returns the
    /// differences from the pins.
    fn observe(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
        before: Option<&Discovery>,
        discovery: &Discovery,
    ) -> io::Result<HeldTools> {
        let path = self.file(&definition.id);
        let audience = audience.to_string();
        let known: CapabilityPins = durable::load_json(&path)?;
        if known.fingerprint == definition.fingerprint && known.audiences.contains(&audience) {
            return Ok(known.held(discovery));
        }
        durable::update_json(&path, |book: &mut CapabilityPins| {
            if book.fingerprint != definition.fingerprint {
                let is_repointed = !book.fingerprint.is_empty();
                *book = CapabilityPins::first_sight(
                    &definition.fingerprint,
                    before.unwrap_or(discovery),
                );
                book.is_repointed = is_repointed;
            } else {
                book.pin_new(before.unwrap_or(discovery));
            }
            book.audiences.insert(audience);
            book.held(discovery)
        })
    }

    /// Pins what a server offers now, and warns of what differs from its pins. `before` is its
    /// answer before a changed one.
    pub(crate) fn watch(
        &self,
        capability: &Capability,
        audience: &AudienceKey,
        discovery: &Discovery,
        is_changed: bool,
        before: Option<&Discovery>,
    ) {
        let definition = &capability.definition;
        let id = &definition.id;
        let is_pinned = || !is_changed && self.file(id).exists();
        if capability.pins == PinMode::Off || declares_its_tools(definition) || is_pinned() {
            return;
        }
        let before = before.filter(|_| is_changed);
        match self.observe(definition, audience, before, discovery) {
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

    fn load(&self, definition: &Definition) -> io::Result<Option<CapabilityPins>> {
        let book: CapabilityPins = durable::load_json(&self.file(&definition.id))?;
        Ok((book.fingerprint == definition.fingerprint).then_some(book))
    }

    fn file(&self, id: &CapabilityId) -> PathBuf {
        // The suffix prevents a collision with a capability named `approved`.
        self.folder.join(format!("{id}.pins.json"))
    }
}

/// Approves a capability's current tools: one, or all. Returns their number; `None` when none is
/// known.
pub fn approve_tools(
    host: &Host,
    capability: &Capability,
    only: Option<&str>,
) -> io::Result<Option<usize>> {
    let Some(offered) = offered_tools(host, capability) else { return Ok(None) };
    host.pins().approve(&capability.definition, &offered, only)?;
    let is_approved = |tool: &&Arc<Tool>| only.is_none_or(|only| only == tool.name());
    Ok(Some(offered.tools.iter().filter(is_approved).count()))
}

/// Every known tool of a capability, of all audiences.
pub fn offered_tools(host: &Host, capability: &Capability) -> Option<Discovery> {
    match declares_its_tools(&capability.definition) {
        true => capability.discovery.as_deref().cloned(),
        false => host.0.discoveries.offered_to_anyone(&capability.definition),
    }
}

/// True for tools of the person's own file, and for sets: their definitions do not change by
/// themselves.
pub(crate) fn declares_its_tools(definition: &Definition) -> bool {
    match definition.backend {
        Backend::Mcp(_)
        | Backend::OpenApi(_)
        | Backend::GoogleDiscovery(_)
        | Backend::GraphQl(_) => false,
        Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => true,
    }
}
