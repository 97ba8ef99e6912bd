use std::path::PathBuf;

use capdeck_definition::{
    DeckConfig, DefinitionSource, QuarantinedItem, SetupCommands, SourceLayer,
};
use serde_json::json;

use super::*;
use crate::Tool;

pub(crate) fn definition(id: &str, layer: SourceLayer) -> Definition {
    let backend = serde_json::from_value(json!({"kind": "mcp", "command": "server"})).unwrap();
    Definition::new(CapabilityId::new(id).unwrap(), backend, source(id, layer))
}

fn source(id: &str, layer: SourceLayer) -> DefinitionSource {
    DefinitionSource { layer, path: PathBuf::from(format!("{layer:?}/{id}.md")) }
}

fn member(set: &str, child: &str) -> Definition {
    let member_of = Some(CapabilityId::new(set).unwrap());
    Definition { member_of, ..definition(&format!("{set}__{child}"), SourceLayer::SetFile) }
}

fn deck(definitions: Vec<Definition>) -> Deck {
    Deck { definitions: definitions.into_iter().map(Arc::new).collect(), ..Deck::default() }
}

fn broken(id: &str, layer: SourceLayer) -> QuarantinedItem {
    QuarantinedItem {
        id: id.to_owned(),
        source: source(id, layer),
        reason: "no frontmatter".to_owned(),
    }
}

fn facts(trust: ProjectTrust) -> BuildInputs<'static> {
    BuildInputs {
        trust,
        has_project: false,
        setup_done: &|_| false,
        discoveries: &|_| None,
        held: &|_, _| crate::HeldTools::new(),
        default_exposure: Exposure::Search,
    }
}

fn untrusted() -> ProjectTrust {
    ProjectTrust::Untrusted { reason: "run `capdeck trust`".to_owned() }
}

/// Every capability in force as `id layer status [shadowed layers]`.
fn shown(catalog: &Catalog) -> Vec<String> {
    let line = |capability: &Arc<Capability>| {
        let status = match &capability.status {
            CapabilityStatus::Ready => "ready",
            CapabilityStatus::Stale { .. } => "stale",
            CapabilityStatus::Hidden { reason: HiddenReason::SetupRequired } => "setup",
            CapabilityStatus::Hidden { reason: HiddenReason::ProjectMissing } => "project",
            CapabilityStatus::Untrusted { .. } => "untrusted",
            CapabilityStatus::Disabled => "disabled",
        };
        let shadows: Vec<String> =
            capability.shadows.iter().map(|source| format!("{:?}", source.layer)).collect();
        let definition = &capability.definition;
        format!("{} {:?} {status} {shadows:?}", definition.id, definition.source.layer)
    };
    catalog.capabilities().map(line).collect()
}

#[track_caller]
fn check(deck: &Deck, trust: ProjectTrust, expected: &[&str]) -> Catalog {
    let catalog = build(deck, &facts(trust), None);
    assert_eq!(shown(&catalog), expected);
    catalog
}

#[test]
fn the_highest_layer_wins_and_reports_what_it_replaces() {
    let deck = deck(vec![
        definition("b", SourceLayer::UserConfig),
        definition("a", SourceLayer::UserConfig),
        definition("a", SourceLayer::UserFile),
        definition("a", SourceLayer::ProjectFile),
    ]);
    let expected = ["a ProjectFile ready [\"UserFile\", \"UserConfig\"]", "b UserConfig ready []"];
    let catalog = check(&deck, ProjectTrust::Trusted, &expected);
    assert_eq!(catalog.version(), 1);
    assert_eq!(build(&deck, &facts(ProjectTrust::Trusted), Some(&catalog)).version(), 2);
}

#[test]
fn untrusted_project_files_do_nothing_but_are_reported() {
    let deck = deck(vec![
        definition("a", SourceLayer::UserFile),
        definition("a", SourceLayer::ProjectFile),
        definition("b", SourceLayer::ProjectFile),
    ]);
    let expected = ["a UserFile ready []", "b ProjectFile untrusted []"];
    let catalog = check(&deck, untrusted(), &expected);
    let held_back = catalog.untrusted();
    assert_eq!(held_back.len(), 1);
    let capability = held_back.first().unwrap();
    assert_eq!(capability.definition.source.layer, SourceLayer::ProjectFile);
    assert_eq!(capability.shadows, [source("a", SourceLayer::UserFile)]);
    assert_eq!(
        capability.status,
        CapabilityStatus::Untrusted { reason: "run `capdeck trust`".to_owned() }
    );
}

#[test]
fn a_quarantined_entry_hides_the_layers_below_it() {
    let mut deck = deck(vec![
        definition("a", SourceLayer::UserConfig),
        definition("b", SourceLayer::UserFile),
    ]);
    deck.quarantined = vec![
        broken("a", SourceLayer::UserFile),
        broken("b", SourceLayer::UserConfig),
        broken("c", SourceLayer::UserFile),
    ];
    let catalog = check(&deck, ProjectTrust::Trusted, &["b UserFile ready []"]);
    assert_eq!(catalog.quarantined().len(), 3);
}

#[test]
fn a_broken_file_of_an_untrusted_project_hides_nothing() {
    let mut deck = deck(vec![definition("a", SourceLayer::UserFile)]);
    deck.quarantined = vec![broken("a", SourceLayer::ProjectFile)];
    check(&deck, untrusted(), &["a UserFile ready []"]);
    check(&deck, ProjectTrust::Trusted, &[]);
}

#[test]
fn the_last_good_form_of_a_broken_file_stays_as_stale() {
    let good = deck(vec![
        definition("a", SourceLayer::UserConfig),
        definition("a", SourceLayer::UserFile),
    ]);
    let first = build(&good, &facts(ProjectTrust::Trusted), None);
    let mut now = deck(vec![definition("a", SourceLayer::UserConfig)]);
    now.quarantined = vec![broken("a", SourceLayer::UserFile)];
    let second = build(&now, &facts(ProjectTrust::Trusted), Some(&first));
    assert_eq!(shown(&second), ["a UserFile stale [\"UserConfig\"]"]);
    let capability = second.get("a").unwrap();
    assert_eq!(capability.status, CapabilityStatus::Stale { reason: "no frontmatter".to_owned() });
    assert!(capability.is_usable());

    // Still broken at the next reload: still stale. Repaired: ready. Deleted: the lower one is back.
    let third = build(&now, &facts(ProjectTrust::Trusted), Some(&second));
    assert_eq!(shown(&third), ["a UserFile stale [\"UserConfig\"]"]);
    let repaired = build(&good, &facts(ProjectTrust::Trusted), Some(&third));
    assert_eq!(shown(&repaired), ["a UserFile ready [\"UserConfig\"]"]);
    now.quarantined.clear();
    let deleted = build(&now, &facts(ProjectTrust::Trusted), Some(&third));
    assert_eq!(shown(&deleted), ["a UserConfig ready []"]);
}

#[test]
fn another_file_of_the_same_id_is_no_last_good_form() {
    let first = build(
        &deck(vec![definition("a", SourceLayer::UserConfig)]),
        &facts(ProjectTrust::Trusted),
        None,
    );
    let mut now = deck(vec![definition("a", SourceLayer::UserConfig)]);
    now.quarantined = vec![broken("a", SourceLayer::UserFile)];
    assert!(shown(&build(&now, &facts(ProjectTrust::Trusted), Some(&first))).is_empty());
}

#[test]
fn a_broken_plural_or_config_file_keeps_all_it_declared() {
    let parent = CapabilityId::new("api").unwrap();
    let child = |name: &str| Definition {
        parent: Some(parent.clone()),
        source: source("api", SourceLayer::UserFile),
        ..definition(&format!("api__{name}"), SourceLayer::UserFile)
    };
    let config = DefinitionSource {
        layer: SourceLayer::UserConfig,
        path: PathBuf::from("deck/config.json"),
    };
    let entry =
        |id| Definition { source: config.clone(), ..definition(id, SourceLayer::UserConfig) };
    let good = deck(vec![
        entry("x"),
        entry("y"),
        child("one"),
        child("two"),
        definition("z", SourceLayer::UserFile),
    ]);
    let first = build(&good, &facts(ProjectTrust::Trusted), None);
    let whole = QuarantinedItem {
        id: "config.json".to_owned(),
        source: config,
        reason: "not JSON".to_owned(),
    };
    let now =
        Deck { quarantined: vec![broken("api", SourceLayer::UserFile), whole], ..Deck::default() };
    assert_eq!(
        shown(&build(&now, &facts(ProjectTrust::Trusted), Some(&first))),
        [
            "api__one UserFile stale []",
            "api__two UserFile stale []",
            "x UserConfig stale []",
            "y UserConfig stale []",
        ]
    );
}

#[test]
fn the_first_reason_not_to_use_a_capability_is_reported() {
    let with = |id: &str, change: fn(&mut Definition)| {
        let mut definition = definition(id, SourceLayer::ProjectFile);
        change(&mut definition);
        definition
    };
    let all = |definition: &mut Definition| {
        definition.disabled = true;
        definition.setup = Some(SetupCommands::default());
        definition.project_bound = true;
    };
    let enabled = |definition: &mut Definition| {
        definition.setup = Some(SetupCommands::default());
        definition.project_bound = true;
    };
    let deck =
        deck(vec![with("a", all), with("b", enabled), with("c", |one| one.project_bound = true)]);
    check(
        &deck,
        untrusted(),
        &["a ProjectFile disabled []", "b ProjectFile untrusted []", "c ProjectFile untrusted []"],
    );
    check(
        &deck,
        ProjectTrust::Trusted,
        &["a ProjectFile disabled []", "b ProjectFile setup []", "c ProjectFile project []"],
    );
    let ready =
        BuildInputs { has_project: true, setup_done: &|_| true, ..facts(ProjectTrust::Trusted) };
    let catalog = build(&deck, &ready, None);
    assert_eq!(
        shown(&catalog),
        ["a ProjectFile disabled []", "b ProjectFile ready []", "c ProjectFile ready []"]
    );
}

#[test]
fn members_share_the_state_of_their_set() {
    let disabled = Definition { disabled: true, ..definition("off", SourceLayer::UserFile) };
    let bound = Definition { project_bound: true, ..definition("bound", SourceLayer::UserFile) };
    let deck = deck(vec![
        disabled,
        member("off", "x"),
        bound,
        member("bound", "x"),
        definition("mine", SourceLayer::ProjectFile),
        member("mine", "x"),
    ]);
    check(
        &deck,
        untrusted(),
        &[
            "bound UserFile project []",
            "bound__x SetFile project []",
            "mine ProjectFile untrusted []",
            "mine__x SetFile untrusted []",
            "off UserFile disabled []",
            "off__x SetFile disabled []",
        ],
    );
}

#[test]
fn members_go_when_their_set_is_replaced() {
    let two = deck(vec![
        definition("set", SourceLayer::UserFile),
        member("set", "old"),
        definition("set", SourceLayer::ProjectFile),
        member("set", "new"),
    ]);
    check(
        &two,
        ProjectTrust::Trusted,
        &["set ProjectFile ready [\"UserFile\"]", "set__new SetFile ready []"],
    );
    check(&two, untrusted(), &["set UserFile ready []", "set__old SetFile ready []"]);
}

#[test]
fn a_stale_set_keeps_its_members() {
    let good = deck(vec![definition("set", SourceLayer::UserFile), member("set", "x")]);
    let first = build(&good, &facts(ProjectTrust::Trusted), None);
    let now = Deck { quarantined: vec![broken("set", SourceLayer::UserFile)], ..Deck::default() };
    let expected = ["set UserFile stale []", "set__x SetFile stale []"];
    assert_eq!(shown(&build(&now, &facts(ProjectTrust::Trusted), Some(&first))), expected);
}

#[test]
fn exposure_is_the_definitions_then_the_decks_then_the_hosts() {
    let own =
        Definition { exposure: Some(Exposure::Direct), ..definition("own", SourceLayer::UserFile) };
    let mut deck = deck(vec![own, definition("plain", SourceLayer::UserFile)]);
    let exposure = |deck: &Deck, id: &str| {
        let catalog = build(deck, &facts(ProjectTrust::Trusted), None);
        let capability = catalog.get(id).unwrap();
        (capability.exposure, capability.exposure_is_explicit)
    };
    assert_eq!(exposure(&deck, "own"), (Exposure::Direct, true));
    assert_eq!(exposure(&deck, "plain"), (Exposure::Search, false));
    deck.config = DeckConfig { exposure: Some(Exposure::Progressive), ..DeckConfig::default() };
    assert_eq!(exposure(&deck, "own"), (Exposure::Direct, true));
    assert_eq!(exposure(&deck, "plain"), (Exposure::Progressive, true));
}

#[test]
fn a_discovery_replaces_one_capability_and_shares_the_rest() {
    let deck =
        deck(vec![definition("a", SourceLayer::UserFile), definition("b", SourceLayer::UserFile)]);
    let before = build(&deck, &facts(ProjectTrust::Trusted), None);
    let tool: Tool = serde_json::from_value(json!({"name": "create_issue"})).unwrap();
    let found = Arc::new(Discovery { tools: vec![Arc::new(tool)], ..Discovery::default() });
    let after = before.with_discoveries([(
        CapabilityId::new("a").unwrap(),
        found,
        crate::HeldTools::new(),
    )]);
    assert_eq!(after.version(), before.version());
    assert_eq!((before.tool_count(), after.tool_count()), (0, 1));
    assert!(Arc::ptr_eq(before.get("b").unwrap(), after.get("b").unwrap()));
    assert!(after.tool("a", "create_issue").is_some() && after.tool("a", "other").is_none());
    assert_eq!(after.nearest_tool("a", "create-isue"), Some("create_issue"));
    assert_eq!(after.nearest_capability("bb"), None);
}
