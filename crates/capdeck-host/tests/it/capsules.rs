//! Capsules as a capability of the deck: the same path as every other, in every view.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleServiceExt as _, ClientProfile, CreateCapsuleRequest,
    ErrorCode, Host, HostEvent, LocalCapsuleService, NoCaller, Principal, Session,
    SessionContinuity, SessionScope, SessionSettings, StoreOptions, TaskForm, ViewPolicy,
};
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, call, call_listed, listed, saying, text};

const TOOLS: [&str; 5] =
    ["capsol_read", "capsol_write", "capsol_signal", "capsol_capsules", "capsol_memory"];

/// A host whose service is its own.
struct WithCapsules {
    host: Host,
    service: LocalCapsuleService,
    _deck: Deck,
}

impl WithCapsules {
    async fn open(deck: Deck, names: &[&str]) -> Self {
        let service =
            LocalCapsuleService::open(&deck.dirs.data(), StoreOptions::default()).await.unwrap();
        for name in names {
            create(&service, name).await;
        }
        let mut settings = deck.settings();
        settings.capsules = Some(Arc::new(service.clone()));
        Self { host: Host::open(settings), service, _deck: deck }
    }

    fn agent(&self, exposure: Exposure) -> Arc<Session> {
        agent_with(&self.host, Some(exposure))
    }
}

async fn create(service: &LocalCapsuleService, name: &str) {
    let name = name.to_owned();
    let create = CreateCapsuleRequest { name, description: None, visibility: None };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("test"));
    service.ask(caller.request(None, create)).await.unwrap();
}

async fn write(session: &Session, uri: &str, content: &str) -> Value {
    let arguments = json!({ "uri": uri, "content": content });
    let written = call(session, "capsules", "capsol_write", arguments).await.unwrap();
    assert_ne!(written["isError"], true, "{written}");
    written
}

#[tokio::test]
async fn the_capability_is_there_while_there_are_capsules() {
    let opened = WithCapsules::open(Deck::new(), &[]).await;
    let agent = opened.agent(Exposure::Direct);
    assert!(listed(&agent).await.is_empty());
    let error = call(&agent, "capsules", "capsol_read", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    let mut events = opened.host.events();
    create(&opened.service, "Team").await;
    opened.host.reload();
    assert!(matches!(events.recv().await, Ok(HostEvent::CatalogChanged)));
    assert_eq!(listed(&agent).await, TOOLS.map(|tool| format!("capsules__{tool}")));
    assert!(agent.view().tokens() > 500);
}

#[tokio::test]
async fn every_view_leads_to_it() {
    let opened = WithCapsules::open(Deck::new(), &["Team"]).await;
    let direct = opened.agent(Exposure::Direct);
    write(&direct, "docs://a", "kept for later").await;
    let arguments = json!({ "uri": "docs://a" });
    let name = "capsules__capsol_read";
    let read = call_listed(&direct, name, arguments.clone()).await.unwrap().unwrap();
    assert!(text(&read).contains("kept for later") && text(&read).contains("PROVENANCE"));
    assert_eq!(read["structuredContent"]["client"], "test-agent");
    assert_eq!(read["structuredContent"]["written_by"], "local");

    let progressive = opened.agent(Exposure::Progressive);
    assert_eq!(listed(&progressive).await, ["capsules"]);
    let inner = json!({ "operation": "call_tool", "name": "capsol_read", "args": arguments });
    let read = call_listed(&progressive, "capsules", inner).await.unwrap().unwrap();
    assert!(read.to_string().contains("kept for later"), "{read}");

    for exposure in [Exposure::Search, Exposure::CodeModeAndSearch] {
        let searching = opened.agent(exposure);
        let inner = json!({ "name": name, "data": arguments });
        let read = call_listed(&searching, "call_tool", inner).await.unwrap().unwrap();
        assert!(text(&read).contains("kept for later"));
    }

    let on_demand = opened.agent(Exposure::OnDemand);
    let set_up = json!({ "skills": ["capsules"] });
    call_listed(&on_demand, "setup_tools", set_up).await.unwrap().unwrap();
    let inner = json!({ "name": name, "data": arguments });
    let read = call_listed(&on_demand, "call_tool", inner).await.unwrap().unwrap();
    assert!(text(&read).contains("kept for later"));
}

#[tokio::test]
async fn scripts_reach_it() {
    let opened = WithCapsules::open(Deck::new(), &["Team"]).await;
    let agent = opened.agent(Exposure::CodeModeAndSearch);
    let code = "await caplets.capsules.capsol_write({ uri: 'skills://deploy', content: 'Deploy it.' }); \
                const read = await caplets.capsules.capsol_read({ uri: 'skills://deploy' }); \
                const found = await caplets.search('deploy'); \
                return [read.body, found.entries[0].uri, found.entries[0].call];";
    let ran = call_listed(&agent, "code_mode", json!({ "code": code })).await.unwrap().unwrap();
    let ran = ran.to_string();
    assert!(ran.contains("Deploy it.") && ran.contains("caplets.capsules.capsol_read("), "{ran}");
}

#[tokio::test]
async fn a_search_finds_entries_beside_tools() {
    let deck = Deck::new().file("config/sayer.md", &saying("shipping"));
    let opened = WithCapsules::open(deck, &["Team", "Other"]).await;
    let agent = opened.agent(Exposure::Search);
    for (capsule, uri) in [("team", "skills://ship"), ("other", "docs://ship")] {
        let content = "How to say that we are shipping";
        let arguments = json!({ "capsule": capsule, "uri": uri, "content": content });
        call(&agent, "capsules", "capsol_write", arguments).await.unwrap();
    }
    let search = async |arguments| {
        let found = call_listed(&agent, "search", arguments).await.unwrap().unwrap();
        (found["structuredContent"].clone(), text(&found).to_owned())
    };
    let (found, shown) = search(json!({ "query": "say shipping" })).await;
    assert!(found["items"].to_string().contains("sayer__say"), "{found}");
    let mut kinds: Vec<_> =
        found["entries"].as_array().unwrap().iter().map(|hit| hit["kind"].clone()).collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(kinds, ["entry", "skill"]);
    assert!(shown.contains("skills://ship in `team`"), "{shown}");
    let read = &found["entries"][0]["read"];
    let read = call_listed(&agent, "call_tool", read.clone()).await.unwrap().unwrap();
    assert!(text(&read).contains("we are shipping"));
    let (elsewhere, _) = search(json!({ "query": "say shipping", "capability": "sayer" })).await;
    assert_eq!(elsewhere.get("entries"), None);
    let (within, _) = search(json!({ "query": "shipping", "capability": "capsules" })).await;
    assert_eq!(within["entries"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_gate_and_the_schemas_hold_here_too() {
    let policy = json!([{ "deny": { "tool": "capsol_signal" } }]);
    let opened = WithCapsules::open(Deck::new().config("policy", policy), &["Team"]).await;
    let agent = opened.agent(Exposure::Direct);
    assert!(!listed(&agent).await.contains(&"capsules__capsol_signal".to_owned()));
    let poll = json!({ "action": "poll" });
    let error = call(&agent, "capsules", "capsol_signal", poll).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    // No one says who wrote something.
    let forged = json!({ "uri": "docs://a", "content": "x", "written_by": "root" });
    let error = call(&agent, "capsules", "capsol_write", forged).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);
    assert!(error.data.unwrap()["inputSchema"].is_object());
    let missing = call(&agent, "capsules", "capsol_read", json!({ "uri": "docs://z" })).await;
    let missing = missing.unwrap();
    assert_eq!(missing["isError"], true);
    assert_eq!(missing["structuredContent"]["error"]["code"], "not_found");
}

#[tokio::test]
async fn a_mount_is_the_sessions_own() {
    let opened = WithCapsules::open(Deck::new(), &["One", "Two"]).await;
    let (mounted, other) = (opened.agent(Exposure::Direct), opened.agent(Exposure::Direct));
    let mount = || json!({ "action": "mount", "capsule": "two" });
    call(&mounted, "capsules", "capsol_capsules", mount()).await.unwrap();
    write(&mounted, "docs://a", "in two").await;
    let read = call(&other, "capsules", "capsol_read", json!({ "uri": "docs://a" })).await.unwrap();
    let error = &read["structuredContent"]["error"];
    assert_eq!(error["code"], "capsule_required", "{read}");
    let named = json!({ "capsule": "two", "uri": "docs://a" });
    let read = call(&other, "capsules", "capsol_read", named).await.unwrap();
    assert_eq!(read["structuredContent"]["body"], "in two");

    let alone = opened.host.session(SessionSettings {
        scope: SessionScope::Deck(ViewPolicy::offering(Some(Exposure::Direct))),
        client_name: "modern".to_owned(),
        principal: Principal::named("somebody"),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Requests,
        access: None,
        shares_files: true,
    });
    let refused = call(&alone, "capsules", "capsol_capsules", mount()).await.unwrap();
    assert_eq!(refused["structuredContent"]["error"]["code"], "not_mountable", "{refused}");
    let list = json!({ "action": "list" });
    let listed = call(&alone, "capsules", "capsol_capsules", list).await.unwrap();
    assert_eq!(listed["structuredContent"]["capsules"].as_array().unwrap().len(), 2);
    let caller = alone.snapshot().capsule_caller();
    assert_eq!(caller.author.principal.as_deref(), Some("somebody"));
    assert_eq!(mounted.snapshot().capsule_caller().author.principal, None);
}

#[tokio::test]
async fn a_capability_of_the_persons_own_stands_before_it() {
    let deck = Deck::new().file("config/capsules.md", &saying("mine"));
    let opened = WithCapsules::open(deck, &["Team"]).await;
    let agent = opened.agent(Exposure::Direct);
    assert_eq!(listed(&agent).await, ["capsules__say"]);
}
