//! The type of a modern result, and the answer to `input_required`.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{ClientError, ClientHandler};
use crate::{RawObject, raw};

pub(super) const MAX_ROUNDS: u32 = 16;

const MAX_QUESTIONS: usize = 64;

/// The first delay before a retry without questions; it doubles each time.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(8);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputRequiredResult {
    #[serde(default)]
    input_requests: IndexMap<String, InputQuestion>,
    /// Opaque; sent back unchanged.
    request_state: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct InputQuestion {
    method: String,
    params: Option<RawObject>,
}

impl InputRequiredResult {
    pub(super) fn read(method: &str, result: &RawValue) -> Result<Self, ClientError> {
        if !matches!(method, "tools/call" | "prompts/get" | "resources/read") {
            let message = format!("`{method}` was answered with `input_required`, which it cannot");
            return Err(ClientError::Protocol { message });
        }
        let asked: Self = serde_json::from_str(result.get()).map_err(|error| {
            ClientError::protocol(format!("an `input_required` result cannot be read: {error}"))
        })?;
        if asked.input_requests.len() > MAX_QUESTIONS {
            let message = format!(
                "{} questions at once, more than {MAX_QUESTIONS}",
                asked.input_requests.len()
            );
            return Err(ClientError::Protocol { message });
        }
        if asked.input_requests.is_empty() && asked.request_state.is_none() {
            let message = "an `input_required` result asks nothing and has no `requestState`";
            return Err(ClientError::protocol(message));
        }
        Ok(asked)
    }

    /// Asks all questions at once and adds the responses to the request's params. `round` starts at zero.
    pub(super) async fn answer(
        self,
        params: &mut RawObject,
        handler: &Arc<dyn ClientHandler>,
        round: u32,
    ) -> Result<(), ClientError> {
        params.shift_remove("inputResponses");
        if self.input_requests.is_empty() {
            let pause = FIRST_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(round));
            tokio::time::sleep(pause.min(MAX_RETRY_DELAY)).await;
        } else {
            let questions = self.input_requests.into_iter().map(|(key, question)| async move {
                question.ask(handler).await.map(|answer| (key, answer))
            });
            let answers: RawObject = try_join_all(questions).await?.into_iter().collect();
            params.insert("inputResponses".to_owned(), raw::raw(&answers));
        }
        match self.request_state {
            Some(state) => params.insert("requestState".to_owned(), state),
            None => params.shift_remove("requestState"),
        };
        Ok(())
    }
}

impl InputQuestion {
    async fn ask(self, handler: &Arc<dyn ClientHandler>) -> Result<Box<RawValue>, ClientError> {
        let Self { method, mut params } = self;
        if method == "elicitation/create"
            && let Some(params) = &mut params
        {
            name_page(params);
        }
        let answer = handler.request(&method, params).await;
        answer.map_err(|error| ClientError::Unanswered { method, error })
    }
}

/// Legacy clients need an id for a URL elicitation, which modern servers no longer send.
fn name_page(params: &mut RawObject) {
    if raw::text_member(params, "mode").as_deref() != Some("url")
        || params.contains_key("elicitationId")
    {
        return;
    }
    let mut bytes = [0; 16];
    // Without randomness a client still shows the page; only its id is not unique.
    getrandom::fill(&mut bytes).ok();
    let id = format!("{:032x}", u128::from_be_bytes(bytes));
    params.insert("elicitationId".to_owned(), raw::raw(&id));
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    Answer,
    InputRequired,
    Unknown(String),
}

/// Reads the type. A result without one is complete.
pub(super) fn result_type(result: &RawValue) -> ResultType {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_str(result.get());
    // Stopping at the member leaves the reader inside the object, which it reports as an error; the text is valid
    // JSON.
    reader.deserialize_map(ResultTypeFinder(&mut found)).ok();
    match found.as_deref() {
        None | Some("complete" | "task") => ResultType::Answer,
        Some("input_required") => ResultType::InputRequired,
        Some(other) => ResultType::Unknown(other.to_owned()),
    }
}

struct ResultTypeFinder<'a>(&'a mut Option<String>);

#[derive(Deserialize)]
#[serde(field_identifier)]
enum ResultMember {
    #[serde(rename = "resultType")]
    ResultType,
    #[serde(other)]
    Other,
}

impl<'de> Visitor<'de> for ResultTypeFinder<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(member) = members.next_key::<ResultMember>()? {
            match member {
                ResultMember::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
                ResultMember::ResultType => {
                    let text: &RawValue = members.next_value()?;
                    let word = serde_json::from_str(text.get());
                    *self.0 = Some(word.unwrap_or_else(|_| text.get().to_owned()));
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_the_top_level_member_and_complete_when_absent() {
        let found = |text: &str| result_type(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(found(r#"{"resultType":"complete","content":[]}"#), ResultType::Answer);
        assert_eq!(found(r#"{"content":[{"resultType":"input_required"}]}"#), ResultType::Answer);
        assert_eq!(
            found(r#"{"a":{"b":1},"resultType":"input_required"}"#),
            ResultType::InputRequired
        );
        assert_eq!(found(r#"{"resultType":"task","taskId":"1"}"#), ResultType::Answer);
        assert_eq!(found("{}"), ResultType::Answer);
        assert_eq!(found("[]"), ResultType::Answer);
        assert_eq!(found(r#"{"resultType":"later"}"#), ResultType::Unknown("later".to_owned()));
        assert_eq!(found(r#"{"resultType":7}"#), ResultType::Unknown("7".to_owned()));
    }
}
