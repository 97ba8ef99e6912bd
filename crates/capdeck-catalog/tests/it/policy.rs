//! What a client may know: denied and held things are nowhere.

use std::sync::Arc;

use capdeck_catalog::{
    Catalog, CatalogPart, Discovery, HeldTools, HoldReason, RuleClearance, ToolSearchRequest,
    screen,
};
use capdeck_definition::{
    CapabilityId, Deck, Definition, PinMode, PolicyEffect, PolicyRule, SourceLayer,
};
use serde_json::{Value, json};

use crate::deck::{build_deck, definition};

fn discovery(names: &[&str]) -> Arc<Discovery> {
    let tools: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "description": format!("The words of {name}"),
                "annotations": { "destructiveHint": name.starts_with("delete") },
            })
        })
        .collect();
    Arc::new(serde_json::from_value(json!({ "tools": tools })).unwrap())
}

fn set(id: &str) -> Definition {
    let backend = json!({ "kind": "caplets", "capletsRoot": "x" });
    Definition {
        backend: serde_json::from_value(backend).unwrap(),
        ..definition(id, SourceLayer::UserFile)
    }
}

fn member(set: &str, child: &str) -> Definition {
    Definition {
        member_of: Some(CapabilityId::new(set).unwrap()),
        ..definition(&format!("{set}__{child}"), SourceLayer::SetFile)
    }
}

fn catalog(rules: &[(PolicyEffect, Value)], held: &[(&str, &str)]) -> Arc<Catalog> {
    let definitions = vec![
        definition("files", SourceLayer::UserFile),
        definition("prod", SourceLayer::UserFile),
        set("kit"),
        member("kit", "osv"),
        member("kit", "npm"),
    ];
    let mut deck =
        Deck { definitions: definitions.into_iter().map(Arc::new).collect(), ..Deck::default() };
    deck.config.pins = PinMode::Block;
    deck.config.policy.user = rules
        .iter()
        .map(|(effect, about)| PolicyRule {
            effect: *effect,
            about: serde_json::from_value(about.clone()).unwrap(),
        })
        .collect();
    let known = |definition: &Definition| {
        Some(match definition.id.as_str() {
            "kit" => discovery(&["osv", "npm"]),
            _ => discovery(&["read_file", "delete_file"]),
        })
    };
    let holds = |definition: &Definition, _: &Arc<Discovery>| {
        held.iter()
            .filter(|(id, _)| *id == definition.id.as_str())
            .map(|(_, tool)| ((*tool).to_owned(), HoldReason::Changed))
            .collect::<HeldTools>()
    };
    Arc::new(build_deck(&deck, &known, &holds))
}

fn seen_by(catalog: &Arc<Catalog>, principal: &str) -> Arc<Catalog> {
    screen(
        catalog,
        &RuleClearance::for_client(&catalog.config().policy, &[principal]),
        &CatalogPart::Everything,
        None,
    )
}

fn tools(catalog: &Catalog) -> Vec<String> {
    let of = |capability: &Arc<capdeck_catalog::Capability>| {
        let known = capability.discovery.as_ref().unwrap();
        let id = capability.definition.id.clone();
        known.tools.iter().map(|tool| format!("{id}.{}", tool.name())).collect::<Vec<_>>()
    };
    catalog.capabilities().flat_map(of).collect()
}

#[test]
fn a_catalog_without_denials_is_shared_as_it_is() {
    let catalog = catalog(&[(PolicyEffect::Ask, json!({})), (PolicyEffect::Allow, json!({}))], &[]);
    assert!(Arc::ptr_eq(&seen_by(&catalog, "anyone"), &catalog));
}

#[test]
fn denied_tools_are_not_listed_found_or_suggested() {
    let catalog =
        catalog(&[(PolicyEffect::Deny, json!({ "capability": "files", "tool": "delete_*" }))], &[]);
    let seen = seen_by(&catalog, "anyone");
    assert!(seen.tool("files", "delete_file").is_none());
    assert!(seen.tool("prod", "delete_file").is_some());
    assert_ne!(seen.nearest_tool("files", "delete_fil"), Some("delete_file"));
    let request = ToolSearchRequest {
        query: "delete file",
        within: Some("files"),
        limit: 10,
        cursor: None,
        allowed: &|_| true,
    };
    let page = seen.search(&request).unwrap();
    let found: Vec<_> = page.hits.iter().filter_map(|hit| hit.tool.as_ref()).collect();
    assert!(found.iter().all(|tool| tool.name() != "delete_file"));
    assert_eq!(seen.version(), catalog.version());
}

#[test]
fn only_the_named_clients_are_denied() {
    let rule = json!({ "annotation": "destructive", "principal": "agent-*" });
    let catalog = catalog(&[(PolicyEffect::Deny, rule)], &[]);
    let denied = tools(&seen_by(&catalog, "agent-7"));
    assert!(denied.iter().all(|tool| !tool.ends_with("delete_file")), "{denied:?}");
    assert!(Arc::ptr_eq(&seen_by(&catalog, "editor"), &catalog));
}

#[test]
fn a_denied_capability_is_gone_and_leaves_its_set() {
    let catalog = catalog(&[(PolicyEffect::Deny, json!({ "capability": "kit__osv" }))], &[]);
    let seen = seen_by(&catalog, "anyone");
    assert!(seen.get("kit__osv").is_none());
    assert_ne!(seen.nearest_capability("kit__os"), Some("kit__osv"));
    assert!(seen.tool("kit", "osv").is_none());
    assert!(seen.tool("kit", "npm").is_some());
}

#[test]
fn a_denied_set_takes_its_members_along() {
    let catalog = catalog(&[(PolicyEffect::Deny, json!({ "capability": "kit" }))], &[]);
    let seen = seen_by(&catalog, "anyone");
    let ids: Vec<_> = seen.capabilities().map(|one| one.definition.id.as_str()).collect();
    assert_eq!(ids, ["files", "prod"]);
}

#[test]
fn held_tools_are_kept_from_everybody() {
    let catalog = catalog(&[], &[("prod", "read_file")]);
    let seen = seen_by(&catalog, "anyone");
    assert!(seen.tool("prod", "read_file").is_none());
    assert!(seen.tool("prod", "delete_file").is_some());
    assert!(seen.tool("files", "read_file").is_some());
    assert_eq!(seen.get("prod").unwrap().held.len(), 1);
}
