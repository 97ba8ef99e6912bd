//! Servers' own URIs that clients know: a tool names its page in `_meta.ui.resourceUri`, and apps
//! request it by that URI. They work in the deck while they are unambiguous.

use std::collections::HashMap;

use capdeck_catalog::{Capability, RawMembers, Tool};
use capdeck_definition::CapabilityId;
use serde_json::json;

use super::View;
use crate::raw;

const UI_SCHEME: &str = "ui://";

/// `None` when several capabilities use the same URI.
#[derive(Debug, Default)]
pub(super) struct OriginalUris(HashMap<String, Option<CapabilityId>>);

impl OriginalUris {
    pub(super) fn of(view: &View) -> Self {
        let mut uris = Self::default();
        for capability in view.offering() {
            let known = capability.discovery.iter();
            let listed = known.flat_map(|known| &known.resources);
            for uri in listed.filter_map(|one| raw::string(one.get("uri")?)) {
                uris.add(uri, capability);
            }
        }
        for capability in view.catalog.capabilities().filter(|one| one.is_usable()) {
            let is_direct = view.direct.iter().any(|direct| std::ptr::eq(&**direct, &**capability));
            let is_reached = is_direct
                || view.is_searchable(capability)
                || view.is_on_demand(capability)
                || view.progressive.iter().any(|one| std::ptr::eq(&**one, &**capability));
            let tools = capability.discovery.iter().flat_map(|known| &known.tools);
            for uri in tools.filter(|_| is_reached).filter_map(|tool| page_of(tool)) {
                if is_direct || uri.starts_with(UI_SCHEME) {
                    uris.add(uri, capability);
                }
            }
        }
        uris
    }

    fn add(&mut self, uri: String, capability: &Capability) {
        let id = &capability.definition.id;
        let owner = self.0.entry(uri).or_insert_with(|| Some(id.clone()));
        if owner.as_ref() != Some(id) {
            *owner = None;
        }
    }

    pub(super) fn owner(&self, uri: &str) -> Option<&CapabilityId> {
        self.0.get(uri)?.as_ref()
    }

    pub(super) fn is_ambiguous(&self, uri: &str) -> bool {
        matches!(self.0.get(uri), Some(None))
    }
}

pub(super) fn page_of(tool: &Tool) -> Option<String> {
    let meta: RawMembers = serde_json::from_str(tool.raw().get("_meta")?.get()).ok()?;
    let ui: RawMembers = serde_json::from_str(meta.get("ui")?.get()).ok()?;
    raw::string(ui.get("resourceUri")?)
}

pub(super) fn set_page(listed: &mut RawMembers, uri: &str) -> Option<()> {
    let mut meta: RawMembers = serde_json::from_str(listed.get("_meta")?.get()).ok()?;
    let mut ui: RawMembers = serde_json::from_str(meta.get("ui")?.get()).ok()?;
    ui.extend(raw::object([("resourceUri", json!(uri))]));
    meta.insert("ui".to_owned(), serde_json::value::to_raw_value(&ui).ok()?);
    listed.insert("_meta".to_owned(), serde_json::value::to_raw_value(&meta).ok()?);
    Some(())
}
