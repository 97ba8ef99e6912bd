use std::collections::VecDeque;

use super::*;

#[derive(Default)]
struct Scripted {
    answers: VecDeque<&'static str>,
    shown: String,
}

impl TerminalUser for Scripted {
    fn say(&mut self, text: &str) {
        self.shown.push_str(&format!("{text}\n"));
    }

    fn line(&mut self, prompt: &str) -> Option<String> {
        self.say(prompt);
        self.answers.pop_front().map(str::to_owned)
    }
}

fn answered(question: Value, answers: &[&'static str]) -> (Value, String) {
    let params: RawMembers = serde_json::from_value(question).unwrap();
    let mut person = Scripted { answers: answers.iter().copied().collect(), ..Scripted::default() };
    (ask("forms", &params, &mut person), person.shown)
}

fn form() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {"type": "object",
        "properties": {
            "name": {"type": "string", "title": "Full name", "description": "As in your passport"},
            "age": {"type": "integer"},
            "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
            "colours": {"type": "array", "items": {"anyOf": [
                {"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]}},
            "news": {"type": "boolean", "default": false},
        },
        "required": ["name", "size"]}})
}

#[test]
fn every_kind_of_field_is_asked_and_read() {
    let (answer, shown) = answered(form(), &["Ada", "many", "36", "Medium", "1, Blue", ""]);
    let content =
        json!({"name": "Ada", "age": 36, "size": "m", "colours": ["r", "b"], "news": false});
    assert_eq!(answer, json!({"action": "accept", "content": content}));
    for part in [
        "`forms` asks: Who are you?",
        "Full name (string)",
        "As in your passport",
        "a whole number",
        "1. Small",
        "age (integer, optional)",
        "default false",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn nothing_said_leaves_out_what_is_optional_and_declines_what_is_not() {
    let (answer, _) = answered(form(), &["Ada", "", "1", "", ""]);
    assert_eq!(answer["content"], json!({"name": "Ada", "size": "s", "news": false}));
    for answers in [&[""][..], &[], &["Ada", "36"]] {
        assert_eq!(answered(form(), answers).0, json!({"action": "decline"}));
    }
}

#[test]
fn a_question_without_fields_is_agreed_to_or_declined() {
    let question =
        json!({"message": "Delete it?", "requestedSchema": {"type": "object", "properties": {}}});
    assert_eq!(answered(question.clone(), &["y"]).0["action"], "accept");
    assert_eq!(answered(question, &[""]).0["action"], "decline");
}

#[test]
fn an_address_is_shown_whole_and_never_opened() {
    let url = "https://example.com/connect?state=abc";
    let question = json!({"mode": "url", "message": "Sign in", "url": url});
    let (answer, shown) = answered(question.clone(), &[""]);
    assert_eq!(answer, json!({"action": "accept"}));
    assert!(shown.contains(url), "{shown}");
    assert_eq!(answered(question, &["no"]).0["action"], "decline");
}

#[test]
fn hidden_characters_of_a_question_are_written_out() {
    let question = json!({"message": "Pay \u{202e}nothing\u{1b}[2J?", "requestedSchema": {}});
    let (_, shown) = answered(question, &[]);
    assert!(!shown.contains('\u{202e}') && !shown.contains('\u{1b}'), "{shown:?}");
}
