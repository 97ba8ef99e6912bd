use capdeck_definition::{Exposure, SourceLayer};
use serde_json::json;

use super::*;
use crate::{CapabilityStatus, Discovery, Tool, build::tests::definition};

fn capability(number: usize) -> Arc<Capability> {
    let tool = |tool: usize| -> Arc<Tool> {
        let definition = json!({
            "name": format!("shared_list_things{tool}"),
            "description": format!("Lists the things of kind k{number}. Common words."),
            "inputSchema": {"properties": {format!("p{tool}"): {"description": "a parameter"}}}
        });
        Arc::new(serde_json::from_value(definition).unwrap())
    };
    let known = Discovery { tools: (0..number).map(tool).collect(), ..Discovery::default() };
    Arc::new(Capability {
        pins: capdeck_definition::PinMode::Off,
        held: Arc::default(),
        definition: Arc::new(definition(&format!("c{number:02}"), SourceLayer::UserFile)),
        status: CapabilityStatus::Ready,
        exposure: Exposure::Search,
        tools_only: false,
        modes: None,
        exposure_is_explicit: false,
        shadows: Vec::new(),
        // Every third one has not been asked yet.
        discovery: (!number.is_multiple_of(3)).then(|| Arc::new(known)),
    })
}

#[test]
fn reading_in_parts_gives_the_same_index() {
    let capabilities: Vec<Arc<Capability>> = (0..20).map(capability).collect();
    let all: Vec<&Arc<Capability>> = capabilities.iter().collect();
    let whole = IndexBuilder::from_capabilities(&all).finish();
    for share in [1, 7, 50, 1_000] {
        let parts = split(&all, share);
        assert_eq!(parts.concat().len(), all.len());
        let mut builders = parts.into_iter().map(IndexBuilder::from_capabilities);
        let mut joined = builders.next().unwrap();
        builders.for_each(|builder| joined.absorb(builder));
        let joined = joined.finish();
        let facts = |index: &ToolIndex| {
            let terms = index.terms.terms.clone();
            let ranges: Vec<_> =
                index.capabilities.iter().map(|indexed| indexed.documents.clone()).collect();
            let mut cards: Vec<_> = index.cards.clone().into_iter().collect();
            cards.sort_by_key(|(term, _)| *term);
            let postings = (
                index.starts.clone(),
                index.documents.clone(),
                index.strengths.clone(),
                index.fields.clone(),
                index.traits.clone(),
            );
            (terms, ranges, cards, postings, index.name_starts.clone(), index.name_words.clone())
        };
        assert_eq!(facts(&joined), facts(&whole), "parts of {share}");
    }
}
