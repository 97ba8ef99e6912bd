//! Questions in the middle of a modern call: asked by an answer, answered by the next request.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::{TextSealer, server::HttpOptions};
use serde_json::{Value, json};

use crate::support::*;

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}

/// The same call with answers.
fn again(name: &str, questions: &Value, answers: Value) -> Value {
    json!({"name": name, "inputResponses": answers, "requestState": questions["requestState"]})
}

/// The code of an error that came with a JSON answer.
async fn code(talk: &ModernTalk, id: u64, params: Value) -> i64 {
    let (_, body) = talk.ask(id, "tools/call", params).await;
    body["error"]["code"].as_i64().unwrap_or_else(|| panic!("{body}"))
}

#[tokio::test]
async fn a_question_suspends_the_call_and_the_answer_resumes_it() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_and_wait"})).await;
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(
        asked["inputRequests"],
        json!({"question-1": {"method": "elicitation/create", "params": {"message": "?"}}})
    );
    assert_eq!(asked["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fixture");
    let answers = json!({"question-1": accept("yes"), "unknown": accept("ignored")});
    let done = talk.call(2, again("ask_and_wait", &asked, answers)).await;
    assert_eq!(done["resultType"], "complete");
    assert_eq!(done["content"], json!({"value": "yes"}));
    assert_eq!(talk.fixture.next().await, opened());
    assert_eq!(
        talk.fixture.next().await,
        Happening::Started("ask_and_wait".to_owned()),
        "it ran once"
    );
}

fn opened() -> Happening {
    let (requested, client) = ("2026-07-28".to_owned(), "\"test\"".to_owned());
    Happening::Opened { requested, revision: "2026-07-28", client }
}

#[tokio::test]
async fn questions_asked_together_go_out_together_and_a_missing_answer_is_asked_for_again() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_two"})).await;
    let keys: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["question-1", "question-2"]);
    let asked = talk.call(2, again("ask_two", &asked, json!({"question-1": accept("one")}))).await;
    let left = asked["inputRequests"].as_object().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["question-2"]);
    let asked = talk.call(3, again("ask_two", &asked, json!({}))).await;
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 1, "none was given");
    let done = talk.call(4, again("ask_two", &asked, json!({"question-2": accept("two")}))).await;
    assert_eq!(done["first"]["content"]["value"], "one");
    assert_eq!(done["second"]["content"]["value"], "two");
}

#[tokio::test]
async fn a_question_may_name_its_key_and_be_answered_before_it_is_asked() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_by_name"})).await;
    let questions = asked["inputRequests"].as_object().unwrap();
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["who", "question-1"], "a key is given once");
    assert_eq!(questions["who"]["params"], json!({"message": "who", "_meta": {"kept": 1}}));
    let early = json!({"who": accept("early"), "unknown": accept("ignored")});
    let asked = talk.call(2, json!({"name": "ask_by_name", "inputResponses": early})).await;
    let questions = asked["inputRequests"].as_object().unwrap();
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["who"], "one answer is for one question");
    let late = json!({"who": accept("late")});
    let done = talk.call(3, again("ask_by_name", &asked, late)).await;
    assert_eq!(done["first"]["content"]["value"], "early");
    assert_eq!(done["second"]["content"]["value"], "late");
}

#[tokio::test]
async fn later_questions_make_another_round() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let first = talk.call(1, json!({"name": "ask_in_turn"})).await;
    let answers = json!({"question-1": accept("one")});
    let second = talk.call(2, again("ask_in_turn", &first, answers)).await;
    assert_eq!(second["inputRequests"]["question-2"]["params"]["message"], "second");
    assert_ne!(first["requestState"], second["requestState"]);
    let answers = json!({"question-2": accept("two")});
    let done = talk.call(3, again("ask_in_turn", &second, answers)).await;
    assert_eq!(done["second"]["content"]["value"], "two");
}

#[tokio::test]
async fn what_a_resumed_call_tells_goes_to_the_one_who_waits_now() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let first = talk
        .with_meta(json!({"progressToken": "old", "io.modelcontextprotocol/logLevel": "debug"}));
    let asked = first.call(1, json!({"name": "ask_and_tell"})).await;
    let second = talk.with_meta(json!({"progressToken": "new"}));
    let params = again("ask_and_tell", &asked, json!({"question-1": accept("x")}));
    let response = second.send(2, "tools/call", params).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = soon(response.text()).await.unwrap();
    assert!(text.contains(r#""progressToken":"new""#) && !text.contains("old"), "{text}");
    assert!(!text.contains("notifications/message"), "this request wants no log: {text}");
    assert!(text.contains(r#""id":2,"result""#), "{text}");
}

#[tokio::test]
async fn a_state_is_good_once_for_its_own_request_and_its_own_principal() {
    let talk = ModernTalk::start(HttpOptions::default()).await.with_principal("ada");
    let asked = talk.call(1, json!({"name": "ask_and_wait", "arguments": {"a": 1}})).await;
    let answers = json!({"question-1": accept("yes")});
    let retry = |name: &str, arguments: Value, state: Value| json!({"name": name, "arguments": arguments, "inputResponses": answers, "requestState": state});
    let good = asked["requestState"].clone();
    let tampered = json!(format!("{}-TAMPERED", good.as_str().unwrap()));
    let mine = json!({"a": 1});
    for bad in [
        retry("ask_and_wait", mine.clone(), tampered),
        retry("ask_and_wait", mine.clone(), json!("made up")),
        retry("ask_and_wait", mine.clone(), json!(3)),
        retry("ask_and_wait", json!({"a": 2}), good.clone()),
        retry("ask_two", mine.clone(), good.clone()),
    ] {
        assert_eq!(code(&talk, 2, bad).await, -32602);
    }
    let retry = retry("ask_and_wait", mine, good);
    for stranger in [talk.with_principal("bob"), ModernTalk { principal: None, ..talk.clone() }] {
        assert_eq!(code(&stranger, 3, retry.clone()).await, -32602);
    }
    let (_, body) = talk.ask(4, "prompts/get", retry.clone()).await;
    assert_eq!(body["error"]["code"], -32602);
    for malformed in [json!(null), json!([]), json!({"question-1": 5}), json!("x")] {
        let mut retry = retry.clone();
        retry["inputResponses"] = malformed;
        assert_eq!(code(&talk, 5, retry).await, -32602);
    }
    let done = talk.call(6, retry.clone()).await;
    assert_eq!(done["content"]["value"], "yes", "none of that harmed the call");
    assert_eq!(code(&talk, 7, retry).await, -32602, "used twice");
}

#[tokio::test]
async fn a_call_whose_questions_are_not_answered_in_time_is_cancelled() {
    let lifetime = Duration::from_millis(50);
    let talk =
        ModernTalk::start(HttpOptions { question_lifetime: lifetime, ..HttpOptions::default() })
            .await;
    let asked = talk.call(1, json!({"name": "ask_and_wait"})).await;
    talk.fixture.until(&Happening::Cancelled).await;
    let retry = again("ask_and_wait", &asked, json!({"question-1": accept("late")}));
    assert_eq!(code(&talk, 2, retry).await, -32602);
}

#[tokio::test]
async fn giving_up_on_the_retry_cancels_the_call() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_then_hang"})).await;
    let retry = again("ask_then_hang", &asked, json!({"question-1": accept("yes")}));
    let mut waiting = Box::pin(talk.asking(2, "tools/call", retry.clone()).send());
    let resumed = Happening::Started("ask_then_hang".to_owned());
    tokio::select! {
        _ = &mut waiting => panic!("the answer came"),
        () = talk.fixture.until(&resumed) => {}
    }
    drop(waiting);
    talk.fixture.until(&Happening::Cancelled).await;
    assert_eq!(code(&talk, 3, retry).await, -32602);
}

#[tokio::test]
async fn the_end_of_the_server_cancels_calls_that_wait() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_and_wait"})).await;
    assert_eq!(asked["resultType"], "input_required");
    talk.endpoint.shutdown().await;
    talk.fixture.until_all(&[Happening::Cancelled, Happening::Closed]).await;
}

#[tokio::test]
async fn waiting_calls_are_bounded_in_all_and_per_principal() {
    let options =
        HttpOptions { max_suspended: 3, max_suspended_per_principal: 2, ..HttpOptions::default() };
    let talk = ModernTalk::start(options).await;
    let (ada, bob) = (talk.with_principal("ada"), talk.with_principal("bob"));
    let call = json!({"name": "ask_and_wait"});
    for id in [1, 2] {
        assert_eq!(ada.call(id, call.clone()).await["resultType"], "input_required");
    }
    assert_eq!(code(&ada, 3, call.clone()).await, -32603);
    talk.fixture.until(&Happening::Cancelled).await;
    assert_eq!(bob.call(4, call.clone()).await["resultType"], "input_required");
    assert_eq!(code(&bob, 5, call).await, -32603, "all places are taken");
}

#[tokio::test]
async fn no_one_is_asked_for_what_they_did_not_declare() {
    let talk = ModernTalk::start(HttpOptions::default()).await.with_capabilities(json!({}));
    for (name, required) in [
        ("ask", json!({"elicitation": {"form": {}}})),
        ("sample_or_fail", json!({"sampling": {}})),
        ("own_question", json!({"elicitation": {"form": {}}})),
        ("visit", json!({"elicitation": {"url": {}}})),
    ] {
        let (status, body) = talk.ask(1, "tools/call", json!({"name": name})).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32021)), "{name}: {body}");
        assert_eq!(body["error"]["data"]["requiredCapabilities"], required, "{name}");
        assert_eq!(body["id"], 1);
    }
    let done = talk.call(2, json!({"name": "sample_or_not"})).await;
    assert_eq!(done["instead"], true, "a call that does without is fine");
    let url_only = talk.with_capabilities(json!({"elicitation": {"url": {}}}));
    let (status, _) = url_only.ask(3, "tools/call", json!({"name": "ask"})).await;
    assert_eq!(status, 400, "forms were not declared");
    let roots = talk.with_capabilities(json!({"roots": {}}));
    let (_, body) = roots.ask(4, "odd/ask", json!({})).await;
    assert_eq!(body["error"]["code"], -32603, "this request cannot be answered with questions");
}

#[tokio::test]
async fn a_client_that_can_be_asked_less_now_is_not_asked_again() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let asked = talk.call(1, json!({"name": "ask_two"})).await;
    let params = again("ask_two", &asked, json!({"question-1": accept("one")}));
    let (status, body) =
        talk.with_capabilities(json!({"roots": {}})).ask(2, "tools/call", params).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32021)), "{body}");
}

#[tokio::test]
async fn a_sessions_own_state_is_sealed_and_outlives_the_server() {
    let key = || Arc::new(TextSealer::new(&[5; 32]).scoped("here"));
    let start = || ModernTalk::start(HttpOptions { sealer: key(), ..HttpOptions::default() });
    let talk = start().await.with_principal("ada");
    let asked = talk.call(1, json!({"name": "own_question"})).await;
    assert_eq!(asked["inputRequests"]["who"]["method"], "elicitation/create");
    let state = asked["requestState"].as_str().unwrap();
    assert!(!state.is_empty() && !state.contains("own"));
    let retry = again("own_question", &asked, json!({"who": accept("me")}));
    let restarted = start().await.with_principal("ada");
    for talk in [&talk, &restarted, &talk] {
        let done = talk.call(2, retry.clone()).await;
        assert_eq!(done["state"], "own words");
        assert_eq!(done["responses"], json!({"who": accept("me")}));
    }
    assert_eq!(code(&talk.with_principal("bob"), 3, retry.clone()).await, -32602);
    let mut tampered = retry.clone();
    tampered["requestState"] = json!(format!("{state}-TAMPERED"));
    assert_eq!(code(&talk, 4, tampered).await, -32602);
    let elsewhere = Arc::new(TextSealer::new(&[5; 32]).scoped("elsewhere"));
    let other =
        ModernTalk::start(HttpOptions { sealer: elsewhere, ..HttpOptions::default() }).await;
    assert_eq!(code(&other.with_principal("ada"), 5, retry).await, -32602);
    let stateless = json!({"name": "own_question", "inputResponses": {"who": accept("me")}});
    assert_eq!(talk.call(6, stateless).await["state"], Value::Null, "a state is optional");
}

#[tokio::test]
async fn an_address_to_visit_becomes_a_question_and_then_the_call_runs_again() {
    let talk = ModernTalk::start(HttpOptions::default())
        .await
        .with_capabilities(json!({"elicitation": {"form": {}, "url": {}}}));
    let asked = talk.call(1, json!({"name": "visit"})).await;
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(
        asked["inputRequests"]["visit-1"]["params"],
        json!({"mode": "url", "message": "sign in", "url": "https://a.test/"})
    );
    let retry = again("visit", &asked, json!({"visit-1": {"action": "accept"}}));
    assert_eq!(talk.call(2, retry).await["visited"], true);
}
