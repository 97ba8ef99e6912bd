//! Resources, templates and prompts of direct capabilities and of members of sets, under names of
//! the deck.
//!
//! A resource `file:///a` of `fs` is `caplets://fs/resources/file%3A%2F%2F%2Fa`; a template is one
//! URI with the encoded real template as its `template` parameter; a prompt `p` is `fs__p`.

use std::{collections::HashMap, sync::Arc};

use capdeck_backend::encode_segment;
use capdeck_catalog::{Capability, Discovery, NameTable, RawMembers, Tool};
use capdeck_definition::{Backend, CapabilityId};
use percent_encoding::percent_decode_str;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{
    META_TOOLS, View,
    tool_list::{add_origin, drop_invalid_fields},
};
use crate::{artifacts, raw};

const SCHEME: &str = "caplets://";

impl View {
    /// The listed resources as one JSON array.
    pub fn resources(&self) -> Box<RawValue> {
        let rows = list_rows(self, |known| &known.resources, resource);
        to_raw_value(&rows).unwrap_or_default()
    }

    /// The listed resource templates as one JSON array.
    pub fn resource_templates(&self) -> Box<RawValue> {
        let mut rows = list_rows(self, |known| &known.resource_templates, template);
        if may_give_artifacts(self) {
            rows.push(artifacts::template());
        }
        to_raw_value(&rows).unwrap_or_default()
    }

    /// The listed prompts as one JSON array.
    pub fn prompts(&self) -> Box<RawValue> {
        let names = prompt_names(self);
        let rows = list_rows(self, |known| &known.prompts, |id, one| prompt(&names, id, one));
        to_raw_value(&rows).unwrap_or_default()
    }

    /// Resolves a listed prompt to its capability and the server's own name.
    pub fn prompt_route(&self, name: &str) -> Option<(String, String)> {
        let names = prompt_names(self);
        let owner = names.owner(name)?;
        Some((owner.capability.clone(), owner.tool.clone()?))
    }

    /// Resolves a listed resource to its capability and the server's own URI. The server's own URI
    /// works as well while only one capability has it.
    pub fn resource_route(&self, uri: &str) -> Option<(String, String)> {
        if uri.starts_with(SCHEME) {
            return self.named_route(uri);
        }
        let owner = self.originals().owner(uri)?;
        Some((owner.to_string(), uri.to_owned()))
    }

    pub(crate) fn named_route(&self, uri: &str) -> Option<(String, String)> {
        let (id, rest) = uri.strip_prefix(SCHEME)?.split_once("/resources/")?;
        let encoded = rest.split_once('?').map_or(rest, |(encoded, _)| encoded);
        original(self, id, encoded)
    }

    /// Resolves a listed template to its capability and the server's own template.
    pub fn template_route(&self, uri: &str) -> Option<(String, String)> {
        let (id, rest) = uri.strip_prefix(SCHEME)?.split_once("/resources/")?;
        let (_, encoded) = rest.split_once("?template=")?;
        original(self, id, encoded)
    }
}

fn original(view: &View, id: &str, encoded: &str) -> Option<(String, String)> {
    view.offering().iter().find(|capability| capability.definition.id.as_str() == id)?;
    let real = percent_decode_str(encoded).decode_utf8().ok()?;
    Some((id.to_owned(), real.into_owned()))
}

fn list_rows(
    view: &View,
    list: impl Fn(&Discovery) -> &Vec<RawMembers>,
    row: impl Fn(&str, &RawMembers) -> Option<RawMembers>,
) -> Vec<RawMembers> {
    let rows = view.offering().iter().flat_map(|capability| {
        let known = capability.discovery.iter().flat_map(|known| list(known));
        known.filter_map(|one| row(capability.definition.id.as_str(), one))
    });
    rows.collect()
}

/// True when a result may be stored as an artifact. Servers' own results are only with a limit.
fn may_give_artifacts(view: &View) -> bool {
    let on_demand = view.catalog.capabilities().filter(|one| view.is_on_demand(one));
    let reached = view.direct.iter().chain(&view.progressive).chain(view.searchable());
    let reached = reached.chain(on_demand);
    let is_server = |one: &Arc<Capability>| matches!(one.definition.backend, Backend::Mcp(_));
    let limited = view.catalog.config().result_bytes.is_some();
    reached.into_iter().any(|capability| limited || !is_server(capability))
}

fn prompt_names(view: &View) -> NameTable {
    let prompts: Vec<(&str, String)> = view
        .offering()
        .iter()
        .flat_map(|capability| {
            let id = capability.definition.id.as_str();
            let prompts = capability.discovery.iter().flat_map(|known| &known.prompts);
            prompts.filter_map(move |prompt| Some((id, raw::string(prompt.get("name")?)?)))
        })
        .collect();
    let pairs = prompts.iter().map(|(id, name)| (*id, name.as_str()));
    NameTable::build(&META_TOOLS, [], pairs)
}

pub(crate) fn resource_uri(id: &str, uri: &str) -> String {
    format!("{SCHEME}{id}/resources/{}", encode_segment(uri))
}

fn resource(id: &str, object: &RawMembers) -> Option<RawMembers> {
    let uri = raw::string(object.get("uri")?)?;
    let listed = [("uri", json!(resource_uri(id, &uri)))];
    Some(listed_row(object, listed, json!({ "capletId": id, "downstreamUri": uri })))
}

fn template(id: &str, object: &RawMembers) -> Option<RawMembers> {
    let real = raw::string(object.get("uriTemplate")?)?;
    let name = object.get("name").and_then(|name| raw::string(name)).unwrap_or_default();
    let encoded = encode_segment(&real);
    let uri = format!("{SCHEME}{id}/resources/{{encodedUri}}?template={encoded}");
    let listed = [("uriTemplate", json!(uri)), ("name", json!(format!("{id}:{name}")))];
    Some(listed_row(object, listed, json!({ "capletId": id, "downstreamUriTemplate": real })))
}

fn prompt(names: &NameTable, id: &str, object: &RawMembers) -> Option<RawMembers> {
    let real = raw::string(object.get("name")?)?;
    let listed = [("name", json!(names.tool_name(id, &real)?))];
    Some(listed_row(object, listed, json!({ "capletId": id, "downstreamName": real })))
}

/// A row of a server's list under the deck's names, with its origin.
fn listed_row<const N: usize>(
    object: &RawMembers,
    names: [(&str, Value); N],
    origin: Value,
) -> RawMembers {
    let mut listed = object.clone();
    drop_invalid_fields(&mut listed);
    listed.extend(raw::object(names));
    add_origin(&mut listed, origin);
    listed
}

const UI_SCHEME: &str = "ui://";

/// Servers' own URIs that clients know: a tool names its page in `_meta.ui.resourceUri`, and apps
/// request it by that URI. They work in the deck while they are unambiguous: `None` when several
/// capabilities use the same URI.
#[derive(Debug, Default)]
pub(super) struct OriginalUris(HashMap<String, Option<CapabilityId>>);

impl OriginalUris {
    pub(super) fn from_view(view: &View) -> Self {
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
    let meta: RawMembers = raw::get(tool.raw(), "_meta")?;
    raw::get(&raw::get(&meta, "ui")?, "resourceUri")
}

pub(super) fn set_page(listed: &mut RawMembers, uri: &str) -> Option<()> {
    let mut meta: RawMembers = raw::get(listed, "_meta")?;
    let mut ui: RawMembers = raw::get(&meta, "ui")?;
    raw::set(&mut ui, "resourceUri", uri);
    raw::set(&mut meta, "ui", &ui);
    raw::set(listed, "_meta", &meta);
    Some(())
}
