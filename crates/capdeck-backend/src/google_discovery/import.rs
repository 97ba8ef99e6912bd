//! From a document to tools: everything that can be imported, and a list of what cannot.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_catalog::{Discovery, ImportProblem, RawObject, Tool};
use capdeck_definition::CapabilityId;
use serde_json::{Map, Value, value::to_raw_value};

use super::{
    document::{Document, Entry},
    filter::Filter,
    method::Method,
    schema::Flaws,
    scopes::narrowest,
    tool::definition,
};

/// What came of a document.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) methods: BTreeMap<String, Method>,
    pub(super) discovery: Discovery,
}

/// Imports the methods a filter accepts.
pub(super) fn import(document: &Document, id: &CapabilityId, filter: &Filter) -> Import {
    let no_schemas = Map::new();
    let schemas = document.schemas().unwrap_or(&no_schemas);
    let mut flaws = Flaws::new();
    let mut problems = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut methods = BTreeMap::new();
    let mut tools = BTreeMap::new();
    for entry in document.methods() {
        let name = name(&entry, id, &methods);
        names.push(name.clone());
        if !filter.accepts(&name) {
            continue;
        }
        // A method whose own name is empty is found among the methods of the document.
        let place = if entry.place.is_empty() { "methods" } else { &entry.place }.to_owned();
        let read = if methods.contains_key(&name) {
            Err(format!("another method is also called `{name}`"))
        } else {
            Method::read(name, &entry, document.parameters())
        };
        let described = read.and_then(|(method, parameters)| {
            let tool = definition(&method, entry.method, &parameters, schemas, &mut flaws);
            let tool = to_tool(&tool).ok_or("it cannot be described")?;
            Ok((method, tool))
        });
        match described {
            Ok((method, tool)) => {
                tools.insert(method.name.clone(), Arc::new(tool));
                methods.insert(method.name.clone(), method);
            }
            Err(reason) => problems.push(ImportProblem { place, reason }),
        }
    }
    problems.extend(flaws.into_iter().map(|(place, reason)| ImportProblem { place, reason }));
    problems.extend(filter.idle(&names).map(|(setting, pattern)| ImportProblem {
        place: setting.to_owned(),
        reason: format!("`{pattern}` names no method of the document"),
    }));
    let mut scopes: Vec<String> =
        methods.values().filter_map(|method| narrowest(&method.scopes)).cloned().collect();
    scopes.sort_unstable();
    scopes.dedup();
    let tools = tools.into_values().collect();
    let discovery = Discovery { tools, problems, scopes, ..Discovery::default() };
    Import { methods, discovery }
}

/// The method's own id. One without, or with that of another, is called after its place.
fn name(entry: &Entry<'_>, id: &CapabilityId, taken: &BTreeMap<String, Method>) -> String {
    let own = entry.method.get("id").and_then(Value::as_str).filter(|own| !own.is_empty());
    match own {
        Some(own) if !taken.contains_key(own) => own.to_owned(),
        _ => format!("{id}.{}", entry.place),
    }
}

fn to_tool(definition: &Map<String, Value>) -> Option<Tool> {
    let raw: Option<RawObject> = definition
        .iter()
        .map(|(key, value)| Some((key.clone(), to_raw_value(value).ok()?)))
        .collect();
    Tool::new(raw?)
}
