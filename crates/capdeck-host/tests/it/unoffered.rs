//! Nothing offered over MCP: calls are refused with the command that works, and the person's own session reaches all.

use capdeck_definition::Exposure;
use capdeck_host::ErrorCode;
use capdeck_test::FakePlan;
use serde_json::json;

use crate::deck::{Deck, agent, agent_with, call, call_listed, listed, saying, text};

fn deck() -> Deck {
    Deck::of(&FakePlan::default()).file("config/sayer.md", &saying("hi"))
}

#[tokio::test]
async fn nothing_is_listed_and_every_call_names_the_shell() {
    let deck = deck();
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::None));
    assert_eq!(listed(&session).await, [""; 0]);
    assert_eq!(session.view().instructions(), None);
    for (name, command) in [
        ("fake__echo", "capdeck sh fake echo"),
        ("fake.echo", "capdeck sh fake echo"),
        ("sayer__say", "capdeck sh sayer say"),
        ("fake__a b; rm", "capdeck sh fake 'a b; rm'"),
        ("fake__it's", r"capdeck sh fake 'it'\''s'"),
    ] {
        let error = call_listed(&session, name, json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{name}");
        assert_eq!(error.hint.unwrap(), format!("use the shell: {command}"), "{name}");
    }
    for name in ["call_tool", "setup_tools", "search", "code_mode", "echo", "no_such_tool"] {
        let error = call_listed(&session, name, json!({"name": "fake.echo"})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{name}");
        assert_eq!(error.hint.unwrap(), "use the shell: `capdeck sh` lists what there is");
    }
    let answer = call(&host.operator(), "fake", "echo", json!({"a": 1})).await.unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn one_that_is_not_offered_stands_beside_others() {
    let quiet = saying("hush").replace("cliTools:", "exposure: none\ncliTools:");
    let deck = deck().file("config/quiet.md", &quiet);
    let host = deck.open();
    let session = agent(&host);
    let error = call_listed(&session, "quiet__say", json!({})).await.unwrap_err();
    assert_eq!(error.hint.unwrap(), "use the shell: capdeck sh quiet say");
    assert!(call_listed(&session, "no_such_tool", json!({})).await.unwrap().is_none());
    let asked = json!({"name": "quiet.say", "data": {}});
    assert_eq!(
        call_listed(&session, "call_tool", asked).await.unwrap_err().code,
        ErrorCode::Denied
    );
    host.close().await;
}
