//! Questions to the client in the middle of a request, in the way of its era.
//!
//! A legacy client gets a request and its answer is waited for. A modern one gets an `input_required` result and
//! sends the request again.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    modern,
    server::{FakeOutlet, FakeServer},
};

/// One thing to ask.
#[derive(Clone)]
struct FakeQuestion {
    key: &'static str,
    method: &'static str,
    params: Value,
}

/// How a request asks: questions of one round are asked together.
struct FakeInterview {
    rounds: Vec<Vec<FakeQuestion>>,
    /// Modern only: whether the client is given a `requestState` to send back.
    stateful: bool,
}

/// Asks what the tool, prompt or resource of this name is there to ask. `None` when it asks nothing.
pub(super) fn ask(
    server: &FakeServer,
    subject: &str,
    params: &Value,
    modern: bool,
    outlet: &Arc<dyn FakeOutlet>,
) -> Option<Result<Value, Value>> {
    let interview = interview(subject, &params["arguments"])?;
    let answers = if modern {
        match interview.next_round(params) {
            Ok(answers) => answers,
            Err(outcome) => return Some(outcome),
        }
    } else {
        interview.ask_one_by_one(server, outlet)
    };
    // One answer is returned as it is, as in the other tools of this server.
    let single = interview.rounds.iter().flatten().count() == 1;
    let answer = match answers.values().next() {
        Some(only) if single => only.clone(),
        _ => Value::from(answers),
    };
    Some(Ok(answer))
}

fn interview(subject: &str, arguments: &Value) -> Option<FakeInterview> {
    let once = |question: FakeQuestion| vec![vec![question]];
    let (rounds, stateful) = match subject {
        "ask_elicitation" | "interview" | "fake://question" => (once(elicitation("name")), true),
        "ask_without_state" => (once(elicitation("name")), false),
        "ask_url" => (once(url_elicitation(arguments)), true),
        "ask_sampling" => (once(sampling()), true),
        "ask_roots" => (once(roots()), true),
        "ask_all" => (vec![vec![elicitation("name"), sampling(), roots()]], true),
        "ask_twice" => (vec![vec![elicitation("first")], vec![elicitation("second")]], true),
        "ask_to_wait" => (vec![vec![]], true),
        "ask_forever" => (vec![vec![elicitation("name")]; 1_000], true),
        _ => return None,
    };
    Some(FakeInterview { rounds, stateful })
}

impl FakeInterview {
    fn ask_one_by_one(
        &self,
        server: &FakeServer,
        outlet: &Arc<dyn FakeOutlet>,
    ) -> Map<String, Value> {
        let mut answers = Map::new();
        for question in self.rounds.iter().flatten() {
            let answer = server.ask(question.method, question.params.clone(), outlet);
            answers.insert(question.key.to_owned(), answer);
        }
        answers
    }

    /// The answers when there are enough, else the result that asks for more.
    fn next_round(&self, params: &Value) -> Result<Map<String, Value>, Result<Value, Value>> {
        let state = params["requestState"].as_str();
        let mut answers = Map::new();
        let mut round = 0;
        if let Some(state) = state {
            let Ok(known) = serde_json::from_str::<Value>(state) else {
                return Err(Err(json!({"code": -32602, "message": "a `requestState` of another"})));
            };
            round =
                known["round"].as_u64().and_then(|round| usize::try_from(round).ok()).unwrap_or(0);
            answers = known["answers"].as_object().cloned().unwrap_or_default();
        } else if params.get("inputResponses").is_some() {
            if self.stateful {
                let message = "`inputResponses` came without the `requestState`";
                return Err(Err(json!({"code": -32602, "message": message})));
            }
            round = 1;
        }
        if let Some(asked) = round.checked_sub(1).and_then(|last| self.rounds.get(last)) {
            for question in asked {
                let Some(answer) = params["inputResponses"].get(question.key) else {
                    round -= 1;
                    break;
                };
                answers.insert(question.key.to_owned(), json!({"result": answer}));
            }
        }
        let Some(questions) = self.rounds.get(round) else { return Ok(answers) };
        for question in questions {
            let capability = question.capability();
            if !modern::has_capability(params, capability) {
                let message = format!("this needs a client with `{capability}`");
                let data = json!({"requiredCapabilities": {capability: {}}});
                return Err(Err(json!({"code": -32021, "message": message, "data": data})));
            }
        }
        let requests: Map<String, Value> = questions
            .iter()
            .map(|one| (one.key.to_owned(), json!({"method": one.method, "params": one.params})))
            .collect();
        let mut result = json!({"resultType": "input_required"});
        if !requests.is_empty() {
            result["inputRequests"] = Value::from(requests);
        }
        if self.stateful {
            let state = json!({"round": round + 1, "answers": answers}).to_string();
            result["requestState"] = json!(state);
        }
        Err(Ok(result))
    }
}

impl FakeQuestion {
    fn capability(&self) -> &'static str {
        match self.method {
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "elicitation",
        }
    }
}

fn elicitation(key: &'static str) -> FakeQuestion {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
    FakeQuestion { key, method: "elicitation/create", params }
}

/// Asks to visit the `url` of the arguments, if there is one.
fn url_elicitation(arguments: &Value) -> FakeQuestion {
    let url = arguments["url"].as_str().unwrap_or("https://example.com/in");
    let params = json!({"mode": "url", "message": "Please sign in", "url": url});
    FakeQuestion { key: "visit", method: "elicitation/create", params }
}

fn sampling() -> FakeQuestion {
    let message = json!({"role": "user", "content": {"type": "text", "text": "Say something"}});
    let params = json!({"messages": [message], "maxTokens": 16});
    FakeQuestion { key: "saying", method: "sampling/createMessage", params }
}

fn roots() -> FakeQuestion {
    FakeQuestion { key: "folders", method: "roots/list", params: json!({}) }
}
