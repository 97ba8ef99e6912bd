//! What correct files become: inheritance, resolved paths and the fingerprint.

use capdeck_definition::{
    Backend, BackendAuth, Deck, Definition, Exposure, HttpApi, HttpBlock as _, NetworkAccess,
    OutgoingSettings, RateLimit, RatePeriod, ResourceClass, RuntimeFeature, ShadowingMode,
    check_paths,
};
use serde_json::json;

use crate::folder::Folder;

fn fixture(name: &str) -> Deck {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/valid").join(name);
    check_paths(&[path])
}

fn one(name: &str) -> Definition {
    let deck = fixture(name);
    assert_eq!(deck.definitions.len(), 1, "{name}");
    Definition::clone(&deck.definitions[0])
}

#[test]
fn a_plural_file_hands_down_what_its_children_do_not_say() {
    let deck = fixture("mcp-plural.md");
    let [first, second] = deck.definitions.as_slice() else { panic!("two children") };
    assert_eq!(first.id.as_str(), "mcp-plural__a");
    assert_eq!(first.parent.as_ref().unwrap().as_str(), "mcp-plural");
    assert_eq!((first.name.as_str(), second.name.as_str()), ("Example", "Bee"));
    assert_eq!(first.description, "An example capability for the tests.");
    assert_eq!(
        (&first.tags[..], &second.tags[..]),
        (&["team".to_owned()][..], &["team".to_owned(), "extra".to_owned()][..])
    );
    assert_eq!(
        (first.exposure, second.exposure),
        (Some(Exposure::Direct), Some(Exposure::Progressive))
    );
    assert_eq!((first.shadowing, second.shadowing), (ShadowingMode::Forbid, ShadowingMode::Allow));
    assert_eq!((first.project_bound, second.project_bound), (false, true));
    assert_eq!((first.disabled, second.disabled), (false, true));
    let steps = |found: &Definition| {
        let setup = found.setup.clone().unwrap();
        setup.verify.into_iter().map(|step| step.label).collect::<Vec<_>>()
    };
    assert_eq!(
        (steps(first), steps(second)),
        (vec!["Parent".into()], vec!["Parent".into(), "Child".into()])
    );
    assert_eq!(second.runtime.features, [RuntimeFeature::Docker, RuntimeFeature::Browser]);
    let class = second.runtime.resources.clone().unwrap().class;
    assert_eq!(class, Some(ResourceClass::Large));
    let auth = |found: &Definition| match &found.backend {
        Backend::Mcp(server) => server.auth.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(auth(first), Some(BackendAuth::Bearer { token: "${TOKEN}".into() }));
    assert_eq!(auth(second), Some(BackendAuth::None {}));
}

#[test]
fn paths_start_at_the_file_and_references_stay_alone() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/valid");
    let at = |path: &str| Some(dir.join(path).to_str().unwrap().to_owned());
    let Backend::OpenApi(api) = one("openapi-path.md").backend else { panic!("openapi") };
    assert_eq!(api.spec_path, at("spec/api.yaml"));
    let Backend::OpenApi(api) = one("references.md").backend else { panic!("openapi") };
    assert_eq!(api.spec_path.as_deref(), Some("${SPECS}/api.yaml"));
    let Backend::GraphQl(api) = one("graphql.md").backend else { panic!("graphql") };
    assert_eq!(api.schema_path, at("schema.graphql"));
    assert_eq!(api.operations["issues"].document_path, at("queries/issues.graphql"));
    let Backend::Cli(tools) = one("cli.md").backend else { panic!("cli") };
    assert_eq!(tools.cwd, at("scripts"));
    assert_eq!(tools.actions["status"].program.cwd, at("repo"));
    assert_eq!(tools.actions["status"].program.command, "git");
    let Backend::Mcp(server) = one("mcp-stdio.md").backend else { panic!("mcp") };
    assert_eq!(server.cwd.as_deref(), Some("work"), "an MCP server's folder is the host's affair");
}

#[test]
fn texts_are_trimmed_where_the_format_says_so() {
    let found = one("mcp-stdio.md");
    assert_eq!(found.tags, ["files", "local"]);
    assert_eq!(found.icon.as_deref(), Some("./icon.svg"));
    let hints = one("hints.md").hints;
    assert_eq!(hints.use_when.as_deref(), Some("A browser is needed."));
}

#[test]
fn a_written_null_body_is_a_body() {
    let Backend::Http(HttpApi { actions, .. }) = one("http.md").backend else { panic!("http") };
    assert_eq!(actions["clear"].json_body, Some(json!(null)));
    assert_eq!(actions["get_item"].json_body, None);
    assert_eq!(actions["get_item"].query["limit"], json!(10));
    assert_eq!(actions.keys().collect::<Vec<_>>(), ["get_item", "create_item", "clear"]);
}

#[test]
fn rules_for_requests_have_defaults() {
    let deck = fixture("outgoing.md");
    let rules = |id: &str| {
        let found = deck.definitions.iter().find(|one| one.id.as_str().ends_with(id)).unwrap();
        match &found.backend {
            Backend::Http(api) => api.outgoing(),
            Backend::OpenApi(api) => api.outgoing(),
            Backend::GoogleDiscovery(api) => api.outgoing(),
            Backend::GraphQl(api) => api.outgoing(),
            other => panic!("{other:?}"),
        }
    };
    let usual = OutgoingSettings {
        network: NetworkAccess::Public,
        retries: 2,
        max_concurrency: 16,
        rate_limit: None,
    };
    assert_eq!(rules("outer"), usual);
    assert_eq!(rules("drive"), OutgoingSettings { max_concurrency: 1000, ..usual });
    assert_eq!(
        rules("described"),
        OutgoingSettings { network: NetworkAccess::Private, retries: 5, ..usual }
    );
    let rate_limit = Some(RateLimit { requests: 5, per: RatePeriod::Second });
    assert_eq!(rules("graph"), OutgoingSettings { rate_limit, ..usual });
    let rate_limit = Some(RateLimit { requests: 30, per: RatePeriod::Minute });
    let inner = OutgoingSettings {
        network: NetworkAccess::Private,
        retries: 0,
        max_concurrency: 4,
        rate_limit,
    };
    assert_eq!(rules("inner"), inner);
}

#[test]
fn the_top_of_a_singular_file_wins_over_its_block() {
    let text = "---\nname: Example\ndescription: An example for the tests.\nruntime: { features: [docker] }\nmcpServer:\n  command: x\n  runtime: { features: [browser] }\n  projectBinding: { required: true }\n---\n";
    let deck = Folder::with(&[("a.md", text)]).deck();
    assert_eq!(deck.definitions[0].runtime.features, [RuntimeFeature::Docker]);
    assert!(deck.definitions[0].project_bound);
}

#[test]
fn the_fingerprint_follows_behaviour_and_nothing_else() {
    let folder = Folder::with(&[]);
    let fingerprint = |text: &str| {
        folder.write("a.md", text);
        folder.deck().definitions[0].fingerprint.clone()
    };
    let text = |name: &str, env: &str, extra: &str| {
        format!(
            "---\nname: {name}\ndescription: An example for the tests.\n{extra}mcpServer:\n  command: x\n  env: {env}\n---\n{name}"
        )
    };
    let base = fingerprint(&text("One", "{ A: a, B: b }", ""));
    assert_eq!(base.len(), 64);
    for same in [
        text("Two", "{ A: a, B: b }", ""),
        text("One", "{ B: b, A: a }", ""),
        text(
            "One",
            "{ A: a, B: b }",
            "tags: [x]\ncatalog: { icon: a.png }\nuseWhen: Now.\nexposure: direct\n",
        ),
    ] {
        assert_eq!(fingerprint(&same), base, "{same}");
    }
    for other in [
        text("One", "{ A: a, B: c }", ""),
        text("One", "{ A: a, B: b }", "projectBinding: { required: true }\n"),
        text("One", "{ A: a, B: b }", "runtime: { features: [docker] }\n"),
        text("One", "{ A: a, B: b }", "setup: { verify: [{ label: a, command: b }] }\n"),
    ] {
        assert_ne!(fingerprint(&other), base, "{other}");
    }
}
