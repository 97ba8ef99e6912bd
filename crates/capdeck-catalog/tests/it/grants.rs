//! What a client may know that needs grants: nothing else than they name, and never what they deny.

use std::sync::Arc;

use capdeck_access::{DeckAccess, DeckGrant, GrantTools};
use capdeck_catalog::{Catalog, CatalogPart, Discovery, HeldTools, RuleClearance, screen};
use capdeck_definition::{CapabilityId, Deck, Definition, Exposure, Glob, SourceLayer};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::deck::{build_deck, definition};

const TOOLS: [&str; 4] = ["read", "read_all", "drop", "drop/all"];

fn deck() -> Arc<Catalog> {
    let set = Definition {
        backend: serde_json::from_value(json!({ "kind": "caplets", "capletsRoot": "x" })).unwrap(),
        ..definition("kit", SourceLayer::UserFile)
    };
    let member = |child: &str| Definition {
        member_of: Some(CapabilityId::new("kit").unwrap()),
        ..definition(&format!("kit__{child}"), SourceLayer::SetFile)
    };
    let plain = |id: &str| definition(id, SourceLayer::UserFile);
    let all = [plain("files"), plain("filing"), plain("prod"), set, member("osv"), member("npm")];
    let deck = Deck { definitions: all.into_iter().map(Arc::new).collect(), ..Deck::default() };
    let known = |definition: &Definition| {
        let names = match definition.id.as_str() {
            "kit" => &["osv", "npm"][..],
            _ => &TOOLS[..],
        };
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let offer = json!({ "tools": tools, "resources": [{ "uri": "x://a", "name": "a" }] });
        Some(Arc::new(serde_json::from_value::<Discovery>(offer).unwrap()))
    };
    Arc::new(build_deck(&deck, &known, &|_, _| HeldTools::new()))
}

fn seen(catalog: &Arc<Catalog>, grants: &[DeckGrant]) -> Arc<Catalog> {
    let no_one = RuleClearance::for_client(&catalog.config().policy, &["somebody"]);
    let access = DeckAccess::new(grants, false, GrantTools::None);
    screen(catalog, &no_one, &CatalogPart::Everything, Some(&access))
}

fn tools(catalog: &Catalog) -> Vec<String> {
    let of = |one: &Arc<capdeck_catalog::Capability>| {
        let id = one.definition.id.clone();
        let known = one.discovery.clone().unwrap();
        known.tools.iter().map(|tool| format!("{id}/{}", tool.name())).collect::<Vec<_>>()
    };
    catalog.capabilities().flat_map(of).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn grant(capabilities: &[&str], tools: &[&str], denied: &[&str]) -> DeckGrant {
    DeckGrant {
        capabilities: texts(capabilities),
        tools: texts(tools),
        denied_tools: texts(denied),
        modes: Vec::new(),
    }
}

#[test]
fn security_18_only_what_is_granted_exists() {
    let whole = deck();
    let nothing = seen(&whole, &[]);
    assert_eq!(nothing.capabilities().len(), 0);
    assert!(!nothing.is_open());
    let files = seen(&whole, &[grant(&["files"], &[], &["files/drop*"])]);
    assert_eq!(tools(&files), ["files/read", "files/read_all"]);
    assert_eq!(files.get("files").unwrap().discovery.as_ref().unwrap().resources.len(), 1);
    assert_eq!(files.nearest_capability("filin"), Some("files"));
    let some = seen(&whole, &[grant(&["*"], &["fil*/read"], &[])]);
    assert_eq!(tools(&some), ["files/read", "filing/read"]);
    let part = some.get("files").unwrap();
    assert!(part.tools_only && part.discovery.as_ref().unwrap().resources.is_empty());
    // Everything is as good as no grants at all, but for what changes later.
    assert_eq!(tools(&seen(&whole, &[grant(&["*"], &[], &[])])), tools(&whole));
}

#[test]
fn sets_are_granted_with_their_members() {
    let whole = deck();
    let kit = seen(&whole, &[grant(&["kit"], &[], &["kit__npm"])]);
    let expected = ["kit/osv", "kit__osv/read", "kit__osv/read_all", "kit__osv/drop"];
    assert!(tools(&kit).starts_with(&expected.map(str::to_owned)), "{:?}", tools(&kit));
    assert!(kit.get("kit__npm").is_none());
    let member = seen(&whole, &[grant(&["kit__npm"], &["kit__npm/read"], &[])]);
    assert_eq!(tools(&member), ["kit/npm", "kit__npm/read"]);
    // What is denied of the set is denied of every member.
    let less = seen(&whole, &[grant(&["kit"], &[], &["kit/drop*"])]);
    assert!(!tools(&less).iter().any(|tool| tool.contains("drop")));
}

#[test]
fn modes_go_with_the_capability() {
    let whole = deck();
    let searched = DeckGrant { modes: texts(&["search"]), ..grant(&["files"], &[], &[]) };
    let seen = seen(&whole, &[searched, grant(&["prod"], &[], &[])]);
    let restrict = |id: &str| seen.get(id).unwrap().restrict(Exposure::Direct);
    assert_eq!(restrict("files"), Exposure::Search);
    assert_eq!(restrict("prod"), Exposure::Direct);
    assert!(!seen.get("files").unwrap().may_be_served_alone());
}

/// Patterns that are likely to meet something.
fn pattern() -> impl Strategy<Value = String> {
    let capability = prop::sample::select(vec![
        "*", "files", "fil*", "f?les", "prod", "kit", "kit__*", "kit__npm", "other", "",
    ]);
    let tool = prop::sample::select(vec!["", "/*", "/read", "/read*", "/drop*", "/drop/all", "/"]);
    (capability, tool).prop_map(|(capability, tool)| format!("{capability}{tool}"))
}

fn any_grant() -> impl Strategy<Value = DeckGrant> {
    let capability = pattern().prop_map(|text| text.split('/').next().unwrap().to_owned());
    let modes = prop::sample::select(vec!["direct", "search", "code_mode", "sideways"]);
    (
        prop::collection::vec(capability, 0..3),
        prop::collection::vec(pattern(), 0..3),
        prop::collection::vec(pattern(), 0..3),
        prop::collection::vec(modes.prop_map(str::to_owned), 0..2),
    )
        .prop_map(|(capabilities, tools, denied_tools, modes)| DeckGrant {
            capabilities,
            tools,
            denied_tools,
            modes,
        })
}

/// The rule in the plainest words: some grant names it, none denies it.
fn may_have(grants: &[DeckGrant], ids: &[&str], tool: &str) -> bool {
    let is = |pattern: &str, name: &str| Glob::new(pattern).matches(name);
    let fits = |pattern: &String| {
        let (capability, name) = pattern.split_once('/').unwrap_or((pattern, "*"));
        ids.iter().any(|id| is(capability, id)) && is(name, tool)
    };
    let gives = |grant: &DeckGrant| {
        grant.capabilities.iter().any(|pattern| ids.iter().any(|id| is(pattern, id)))
            && (grant.tools.is_empty() || grant.tools.iter().any(fits))
    };
    grants.iter().any(gives) && !grants.iter().any(|grant| grant.denied_tools.iter().any(fits))
}

proptest! {
    #[test]
    fn security_18_what_is_seen_is_part_of_the_whole(grants in prop::collection::vec(any_grant(), 0..4)) {
        let whole = deck();
        let seen = seen(&whole, &grants);
        let (all, some) = (tools(&whole), tools(&seen));
        for tool in &some {
            prop_assert!(all.contains(tool), "{tool} is nowhere else");
        }
        for one in whole.capabilities() {
            let id = one.definition.id.as_str();
            if id == "kit" {
                continue;
            }
            let ids = whole.with_sets(one);
            for tool in TOOLS {
                let is_seen = some.contains(&format!("{id}/{tool}"));
                prop_assert_eq!(is_seen, may_have(&grants, &ids, tool), "{} of {:?}", tool, ids);
            }
        }
        // The one who sees a member sees its set, and a set leads to nothing but to what is seen.
        for child in ["osv", "npm"] {
            let member = seen.get(&format!("kit__{child}"));
            prop_assert!(member.is_none() || seen.get("kit").is_some());
            let leads_there = some.contains(&format!("kit/{child}"));
            prop_assert!(member.is_some() || !leads_there);
        }
    }
}
