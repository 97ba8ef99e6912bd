//! What a client of the deck can do besides listing and calling: watch resources, hear logs, read long lists.

use capdeck_definition::Exposure;
use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    served::{Served, Setting, until},
};

const NOTE: &str = "caplets://fake/resources/fake%3A%2F%2Fnote";

fn direct(plan: &FakePlan) -> Served {
    Setting::of(plan).exposure(Exposure::Direct).serve()
}

/// Their list exceeds one page.
const MANY_TOOLS: usize = 9000;

fn very_long_list() -> Served {
    let plan = FakePlan { tools: MANY_TOOLS, ..FakePlan::default() };
    let options = json!({"surfaceTokens": 10_000_000});
    Setting::of(&plan).config("options", options).exposure(Exposure::Direct).serve()
}

fn touch(client: &mut HttpClient, uri: &str) {
    let call = json!({"name": "fake__touch_resource", "arguments": {"uri": uri}});
    client.request("tools/call", call);
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

#[test]
fn a_watched_resource_is_announced_under_its_listed_name() {
    let served = direct(&FakePlan::default());
    let mut client = served.deck_client();
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(served.authority(), "/mcp", &session);
    let answer = client.request("resources/subscribe", json!({"uri": NOTE}));
    assert_eq!(answer["result"], json!({}));
    touch(&mut client, "fake://other");
    touch(&mut client, "fake://note/part");
    assert_eq!(stream.next(), updated("caplets://fake/resources/fake%3A%2F%2Fnote%2Fpart"));
    touch(&mut client, "fake://note");
    assert_eq!(stream.next(), updated(NOTE));
    client.request("resources/unsubscribe", json!({"uri": NOTE}));
    touch(&mut client, "fake://note");
    let item = "caplets://fake/resources/fake%3A%2F%2Fitems%2F7";
    client.request("resources/subscribe", json!({"uri": item}));
    touch(&mut client, "fake://items/7");
    assert_eq!(stream.next(), updated(item), "nothing came in between");
}

#[test]
fn only_those_who_watch_hear_of_it_and_the_last_one_ends_it() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served = setting.server("fake", &plan).exposure(Exposure::Direct).serve();
    let (mut ada, mut eve) = (served.deck_client(), served.deck_client());
    let session = eve.session.clone().unwrap();
    let mut eves = EventStream::listen(served.authority(), "/mcp", &session);
    ada.request("resources/subscribe", json!({"uri": NOTE}));
    eve.request("resources/subscribe", json!({"uri": NOTE}));
    ada.request("resources/unsubscribe", json!({"uri": NOTE}));
    touch(&mut ada, "fake://note");
    assert_eq!(eves.next(), updated(NOTE));
    let unsubscribed = || {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        text.matches("\"resources/unsubscribe\"").count()
    };
    assert_eq!(unsubscribed(), 0, "somebody still watches");
    drop(eves);
    eve.send("DELETE", "/mcp", &[], b"");
    until("the server to be told", || (unsubscribed() == 1).then_some(()));
}

#[test]
fn resources_that_are_not_there_cannot_be_watched() {
    let served = direct(&FakePlan::default());
    let mut client = served.deck_client();
    for uri in ["fake://nobody", "caplets://other/resources/x", "caplets://fake"] {
        let answer = client.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
    }
    assert_eq!(client.request("resources/subscribe", json!({}))["error"]["code"], -32602);
}

#[test]
fn log_messages_of_a_call_are_heard_from_the_level_that_was_set() {
    let served = direct(&FakePlan::default());
    let mut client = served.deck_client();
    let mut heard = |level: Option<&str>| {
        if let Some(level) = level {
            let answer = client.request("logging/setLevel", json!({"level": level}));
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
        let call = json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call",
            "params": {"name": "fake__log", "arguments": {}}});
        let messages = client.post(&call.to_string()).messages();
        messages.iter().filter(|message| message["method"] == "notifications/message").count()
    };
    assert_eq!(heard(None), 0, "nobody asked for them");
    assert_eq!(heard(Some("debug")), 1);
    assert_eq!(heard(Some("info")), 1);
    assert_eq!(heard(Some("warning")), 0);
    let wrong = client.request("logging/setLevel", json!({"level": "loud"}));
    assert_eq!(wrong["error"]["code"], -32602);
}

#[test]
fn a_long_list_comes_in_pages_that_together_are_all_of_it() {
    let served = very_long_list();
    let mut client = served.deck_client();
    let (mut names, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let answer = client.request("tools/list", params);
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        pages += 1;
        match answer["result"].get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert!(pages > 1 && names.len() > MANY_TOOLS, "{pages} pages, {} tools", names.len());
    names.sort();
    names.dedup();
    assert!(names.len() > MANY_TOOLS, "no tool came twice");
    for (method, wrong) in
        [("tools/list", json!("")), ("prompts/list", cursor.unwrap()), ("tools/list", json!(1))]
    {
        let answer = client.request(method, json!({"cursor": wrong}));
        assert_eq!(answer["error"]["code"], -32602, "{method} {wrong}");
    }
}

#[test]
fn a_cursor_of_an_outdated_list_is_refused() {
    let served = very_long_list();
    let mut client = served.deck_client();
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(served.authority(), "/mcp", &session);
    let cursor = client.request("tools/list", json!({}))["result"]["nextCursor"].clone();
    let change = json!({"name": "fake__change_tools", "arguments": {"name": "late"}});
    client.request("tools/call", change);
    assert_eq!(stream.next()["method"], "notifications/tools/list_changed");
    let answer = client.request("tools/list", json!({"cursor": cursor}));
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("start without"), "{answer}");
}
