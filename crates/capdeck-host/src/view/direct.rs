//! Resources, templates and prompts of direct capabilities and of members of sets, under names of
//! the deck.
//!
//! A resource `file:///a` of `fs` is `caplets://fs/resources/file%3A%2F%2F%2Fa`; a template is one
//! URI with the encoded real template as its `template` parameter; a prompt `p` is `fs__p`.

use std::sync::Arc;

use capdeck_catalog::{Capability, NameTable, RawMembers};
use capdeck_definition::Backend;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{json, value::RawValue};

use super::{META_TOOLS, View, list_repair::drop_invalid_fields, tool_list::add_origin};
use crate::{artifacts, raw};

const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

const SCHEME: &str = "caplets://";

/// The target of a listed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRoute {
    pub capability: String,
    pub prompt: String,
}

impl View {
    /// The listed resources as one JSON array.
    pub fn resources(&self) -> Box<RawValue> {
        self.render(|capability, id| {
            let known = capability.discovery.as_ref()?;
            Some(known.resources.iter().filter_map(|one| resource(id, one)).collect())
        })
    }

    /// The listed resource templates as one JSON array.
    pub fn resource_templates(&self) -> Box<RawValue> {
        let mut all = self.rows(|capability, id| {
            let known = capability.discovery.as_ref()?;
            Some(known.resource_templates.iter().filter_map(|one| template(id, one)).collect())
        });
        if self.may_give_artifacts() {
            all.push(artifacts::template());
        }
        serde_json::value::to_raw_value(&all).unwrap_or_default()
    }

    /// The listed prompts as one JSON array.
    pub fn prompts(&self) -> Box<RawValue> {
        let names = self.prompt_names();
        self.render(|capability, id| {
            let known = capability.discovery.as_ref()?;
            Some(known.prompts.iter().filter_map(|one| prompt(&names, id, one)).collect())
        })
    }

    /// Resolves a listed prompt.
    pub fn prompt_route(&self, name: &str) -> Option<PromptRoute> {
        let names = self.prompt_names();
        let owner = names.owner(name)?;
        Some(PromptRoute { capability: owner.capability.clone(), prompt: owner.tool.clone()? })
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
        self.offering().iter().find(|capability| capability.definition.id.as_str() == id)?;
        let real = percent_decode_str(encoded).decode_utf8().ok()?;
        Some((id.to_owned(), real.into_owned()))
    }

    /// Resolves a listed template to its capability and the server's own template.
    pub fn template_route(&self, uri: &str) -> Option<(String, String)> {
        let (id, rest) = uri.strip_prefix(SCHEME)?.split_once("/resources/")?;
        let (_, encoded) = rest.split_once("?template=")?;
        self.offering().iter().find(|capability| capability.definition.id.as_str() == id)?;
        let real = percent_decode_str(encoded).decode_utf8().ok()?;
        Some((id.to_owned(), real.into_owned()))
    }

    fn render(&self, rows: impl Fn(&Capability, &str) -> Option<Vec<RawMembers>>) -> Box<RawValue> {
        serde_json::value::to_raw_value(&self.rows(rows)).unwrap_or_default()
    }

    fn rows(&self, rows: impl Fn(&Capability, &str) -> Option<Vec<RawMembers>>) -> Vec<RawMembers> {
        self.offering()
            .iter()
            .filter_map(|capability| rows(capability, capability.definition.id.as_str()))
            .flatten()
            .collect()
    }

    /// True when a result may be stored as an artifact. Servers' own results are only with a limit.
    fn may_give_artifacts(&self) -> bool {
        let on_demand = self.catalog.capabilities().filter(|one| self.is_on_demand(one));
        let reached = self.direct.iter().chain(&self.progressive).chain(self.searchable());
        let reached = reached.chain(on_demand);
        let is_server = |one: &Arc<Capability>| matches!(one.definition.backend, Backend::Mcp(_));
        let limited = self.catalog.config().result_bytes.is_some();
        reached.into_iter().any(|capability| limited || !is_server(capability))
    }

    fn prompt_names(&self) -> NameTable {
        let prompts: Vec<(&str, String)> = self
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
}

pub(crate) fn resource_uri(id: &str, uri: &str) -> String {
    format!("{SCHEME}{id}/resources/{}", utf8_percent_encode(uri, COMPONENT))
}

fn resource(id: &str, object: &RawMembers) -> Option<RawMembers> {
    let uri = raw::string(object.get("uri")?)?;
    let mut listed = object.clone();
    drop_invalid_fields(&mut listed);
    listed.extend(raw::object([("uri", json!(resource_uri(id, &uri)))]));
    add_origin(&mut listed, json!({ "capletId": id, "downstreamUri": uri }));
    Some(listed)
}

fn template(id: &str, object: &RawMembers) -> Option<RawMembers> {
    let real = raw::string(object.get("uriTemplate")?)?;
    let name = object.get("name").and_then(|name| raw::string(name)).unwrap_or_default();
    let encoded = utf8_percent_encode(&real, COMPONENT);
    let uri = format!("{SCHEME}{id}/resources/{{encodedUri}}?template={encoded}");
    let mut listed = object.clone();
    drop_invalid_fields(&mut listed);
    listed.extend(raw::object([
        ("uriTemplate", json!(uri)),
        ("name", json!(format!("{id}:{name}"))),
    ]));
    add_origin(&mut listed, json!({ "capletId": id, "downstreamUriTemplate": real }));
    Some(listed)
}

fn prompt(names: &NameTable, id: &str, object: &RawMembers) -> Option<RawMembers> {
    let real = raw::string(object.get("name")?)?;
    let name = names.tool_name(id, &real)?;
    let mut listed = object.clone();
    drop_invalid_fields(&mut listed);
    listed.extend(raw::object([("name", json!(name))]));
    add_origin(&mut listed, json!({ "capletId": id, "downstreamName": real }));
    Some(listed)
}
