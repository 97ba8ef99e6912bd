//! Clients that need grants: what is not granted does not exist, in every view, from the next request on.

mod book;
mod capsules;
mod revoked;

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    CallError, CapabilityId, ErrorCode, Host, Session, SessionScope, ViewPolicy, listing, prompts,
    resources, transparent,
};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use self::book::{Book, Granted, granted, guest, guest_at};
use crate::deck::{Deck, agent_with, call, call_listed, context, listed, saying, text, value};

const EVERY: [Exposure; 5] = [
    Exposure::Direct,
    Exposure::Progressive,
    Exposure::Search,
    Exposure::OnDemand,
    Exposure::CodeModeAndSearch,
];

/// Two servers with the same tools, resources and prompts, and a tool of the command line.
fn deck() -> Deck {
    let plan = FakePlan { behaviours: false, tools: 2, ..FakePlan::default() };
    Deck::new()
        .server("open", &plan, json!({}))
        .server("hidden", &plan, json!({}))
        .file("config/sayer.md", &saying("hello"))
}

/// What a person is informed, with names taken out that differ.
fn received<T: std::fmt::Debug>(outcome: &Result<T, CallError>, name: &str) -> String {
    match outcome {
        Ok(answer) => format!("{answer:?}").replace(name, "NAME"),
        Err(error) => {
            format!("{:?} {} {:?} {:?}", error.code, error.message, error.hint, error.data)
                .replace(name, "NAME")
        }
    }
}

#[tokio::test]
async fn security_18_every_view_has_only_what_is_granted() {
    let host = deck().open();
    let book = Book::of(granted(&["open"], &[], &["open/tool_00001"]));
    for exposure in EVERY {
        let session = guest(&host, &book, exposure);
        let view = listing::discovered_view(&session.request(&context())).await;
        let shown = format!(
            "{}{:?}{}{}{}",
            view.tools(),
            view.instructions(),
            listing::discovered_offers(&session.request(&context())).await.resources(),
            view.resource_templates(),
            view.prompts()
        );
        assert!(!shown.contains("hidden") && !shown.contains("sayer"), "{exposure:?} {shown}");
        assert!(!shown.contains("tool_00001"), "{exposure:?}");
        let called = call(&session, "open", "tool_00000", json!({})).await;
        assert!(called.is_ok(), "{exposure:?} {called:?}");
    }
    host.close().await;
}

#[tokio::test]
async fn security_18_hidden_and_unknown_are_answered_alike() {
    let host = deck().open();
    let book = Book::of(granted(&["open"], &[], &["open/tool_00001"]));
    // Everything is known to the host before anybody asks.
    listed(&agent_with(&host, Some(Exposure::Direct))).await;
    for exposure in EVERY {
        let session = guest(&host, &book, exposure);
        for (id, other) in [("hidden", "absent"), ("sayer", "stayr")] {
            let hidden = call(&session, id, "tool_00000", json!({})).await;
            let unknown = call(&session, other, "tool_00000", json!({})).await;
            assert_eq!(received(&hidden, id), received(&unknown, other), "{exposure:?}");
            let hidden = call_listed(&session, &format!("{id}__tool_00000"), json!({})).await;
            let unknown = call_listed(&session, &format!("{other}__tool_00000"), json!({})).await;
            assert_eq!(received(&hidden, id), received(&unknown, other), "{exposure:?}");
            let hidden = call_listed(&session, id, json!({ "operation": "tools" })).await;
            let unknown = call_listed(&session, other, json!({ "operation": "tools" })).await;
            assert_eq!(received(&hidden, id), received(&unknown, other), "{exposure:?}");
        }
        let hidden = call(&session, "open", "tool_00001", json!({})).await;
        let unknown = call(&session, "open", "tool_00009", json!({})).await;
        assert_eq!(
            received(&hidden, "tool_00001"),
            received(&unknown, "tool_00009"),
            "{exposure:?}"
        );
        assert_eq!(hidden.unwrap_err().code, ErrorCode::ToolNotFound);
    }
    let session = guest(&host, &book, Exposure::Search);
    for tool in ["describe", "call_tool"] {
        for (name, other) in [
            ("hidden__tool_00000", "absent__tool_00000"),
            ("open__tool_00001", "open__tool_00009"),
            ("sayer__say", "stayr__say"),
        ] {
            let hidden = call_listed(&session, tool, json!({ "name": name })).await;
            let unknown = call_listed(&session, tool, json!({ "name": other })).await;
            let plain = |text: String, name: &str| {
                let (id, tool) = name.split_once("__").unwrap();
                text.replace(id, "ID").replace(tool, "TOOL")
            };
            let (hidden, unknown) =
                (plain(received(&hidden, name), name), plain(received(&unknown, other), other));
            assert_eq!(hidden, unknown, "{tool}");
        }
    }
    let found = call_listed(&session, "search", json!({ "query": "item of a store hello" })).await;
    let found = found.unwrap().unwrap().to_string();
    assert!(found.contains("open__tool_00000"), "{found}");
    assert!(!found.contains("hidden") && !found.contains("sayer"), "{found}");
    let within = |id: &str| json!({ "query": "item", "capability": id });
    let hidden = call_listed(&session, "search", within("hidden")).await;
    let unknown = call_listed(&session, "search", within("absent")).await;
    assert_eq!(received(&hidden, "hidden"), received(&unknown, "absent"));
    host.close().await;
}

#[tokio::test]
async fn security_18_resources_and_prompts_go_with_the_whole_capability() {
    let host = deck().open();
    let whole = Book::of(granted(&["open"], &[], &[]));
    let part = Book::of(granted(&["open"], &["open/tool_*"], &[]));
    let (whole, part) =
        (guest(&host, &whole, Exposure::Direct), guest(&host, &part, Exposure::Direct));
    let uris = async |session: &Session| {
        let listed =
            value(&listing::discovered_offers(&session.request(&context())).await.resources());
        let uris = listed.as_array().unwrap().iter().map(|one| one["uri"].clone());
        uris.map(|uri| uri.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let known = uris(&whole).await;
    let of_server = known.iter().find(|uri| uri.contains("open")).unwrap();
    assert!(!uris(&part).await.contains(of_server));
    let context = context();
    assert!(resources::read(&whole.request(&context), of_server, Default::default()).await.is_ok());
    let hidden = resources::read(&part.request(&context), of_server, Default::default()).await;
    assert_eq!(hidden.unwrap_err().code, ErrorCode::ResourceNotFound);
    let others = of_server.replace("open", "hidden");
    let absent = of_server.replace("open", "absent");
    let hidden = resources::read(&whole.request(&context), &others, Default::default()).await;
    let unknown = resources::read(&whole.request(&context), &absent, Default::default()).await;
    assert_eq!(received(&hidden, "hidden"), received(&unknown, "absent"));
    assert!(
        prompts::get(&whole.request(&context), "hidden__greet", Default::default()).await.is_err()
    );
    host.close().await;
}

#[tokio::test]
async fn security_18_looking_is_not_calling() {
    let host = deck().open();
    let book = Book::of(Granted { may_call: false, ..granted(&["open"], &[], &[]) });
    let session = guest(&host, &book, Exposure::Search);
    let found = call_listed(&session, "search", json!({ "query": "item of a store" })).await;
    assert!(found.unwrap().unwrap().to_string().contains("open__tool_00000"));
    let described = call_listed(&session, "describe", json!({ "name": "open__tool_00000" })).await;
    assert!(described.unwrap().is_some());
    let refused = call(&session, "open", "tool_00000", json!({})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Denied);
    assert_eq!(refused.message, "`open` may be looked at here, but not used");
    let direct = guest(&host, &book, Exposure::Direct);
    let listed = value(&listing::discovered_offers(&direct.request(&context())).await.resources());
    let uri = listed[0]["uri"].as_str().unwrap();
    let refused =
        resources::read(&direct.request(&context()), uri, Default::default()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Denied);
    // A caller that may not see it does not learn that it is forbidden.
    let hidden = call(&session, "hidden", "tool_00000", json!({})).await.unwrap_err();
    assert_eq!(hidden.code, ErrorCode::ServerNotFound);
    host.close().await;
}

#[tokio::test]
async fn modes_decide_how_it_is_offered() {
    let host = deck().open();
    let mut only = granted(&["open"], &[], &[]);
    only.deck[0].modes = vec!["search".to_owned()];
    let book = Book::of(only);
    for exposure in EVERY {
        let names = listed(&guest(&host, &book, exposure)).await;
        assert_eq!(names, ["search", "describe", "call_tool", "call_read_only"], "{exposure:?}");
    }
    let mut only = granted(&["open"], &["open/tool_00000"], &[]);
    only.deck[0].modes = vec!["direct".to_owned()];
    let session = guest(&host, &Book::of(only), Exposure::CodeModeAndSearch);
    assert_eq!(listed(&session).await, ["open__tool_00000"]);
    host.close().await;
}

#[tokio::test]
async fn security_18_one_capability_alone_is_screened_as_well() {
    let host = deck().open();
    let id = |id: &str| SessionScope::Transparent(CapabilityId::new(id).unwrap());
    let book = Book::of(granted(&["open"], &["open/tool_00000"], &[]));
    let session = guest_at(&host, &book, id("open"));
    let tools = transparent::answer(&session.request(&context()), "open", "tools/list", None)
        .await
        .unwrap();
    let tools = value(&tools);
    let names: Vec<&Value> =
        tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["tool_00000"]);
    let facts = transparent::server_facts(&session.request(&context()), "open").await.unwrap();
    assert!(facts.instructions.is_none() && !facts.capabilities.contains_key("resources"));
    assert!(
        transparent::answer(&session.request(&context()), "open", "prompts/list", None)
            .await
            .is_err()
    );
    assert!(call(&session, "open", "tool_00000", json!({})).await.is_ok());
    let hidden = call(&session, "open", "tool_00001", json!({})).await;
    let unknown = call(&session, "open", "tool_00009", json!({})).await;
    assert_eq!(received(&hidden, "tool_00001"), received(&unknown, "tool_00009"));
    let hidden = guest_at(&host, &book, id("hidden"));
    assert_eq!(
        transparent::server_facts(&hidden.request(&context()), "hidden").await.unwrap_err().code,
        ErrorCode::ServerNotFound
    );
    let access = book.source().access();
    assert!(host.known_to("prn_1", Some(&*access)).get("hidden").is_none());
    host.close().await;
}

#[tokio::test]
async fn security_18_views_are_narrowed_and_unknown_when_empty() {
    let deck = deck().config(
        "views",
        json!({ "all": { "capabilities": ["*"] }, "rest": { "capabilities": ["hidden"] } }),
    );
    let host = deck.open();
    let book = Book::of(granted(&["open"], &[], &[]));
    let access = book.source().access();
    assert!(host.has_view("all", Some(&*access)) && !host.has_view("rest", Some(&*access)));
    assert!(!host.has_view("none", Some(&*access)) && host.has_view("rest", None));
    let policy = ViewPolicy { exposure: Some(Exposure::Progressive), view: Some("all".into()) };
    let session = guest_at(&host, &book, SessionScope::Deck(policy));
    assert_eq!(listed(&session).await, ["open"]);
    host.close().await;
}

#[tokio::test]
async fn security_18_scripts_reach_only_what_is_granted() {
    let host = deck().open();
    let book = Book::of(granted(&["open"], &[], &["open/tool_00001"]));
    let session = guest(&host, &book, Exposure::CodeModeAndSearch);
    let code = "const found = await caplets.search('item of a store'); \
                const types = await caplets.types(); \
                const tell = async (call) => { try { return await call(); } catch (error) { return String(error); } }; \
                return [found, types, await tell(() => caplets.hidden.tool_00000({})), \
                await tell(() => caplets.open.tool_00001({})), await tell(() => caplets.open.tool_00000({}))];";
    let ran = call_listed(&session, "code_mode", json!({ "code": code })).await.unwrap().unwrap();
    let shown = text(&ran);
    assert!(!shown.contains("hidden__") && !shown.contains("sayer"), "{shown}");
    let unknown =
        code.replace("caplets.hidden", "caplets.absent").replace("tool_00001", "tool_00009");
    let other = call_listed(&session, "code_mode", json!({ "code": unknown })).await;
    let other = text(&other.unwrap().unwrap()).to_owned();
    let plain = |text: &str| {
        let text = text.replace("hidden", "ID").replace("absent", "ID");
        let text = text.replace("tool_00001", "TOOL").replace("tool_00009", "TOOL");
        // What differs from run to run.
        text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>()
    };
    let body = |text: &str| plain(text).split("sessionId").next().unwrap_or_default().to_owned();
    assert_eq!(body(shown), body(&other));
    host.close().await;
}

#[tokio::test]
async fn equal_grants_share_what_is_made_for_them() {
    let host = deck().open();
    let (one, other) =
        (Book::of(granted(&["open"], &[], &[])), Book::of(granted(&["open"], &[], &[])));
    let (one, other) =
        (guest(&host, &one, Exposure::Search), guest(&host, &other, Exposure::Search));
    assert!(Arc::ptr_eq(&one.catalog(), &other.catalog()));
    assert!(Arc::ptr_eq(&one.view(), &other.view()));
    assert!(Arc::ptr_eq(&one.catalog(), &one.catalog()));
    // Without grants to heed, the catalog is the host's own.
    assert!(Arc::ptr_eq(&agent_with(&host, None).catalog(), &host.catalog()));
    host.close().await;
}

/// A host of this deck and a client with these grants.
fn opened(book: &Arc<Book>, exposure: Exposure) -> (Host, Arc<Session>, Deck) {
    let deck = deck();
    let host = deck.open();
    let session = guest(&host, book, exposure);
    (host, session, deck)
}
