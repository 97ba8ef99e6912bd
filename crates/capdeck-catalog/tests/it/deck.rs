//! Decks made of given tools, for tests and for the search measurement.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use capdeck_catalog::{BuildInputs, Catalog, Discovery, HeldTools, ProjectTrust, Tool, build};
use capdeck_definition::{CapabilityId, Deck, Definition, DefinitionSource, Exposure, SourceLayer};
use serde::Deserialize;
use serde_json::json;

/// The tools of one server.
pub(crate) struct Server {
    pub(crate) id: String,
    pub(crate) tools: Vec<Arc<Tool>>,
}

/// One question and the tools that answer it, each as `server/tool`.
#[derive(Deserialize)]
pub(crate) struct Question {
    pub(crate) query: String,
    pub(crate) expect: Vec<String>,
}

pub(crate) fn definition(id: &str, layer: SourceLayer) -> Definition {
    let backend = serde_json::from_value(json!({"kind": "mcp", "command": "server"})).unwrap();
    let source = DefinitionSource { layer, path: PathBuf::from(format!("{layer:?}/{id}.md")) };
    Definition::new(CapabilityId::new(id).unwrap(), backend, source)
}

/// A catalog of servers whose tools are known.
pub(crate) fn catalog(servers: Vec<Server>) -> Catalog {
    let definitions =
        servers.iter().map(|server| definition(&server.id, SourceLayer::UserFile)).collect();
    let known: HashMap<String, Arc<Discovery>> = servers
        .into_iter()
        .map(|server| {
            (server.id, Arc::new(Discovery { tools: server.tools, ..Discovery::default() }))
        })
        .collect();
    catalog_of(definitions, &|definition| known.get(definition.id.as_str()).cloned())
}

/// A catalog of definitions and what is known of their tools.
pub(crate) fn catalog_of(
    definitions: Vec<Definition>,
    discoveries: &dyn Fn(&Definition) -> Option<Arc<Discovery>>,
) -> Catalog {
    let definitions = definitions.into_iter().map(Arc::new).collect();
    build_deck(&Deck { definitions, ..Deck::default() }, discoveries, &|_, _| HeldTools::new())
}

/// The catalog of a trusted deck.
pub(crate) fn build_deck(
    deck: &Deck,
    discoveries: &dyn Fn(&Definition) -> Option<Arc<Discovery>>,
    held: &dyn Fn(&Definition, &Arc<Discovery>) -> HeldTools,
) -> Catalog {
    let facts = BuildInputs {
        trust: ProjectTrust::Trusted,
        has_project: true,
        setup_done: &|_| true,
        discoveries,
        held,
        default_exposure: Exposure::Search,
    };
    build(deck, &facts, None)
}

/// The recorded tool lists of public servers, when this checkout has them beside it.
pub(crate) fn recorded_servers() -> Option<Vec<Server>> {
    let folder = repository().join("../shared/data/toollists");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let servers = paths.iter().filter(|path| path.file_stem().unwrap() != "INDEX").map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let list: Discovery = serde_json::from_str(&text).unwrap();
        Server { id: path.file_stem().unwrap().to_str().unwrap().to_owned(), tools: list.tools }
    });
    Some(servers.collect())
}

/// The questions of a set: `train`, which the ranking learns from, or `held-out`.
pub(crate) fn questions(set: &str) -> Vec<Question> {
    let path = repository().join(format!("bench/queries/{set}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
