//! Questions of a server during a call, and the error of a call whose question cannot be answered.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, CallerHandle, ErrorCode};
use capdeck_catalog::{RawMembers, tool_words};
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};

use crate::{audience::ClientAudience, raw};

/// MCP's code for a request that needs an undeclared client capability.
const MISSING_CAPABILITY: i64 = -32021;

/// The caller of one call. Asks the client only for what it declared and remembers the refused
/// questions.
pub(crate) struct ClientQuestions {
    caller: Arc<dyn CallerHandle>,
    audience: ClientAudience,
    unanswered: Mutex<Option<ClientFeature>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientFeature {
    Form,
    Url,
    Sampling,
    Roots,
}

impl ClientQuestions {
    pub(crate) fn watch(
        context: &CallContext,
        audience: &ClientAudience,
    ) -> (Arc<Self>, CallContext) {
        let questions = Arc::new(Self {
            caller: context.caller.clone(),
            audience: audience.clone(),
            unanswered: Mutex::new(None),
        });
        let client = context.client.clone().unwrap_or_else(|| audience.client().clone());
        let watched =
            CallContext { caller: questions.clone(), client: Some(client), ..context.clone() };
        (questions, watched)
    }

    pub(crate) fn explain(&self, id: &str, tool: &str, outcome: raw::Answer) -> raw::Answer {
        let refused = *self.unanswered.lock();
        match outcome {
            // A server may continue without the answer; only a failed call is explained.
            Ok(result) if crate::calls::is_tool_error(&result) => {
                match refused.or_else(|| ClientFeature::refused_in(result.get())) {
                    Some(feature) => Err(unsupported_client_error(id, tool, Some(feature))),
                    None => Ok(result),
                }
            }
            Ok(result) => Ok(result),
            Err(error) => {
                let refused = refused.or_else(|| ClientFeature::refused_in(&error.message));
                let Some(remote) = &error.rpc else {
                    return Err(match refused {
                        Some(_) => unsupported_client_error(id, tool, refused),
                        None => error,
                    });
                };
                if remote.code != MISSING_CAPABILITY && refused.is_none() {
                    return Err(error);
                }
                let required = remote.data.as_deref().and_then(required);
                let mut explained = unsupported_client_error(id, tool, required.or(refused));
                explained.rpc = error.rpc;
                Err(explained)
            }
        }
    }
}

pub(crate) fn check_declared(
    audience: &ClientAudience,
    method: &str,
    params: Option<&RawMembers>,
) -> Result<(), CallError> {
    match ClientFeature::required_by(method, params) {
        Some(feature) if !feature.is_declared(audience) => Err(undeclared(feature)),
        _ => Ok(()),
    }
}

/// Rejects a question on a shared connection whose call cannot be identified. None of the clients
/// can be asked: a client that can be has its own connection.
pub(crate) fn refuse_unaddressed(method: &str, params: Option<&RawMembers>) -> CallError {
    match ClientFeature::required_by(method, params) {
        Some(feature) => undeclared(feature),
        None => CallError::new(
            ErrorCode::UnsupportedCapability,
            format!("no client can answer `{method}`"),
        ),
    }
}

fn undeclared(feature: ClientFeature) -> CallError {
    CallError::new(ErrorCode::UnsupportedCapability, feature.refusal())
}

#[async_trait]
impl CallerHandle for ClientQuestions {
    fn wants_progress(&self) -> bool {
        self.caller.wants_progress()
    }

    fn progress(&self, params: RawMembers) {
        self.caller.progress(params);
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.caller.notify(method, params);
    }

    async fn request(&self, method: &str, params: Option<RawMembers>) -> raw::Answer {
        match ClientFeature::required_by(method, params.as_ref()) {
            Some(feature) if !feature.is_declared(&self.audience) => {
                *self.unanswered.lock() = Some(feature);
                // The edge rejects it too, and answers the whole call with the code that the modern
                // era has for this.
                if self.caller.takes_input_required() {
                    return self.caller.request(method, params).await;
                }
                Err(undeclared(feature))
            }
            _ => self.caller.request(method, params).await,
        }
    }

    fn takes_input_required(&self) -> bool {
        self.caller.takes_input_required()
    }

    fn paused(&self) {
        self.caller.paused();
    }
}

impl ClientFeature {
    fn required_by(method: &str, params: Option<&RawMembers>) -> Option<Self> {
        match method {
            "elicitation/create" => {
                let mode = params.and_then(|params| raw::string(params.get("mode")?));
                Some(if mode.as_deref() == Some("url") { Self::Url } else { Self::Form })
            }
            "sampling/createMessage" => Some(Self::Sampling),
            "roots/list" => Some(Self::Roots),
            _ => None,
        }
    }

    fn is_declared(self, audience: &ClientAudience) -> bool {
        let capabilities = &audience.client().capabilities;
        match self {
            Self::Url => capabilities
                .get("elicitation")
                .and_then(|text| raw::value(text))
                .is_some_and(|modes| modes.get("url").is_some()),
            Self::Form | Self::Sampling | Self::Roots => {
                capabilities.contains_key(self.capability())
            }
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Self::Form | Self::Url => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    fn refusal(self) -> String {
        format!("the client does not declare `{}`", self.capability())
    }

    /// The refused question of a failed call, when its server repeats the refusal. That is the only
    /// trace of a question that could not be assigned to its call.
    fn refused_in(text: &str) -> Option<Self> {
        [Self::Form, Self::Sampling, Self::Roots]
            .into_iter()
            .find(|feature| text.contains(&feature.refusal()))
    }

    fn description(self) -> &'static str {
        match self {
            Self::Form => "asks the person something",
            Self::Url => "asks the person to open an address",
            Self::Sampling => "asks the client's model",
            Self::Roots => "asks for the client's folders",
        }
    }
}

fn required(data: &RawValue) -> Option<ClientFeature> {
    let facts = raw::value(data)?;
    let required = facts.get("requiredCapabilities")?;
    let elicitation = |modes: &Value| match modes.get("url") {
        Some(_) => ClientFeature::Url,
        None => ClientFeature::Form,
    };
    required
        .get("elicitation")
        .map(elicitation)
        .or_else(|| required.get("sampling").map(|_| ClientFeature::Sampling))
        .or_else(|| required.get("roots").map(|_| ClientFeature::Roots))
}

fn unsupported_client_error(id: &str, tool: &str, feature: Option<ClientFeature>) -> CallError {
    let Some(feature) = feature else {
        return CallError::new(
            ErrorCode::UnsupportedCapability,
            format!("`{id}.{tool}` needs a capability that this client does not have"),
        )
        .hint("the details name the missing client capability; use a client that has it");
    };
    let capability = feature.capability();
    let message = format!(
        "`{id}.{tool}` {} (`{capability}`), which this client does not support",
        feature.description()
    );
    let hint = match feature {
        ClientFeature::Form => format!(
            "turn on elicitation in this client, use one that has it, or run in a terminal: capdeck call {}",
            tool_words(id, tool)
        ),
        ClientFeature::Url | ClientFeature::Sampling | ClientFeature::Roots => {
            format!("turn on {capability} in this client, or use one that has it")
        }
    };
    CallError::new(ErrorCode::UnsupportedCapability, message)
        .hint(hint)
        .data(json!({ "requiredCapability": capability }))
}

#[cfg(test)]
mod tests {
    use capdeck_backend::ClientProfile;

    use super::*;

    fn questions() -> Arc<ClientQuestions> {
        let context = CallContext::detached(std::time::Duration::from_secs(1));
        ClientQuestions::watch(&context, &ClientAudience::new(ClientProfile::default())).0
    }

    fn result(text: &str, is_error: bool) -> Box<RawValue> {
        let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
        serde_json::value::to_raw_value(&result).unwrap()
    }

    #[test]
    fn a_server_that_gave_up_with_the_refusal_is_explained() {
        let failed = result("MCP error -32601: the client does not declare `elicitation`", true);
        let error = questions().explain("forms", "ask", Ok(failed)).unwrap_err();
        assert_eq!(
            error.message,
            "`forms.ask` asks the person something (`elicitation`), which this client does not support"
        );
    }

    #[test]
    fn other_errors_and_good_results_stay_as_they_are() {
        for (text, is_error) in
            [("no such row", true), ("the client does not declare `elicitation`", false)]
        {
            let failed = result(text, is_error);
            let unchanged = questions().explain("forms", "ask", Ok(failed.clone())).unwrap();
            assert_eq!(unchanged.get(), failed.get());
        }
    }
}
