//! Project decks: nothing before trust, the same again after a change; capabilities bound to a project.

use capdeck_definition::Exposure;
use capdeck_host::{Host, ToolQuery, TrustStore, check, search};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent, agent_with, call, caplet, listed, saying};

fn trust(deck: &Deck, host: &Host) {
    let hash = host.deck().project_hash.clone().unwrap();
    TrustStore::new(&deck.dirs.state()).trust(&deck.dirs.project(), &hash).unwrap();
}

fn said(answer: &Value) -> &str {
    answer["structuredContent"]["stdout"].as_str().unwrap()
}

#[tokio::test]
async fn project_files_act_only_while_they_are_trusted_as_they_are() {
    let deck = Deck::new().file("project/.capdeck/sayer.md", &saying("project"));
    let (host, session) = deck.operator();
    let refused = async |reason: &str| {
        let error = call(&session, "sayer", "say", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), "DENIED");
        let message = format!("`sayer` comes from a project that may not act: {reason}");
        assert_eq!(error.message, message);
        let hint = "the person reviews the files, then runs: capdeck trust";
        assert_eq!(error.hint.as_deref(), Some(hint));
    };
    refused("this project has not been trusted yet").await;
    assert_eq!(listed(&agent_with(&host, Some(Exposure::Direct))).await, [] as [&str; 0]);

    trust(&deck, &host);
    host.reload();
    assert_eq!(said(&call(&session, "sayer", "say", json!({})).await.unwrap()), "project");

    deck.dirs.write("project/.capdeck/sayer.md", saying("changed"));
    host.reload();
    refused("its files changed since they were trusted").await;
    trust(&deck, &host);
    host.reload();
    assert_eq!(said(&call(&session, "sayer", "say", json!({})).await.unwrap()), "changed");

    TrustStore::new(&deck.dirs.state()).untrust(&deck.dirs.project()).unwrap();
    host.reload();
    refused("this project has not been trusted yet").await;
    host.close().await;
}

#[tokio::test]
async fn an_untrusted_file_does_not_replace_the_persons_own() {
    let deck = Deck::new()
        .file("config/sayer.md", &saying("mine"))
        .file("project/.capdeck/sayer.md", &saying("theirs"));
    let (host, session) = deck.operator();
    assert_eq!(said(&call(&session, "sayer", "say", json!({})).await.unwrap()), "mine");
    assert_eq!(host.catalog().untrusted().len(), 1);
    trust(&deck, &host);
    host.reload();
    assert_eq!(said(&call(&session, "sayer", "say", json!({})).await.unwrap()), "theirs");
    let catalog = host.catalog();
    let shadows = &catalog.get("sayer").unwrap().shadows;
    assert_eq!(
        shadows.iter().map(|source| source.path.clone()).collect::<Vec<_>>(),
        [deck.dirs.config().join("sayer.md")]
    );
    host.close().await;
}

#[tokio::test]
async fn a_broken_untrusted_file_does_not_hide_the_persons_own() {
    let deck = Deck::new()
        .file("config/sayer.md", &saying("mine"))
        .file("project/.capdeck/sayer.md", "no frontmatter at all");
    let (host, session) = deck.operator();
    assert_eq!(said(&call(&session, "sayer", "say", json!({})).await.unwrap()), "mine");
    host.close().await;
}

#[tokio::test]
async fn the_options_of_an_untrusted_project_have_no_effect() {
    let options =
        json!({"options": {"exposure": "none"}, "maxSearchLimit": 1, "defaultSearchLimit": 1});
    let deck = Deck::new()
        .file("config/sayer.md", &saying("mine"))
        .file("project/.capdeck/config.json", &options.to_string());
    let host = deck.open();
    assert_eq!(listed(&agent(&host)).await, ["search", "describe", "call_tool", "call_read_only"]);
    assert_eq!(host.catalog().config().max_search_limit, 50);
    trust(&deck, &host);
    host.reload();
    assert_eq!(listed(&agent(&host)).await, [] as [&str; 0]);
    host.close().await;
}

#[tokio::test]
async fn nothing_is_started_for_an_untrusted_project() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let config =
        json!({"mcpServers": {"fake": plan.deck_entry()}, "options": {"exposure": "direct"}});
    let deck = deck.file("project/.capdeck/config.json", &config.to_string());
    let host = deck.open();
    let session = agent(&host);
    listed(&session).await;
    search::find(
        &session.request(&crate::deck::context()),
        ToolQuery { words: "anything", ..ToolQuery::default() },
    )
    .await
    .unwrap();
    let report = check::check(&session.request(&crate::deck::context()), "fake").await;
    assert_eq!(report.outcome.unwrap_err().code.as_str(), "DENIED");
    assert_eq!(record.starts().len(), 0);
    host.close().await;
}

#[tokio::test]
async fn a_bound_capability_needs_a_project_and_works_in_its_folder() {
    let bound = caplet(&json!({
        "name": "Where", "description": "Tells where it works",
        "projectBinding": {"required": true},
        "cliTools": {"actions": {"where": {"command": "pwd"}}},
    }));
    let deck = Deck::new().file("config/bound.md", &bound);
    let (host, session) = deck.operator();
    let error = call(&session, "bound", "where", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
    assert_eq!(error.message, "`bound` works only inside a project");
    let hint = "start capdeck in a project folder, or with --project DIR";
    assert_eq!(error.hint.as_deref(), Some(hint));
    host.close().await;

    std::fs::create_dir(deck.dirs.project().join(".capdeck")).unwrap();
    let (host, session) = deck.operator();
    let answer = call(&session, "bound", "where", json!({})).await.unwrap();
    let folder = deck.dirs.project().canonicalize().unwrap();
    assert_eq!(said(&answer).trim_end(), folder.display().to_string());
    host.close().await;
}
