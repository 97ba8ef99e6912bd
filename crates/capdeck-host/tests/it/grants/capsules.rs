//! Capsules in the deck of a person who was granted some of them.

use std::sync::Arc;

use capdeck_access::{Access, DeckAccess, DeckGrant, GrantTools, Principal, Scopes};
use capdeck_auth::inbound::capsule_key;
use capdeck_definition::Exposure;
use capdeck_host::{
    AccessRequest, CapabilityId, CapsuleAccess, CapsuleAuthor, CapsuleCaller, CapsuleGrant,
    CapsuleServiceExt as _, CreateCapsuleRequest, ErrorCode, GrantOverrides, Host,
    LocalCapsuleService, RegistryAuditFilter, RequestedGrant, Role, Session, SessionScope,
    StoreOptions, ViewPolicy,
};
use serde_json::{Value, json};

use super::book::{Book, Granted, granted, guest};
use crate::deck::{Deck, agent_with, call, call_listed, listed, saying};

async fn opened(names: &[&str]) -> (Host, Deck) {
    let deck = Deck::new().file("config/sayer.md", &saying("hello"));
    let service =
        LocalCapsuleService::open(&deck.dirs.data(), StoreOptions::default()).await.unwrap();
    for name in names {
        let name = (*name).to_owned();
        let create = CreateCapsuleRequest { name, description: None, visibility: None };
        let caller = CapsuleCaller::local(CapsuleAuthor::client("test"));
        service.ask(caller.request(None, create)).await.unwrap();
    }
    let mut settings = deck.settings();
    settings.capsules = Some(Arc::new(service));
    (Host::open(settings), deck)
}

fn on(capsule: &str, role: Role) -> CapsuleGrant {
    let access = CapsuleAccess { role, ..CapsuleAccess::owner() };
    CapsuleGrant { capsule: capsule.to_owned(), access }
}

/// Grants on the capsules that have these ids now.
fn capsules(deck: &Deck, granted: &[CapsuleGrant]) -> Granted {
    let text = std::fs::read_to_string(deck.dirs.data().join("boxes.json")).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let keyed = |one: &CapsuleGrant| {
        let found = all.iter().find(|info| info["id"] == one.capsule.as_str()).unwrap();
        let capsule = capsule_key(&one.capsule, found["uid"].as_str().unwrap());
        CapsuleGrant { capsule, ..one.clone() }
    };
    Granted { capsules: granted.iter().map(keyed).collect(), ..Granted::default() }
}

async fn tool(session: &Session, name: &str, arguments: Value) -> Value {
    let answer = call(session, "capsules", name, arguments).await.unwrap();
    answer["structuredContent"].clone()
}

async fn ids(session: &Session) -> Vec<String> {
    let answer = tool(session, "capsol_capsules", json!({ "action": "list" })).await;
    let listed = answer["capsules"].as_array().unwrap().iter();
    listed.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn item_13_new_grants_appear_without_a_new_session() {
    let (host, deck) = opened(&["One", "Two"]).await;
    let book = Book::of(capsules(&deck, &[on("one", Role::Writer)]));
    let session = guest(&host, &book, Exposure::Direct);
    assert!(listed(&session).await.iter().all(|name| name.starts_with("capsules__capsol_")));
    assert_eq!(ids(&session).await, ["one"]);
    let write = json!({ "uri": "docs://a", "content": "words to find" });
    let written = tool(&session, "capsol_write", write.clone()).await;
    assert_eq!(written["version"], 1, "{written}");
    book.set(Some(capsules(&deck, &[on("one", Role::Reader), on("two", Role::Reader)])));
    assert_eq!(ids(&session).await, ["one", "two"]);
    let refused = tool(&session, "capsol_write", write.clone()).await;
    assert_eq!(refused["error"]["code"], "capsule_required", "{refused}");
    let mount = json!({ "action": "mount", "capsule": "one" });
    tool(&session, "capsol_capsules", mount).await;
    let refused = tool(&session, "capsol_write", write).await;
    assert_eq!(refused["error"]["code"], "forbidden_role", "{refused}");
    // A mounted capsule that was taken back is none that is left.
    book.set(Some(capsules(&deck, &[on("two", Role::Reader)])));
    let gone = tool(&session, "capsol_read", json!({ "uri": "docs://a" })).await;
    assert_eq!(gone["error"]["code"], "not_found", "{gone}");
    book.set(Some(Granted::default()));
    assert!(listed(&session).await.is_empty());
    let error = call(&session, "capsules", "capsol_read", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    host.close().await;
}

#[tokio::test]
async fn item_14_search_finds_entries_of_granted_capsules_only() {
    let (host, deck) = opened(&["One", "Two"]).await;
    let owner = agent_with(&host, Some(Exposure::Direct));
    for capsule in ["one", "two"] {
        let entry = json!({ "capsule": capsule, "uri": "docs://a", "content": "words to find" });
        tool(&owner, "capsol_write", entry).await;
    }
    let book = Book::of(capsules(&deck, &[on("two", Role::Reader)]));
    let session = guest(&host, &book, Exposure::Search);
    let found = call_listed(&session, "search", json!({ "query": "words find" })).await;
    let found = found.unwrap().unwrap()["structuredContent"].clone();
    let entries = found["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{found}");
    assert_eq!(entries[0]["capsule"], "two");
    assert!(!found.to_string().contains("sayer"));
    host.close().await;
}

#[tokio::test]
async fn the_author_and_the_memory_are_the_principals() {
    let (host, deck) = opened(&["One"]).await;
    let book = Book::of(Granted {
        capsules: capsules(&deck, &[on("one", Role::Writer)]).capsules,
        ..granted(&["sayer"], &[], &[])
    });
    let session = guest(&host, &book, Exposure::Direct);
    assert!(listed(&session).await.contains(&"sayer__say".to_owned()));
    let set = json!({ "action": "set", "key": "where", "value": "here" });
    tool(&session, "capsol_memory", set).await;
    let get = json!({ "action": "get", "key": "where" });
    assert_eq!(tool(&session, "capsol_memory", get.clone()).await["value"], "here");
    let owner = agent_with(&host, Some(Exposure::Direct));
    assert_ne!(tool(&owner, "capsol_memory", get).await["value"], "here");
    assert_eq!(session.snapshot().capsule_caller().author.principal.as_deref(), Some("prn_1"));
    host.close().await;
}

#[tokio::test]
async fn calls_of_capsules_need_no_calls_of_the_deck() {
    let (host, deck) = opened(&["One"]).await;
    let mut both = granted(&["*"], &[], &["capsules/capsol_signal"]);
    both.may_call = false;
    both.capsules = capsules(&deck, &[on("one", Role::Writer)]).capsules;
    let session = guest(&host, &Book::of(both), Exposure::Direct);
    let names = listed(&session).await;
    assert!(names.contains(&"sayer__say".to_owned()));
    assert!(!names.contains(&"capsules__capsol_signal".to_owned()));
    let entry = json!({ "uri": "docs://a", "content": "x" });
    assert_eq!(tool(&session, "capsol_write", entry).await["version"], 1);
    let refused = call(&session, "sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Denied);
    host.close().await;
}

#[tokio::test]
async fn item_21_access_is_asked_for_where_a_person_decides() {
    let (host, deck) = opened(&["One"]).await;
    let silent = Book::of(capsules(&deck, &[on("one", Role::Reader)]));
    let session = guest(&host, &silent, Exposure::Direct);
    let ask = |capsule: &str| json!({ "action": "request_access", "capsule": capsule, "role": "writer", "reason": "to help" });
    let refused = call(&session, "capsules", "capsol_capsules", ask("two")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestInvalid);
    let book = Book::of(capsules(&deck, &[on("one", Role::Reader)])).asking();
    let session = guest(&host, &book, Exposure::Direct);
    let asked = tool(&session, "capsol_capsules", ask("two")).await;
    assert_eq!(asked["status"], "pending", "{asked}");
    let refused = tool(&session, "capsol_capsules", ask("secret")).await;
    assert_eq!(refused["error"]["code"], "not_found");
    let (capsule, reason) = ("two".to_owned(), Some("to help".to_owned()));
    assert_eq!(
        book.wishes(),
        [AccessRequest::RequestAccess { capsule, role: Role::Writer, reason }]
    );
    assert!(!listed(&session).await.contains(&"capsules__capsol_manage".to_owned()));
    let manage = json!({ "action": "list_grant_requests" });
    let hidden = call(&session, "capsules", "capsol_manage", manage).await.unwrap_err();
    let unknown = call(&session, "capsules", "capsol_manago", json!({})).await.unwrap_err();
    assert_eq!(hidden.code, unknown.code);
    host.close().await;
}

#[tokio::test]
async fn item_20_managing_is_for_those_who_may() {
    let (host, deck) = opened(&["One"]).await;
    let managing = Granted { may_manage: true, ..capsules(&deck, &[on("one", Role::Owner)]) };
    let book = Book::of(managing.clone()).asking();
    let session = guest(&host, &book, Exposure::Direct);
    assert!(listed(&session).await.contains(&"capsules__capsol_manage".to_owned()));
    let texts = |text: &str| vec![text.to_owned()];
    tool(
        &session,
        "capsol_manage",
        json!({
            "action": "request_grant_for", "capsule": "one", "client_id": "cli_2", "role": "writer",
            "uri_prefixes": ["docs://"], "denied_prefixes": ["docs://secret"],
        }),
    )
    .await;
    let approve = json!({ "action": "approve_grant", "request_id": "grq_1", "role": "reader", "reason": "fine" });
    tool(&session, "capsol_manage", approve).await;
    tool(
        &session,
        "capsol_manage",
        json!({ "action": "revoke_connection", "connection_id": "crd_2" }),
    )
    .await;
    let terms = RequestedGrant {
        capsule: "one".to_owned(),
        role: Role::Writer,
        scopes: Vec::new(),
        uri_prefixes: texts("docs://"),
        denied_prefixes: texts("docs://secret"),
    };
    let narrowed = GrantOverrides { role: Some(Role::Reader), ..GrantOverrides::default() };
    assert_eq!(
        book.wishes(),
        [
            AccessRequest::RequestGrantFor {
                client_id: Some("cli_2".to_owned()),
                terms,
                reason: None
            },
            AccessRequest::ApproveGrant {
                request: "grq_1".to_owned(),
                terms: narrowed,
                note: Some("fine".to_owned()),
            },
            AccessRequest::RevokeConnection { connection: "crd_2".to_owned() },
        ]
    );
    let lacking = tool(&session, "capsol_manage", json!({ "action": "deny_grant" })).await;
    assert_eq!(lacking["error"]["message"], "`deny_grant` needs `request_id`");
    // Once the right is taken back, so is the tool.
    book.set(Some(Granted { may_manage: false, ..managing }));
    let gone =
        call(&session, "capsules", "capsol_manage", json!({ "action": "list_connections" })).await;
    assert_eq!(gone.unwrap_err().code, ErrorCode::ToolNotFound);
    host.close().await;
}

#[tokio::test]
async fn item_22_naming_a_capsule_out_of_reach_is_recorded() {
    let (host, deck) = opened(&["One", "Two"]).await;
    let book = Book::of(capsules(&deck, &[on("one", Role::Reader)]));
    let session = guest(&host, &book, Exposure::Direct);
    let hidden = tool(&session, "capsol_read", json!({ "capsule": "two" })).await;
    assert_eq!(hidden["error"]["code"], "not_found");
    let service = host.capsules().unwrap();
    let query = RegistryAuditFilter(Default::default());
    let caller = CapsuleCaller::local(CapsuleAuthor::client("test"));
    let audit = service.ask(caller.request(None, query)).await.unwrap();
    let audit = serde_json::to_value(audit).unwrap();
    let lines = audit["lines"].as_array().unwrap().iter();
    let refused: Vec<&Value> = lines.filter(|line| line["action"] == "capsule.open").collect();
    assert_eq!(refused.len(), 1, "{audit}");
    assert_eq!(refused[0]["outcome"], "denied");
    assert!(!refused[0].to_string().contains("two"));
    assert!(refused[0].to_string().contains("prn_1"), "{audit}");
    host.close().await;
}

#[tokio::test]
async fn security_07_a_call_needs_the_scope_of_what_it_does() {
    let (host, _deck) = opened(&["One"]).await;
    let sayer = DeckGrant { capabilities: vec!["sayer".to_owned()], ..DeckGrant::default() };
    let access = Access {
        deck: Arc::new(DeckAccess::new(&[sayer], false, GrantTools::None)),
        ..Access::none(Principal::named("prn_1"))
    };
    let deck = SessionScope::Deck(ViewPolicy::offering(Some(Exposure::Search)));
    let needed = |scope: &SessionScope, name: &str, arguments: &Value| {
        let arguments = serde_json::value::to_raw_value(arguments).unwrap();
        host.missing_scopes(scope, &access, name, Some(&arguments)).to_string()
    };
    let write = |mode: &str| json!({ "uri": "docs://a", "mode": mode });
    let through = |name: &str, data: Value| json!({ "name": name, "data": data });
    for (name, arguments, scope) in [
        ("search", json!({ "query": "x" }), "deck:read"),
        ("describe", json!({ "name": "sayer__say" }), "deck:read"),
        ("sayer__say", json!({}), "deck:call"),
        ("mail__send", json!({}), "deck:call"),
        ("code_mode", json!({}), "deck:call"),
        ("call_tool", through("sayer__say", json!({})), "deck:call"),
        ("capsol_read", json!({}), "capsule:read"),
        ("capsol_manage", json!({}), "registry:manage"),
        ("capsules__capsol_write", write("create"), "capsule:append"),
        ("capsol_write", write("patch"), "capsule:write"),
        ("call_tool", through("capsules__capsol_write", write("replace")), "capsule:write"),
    ] {
        assert_eq!(needed(&deck, name, &arguments), scope, "{name} {arguments}");
    }
    let alone = SessionScope::Transparent(CapabilityId::new("capsules").unwrap());
    assert_eq!(needed(&alone, "capsol_read", &json!({})), "capsule:read");
    assert_eq!(needed(&alone, "unknown", &json!({})), "deck:call");
    let all = Scopes::parse("deck:call capsule:write").unwrap();
    let access = Access { scopes: all, ..access.clone() };
    assert!(host.missing_scopes(&deck, &access, "capsol_write", None).is_empty());
    let missing = host.missing_scopes(&deck, &access, "capsol_manage", None);
    assert_eq!(missing.to_string(), "registry:manage");
    host.close().await;
}
