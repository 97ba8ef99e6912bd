//! Asks the client, in the way of its era, and returns the answers.

use std::time::Duration;

use capdeck_mcp::RpcError;
use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};

use super::call::{FixtureCall, raw_object};

/// How long a person may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The member of a legacy question's `_meta` that says under which key a modern client sees it.
const INPUT_KEY: &str = "io.capdeck/inputKey";

/// Something the client is asked for.
#[derive(Debug, Clone)]
pub(super) struct FixtureQuestion {
    pub(super) key: &'static str,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Questions in the order they are asked: those of one round together.
pub(super) struct QuestionRounds {
    rounds: Vec<Vec<FixtureQuestion>>,
    keeps_state: bool,
}

/// What came of asking.
pub(super) enum FixtureQuestionOutcome {
    /// Every answer, by key.
    Answers(Value),
    /// The result that asks a modern client for more.
    Needed(Value),
}

impl FixtureQuestion {
    /// Asks the person to fill in a form.
    pub(super) fn form(
        key: &'static str,
        message: &str,
        properties: &Value,
        required: &[&str],
    ) -> Self {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let params = json!({ "message": message, "requestedSchema": schema });
        Self { key, method: "elicitation/create", params }
    }

    /// Asks the person for one text.
    pub(super) fn text(key: &'static str, message: &str, property: &str) -> Self {
        Self::form(key, message, &json!({ property: { "type": "string" } }), &[property])
    }

    /// Asks the person for a yes or no.
    pub(super) fn confirmation(key: &'static str, message: &str, property: &str) -> Self {
        Self::form(key, message, &json!({ property: { "type": "boolean" } }), &[property])
    }

    /// Asks the client's model.
    pub(super) fn sampling(key: &'static str, prompt: &str, max_tokens: u32) -> Self {
        let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
        let params = json!({ "messages": [message], "maxTokens": max_tokens });
        Self { key, method: "sampling/createMessage", params }
    }

    /// Asks for the client's roots.
    pub(super) fn roots(key: &'static str) -> Self {
        Self { key, method: "roots/list", params: json!({}) }
    }

    /// As it is in `inputRequests`.
    pub(super) fn shown(&self) -> Value {
        json!({ "method": self.method, "params": self.params })
    }
}

impl QuestionRounds {
    /// One round, which a client may answer without having been asked.
    pub(super) fn stateless(questions: Vec<FixtureQuestion>) -> Self {
        Self { rounds: vec![questions], keeps_state: false }
    }

    /// Rounds whose progress travels in `requestState`.
    pub(super) fn stateful(rounds: Vec<Vec<FixtureQuestion>>) -> Self {
        Self { rounds, keeps_state: true }
    }
}

impl FixtureCall<'_> {
    /// Asks everything and gives the answers, or the result that asks for the next of them.
    pub(super) async fn gather(
        &self,
        rounds: &QuestionRounds,
    ) -> Result<FixtureQuestionOutcome, RpcError> {
        if self.is_modern {
            return self.gather_from_retries(rounds);
        }
        let mut answers = Map::new();
        for questions in &rounds.rounds {
            for (question, answer) in
                questions.iter().zip(try_join_all(questions.iter().map(|q| self.ask(q))).await?)
            {
                answers.insert(question.key.to_owned(), answer);
            }
        }
        Ok(FixtureQuestionOutcome::Answers(answers.into()))
    }

    /// Asks a legacy client in the middle of its call.
    pub(super) async fn ask(&self, question: &FixtureQuestion) -> Result<Value, RpcError> {
        let mut params = question.params.clone();
        params["_meta"][INPUT_KEY] = question.key.into();
        let peer = &self.exchange.peer;
        let answer = peer.request(question.method, Some(raw_object(&params)), TIMEOUT).await?;
        serde_json::from_str(answer.get())
            .map_err(|_| RpcError::internal("the client's answer is not JSON"))
    }

    fn gather_from_retries(
        &self,
        rounds: &QuestionRounds,
    ) -> Result<FixtureQuestionOutcome, RpcError> {
        let state = self.params.get("requestState").map(read_state).transpose()?;
        let is_first = rounds.keeps_state && state.is_none();
        let (mut round, mut answers) = state.unwrap_or_default();
        let asked = rounds.rounds.get(round).ok_or_else(foreign_state)?;
        let given = &self.params["inputResponses"];
        let is_answered = asked.iter().all(|question| given[question.key].is_object());
        if is_answered && !is_first {
            for question in asked {
                answers.insert(question.key.to_owned(), given[question.key].clone());
            }
            round += 1;
        }
        let Some(next) = rounds.rounds.get(round) else {
            return Ok(FixtureQuestionOutcome::Answers(answers.into()));
        };
        let requests: Map<String, Value> =
            next.iter().map(|question| (question.key.to_owned(), question.shown())).collect();
        let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
        if rounds.keeps_state {
            result["requestState"] =
                json!({ "round": round, "answers": answers }).to_string().into();
        }
        Ok(FixtureQuestionOutcome::Needed(result))
    }
}

fn read_state(state: &Value) -> Result<(usize, Map<String, Value>), RpcError> {
    let read = || {
        let state: Value = serde_json::from_str(state.as_str()?).ok()?;
        let round = usize::try_from(state["round"].as_u64()?).ok()?;
        Some((round, state["answers"].as_object()?.clone()))
    };
    read().ok_or_else(foreign_state)
}

fn foreign_state() -> RpcError {
    RpcError::invalid_params("`requestState` is not of this server")
}
