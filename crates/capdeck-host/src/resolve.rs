//! Finds the tool that a request means, and checks its arguments, in one catalog.
//!
//! The lists in a catalog may be older than the server. A request is refused by a list only after the server was
//! asked for it again.

use std::{borrow::Cow, sync::Arc};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Tool};
use capdeck_definition::{Backend, PinMode};
use serde_json::{Value, json, value::RawValue};

use crate::{
    CallForm, Session, ToolRequest,
    deck_snapshot::{DeckSnapshot, ToolLookup},
    pins::declares_its_tools,
    projection, raw, unformatted,
};

/// What a request leads to in one catalog.
pub(crate) struct Resolved<'a> {
    pub(crate) deck: DeckSnapshot<'a>,
    /// The request without what is meant for the host.
    pub(crate) request: Cow<'a, ToolRequest>,
    pub(crate) capability: Arc<Capability>,
    /// `None` only where the server itself decides.
    pub(crate) tool: Option<Arc<Tool>>,
}

/// Why a request leads nowhere.
pub(crate) struct Refusal {
    pub(crate) error: Box<CallError>,
    /// True when the gate stopped the call, also where the client is answered that there is no such tool.
    pub(crate) by_gate: bool,
}

impl Refusal {
    pub(crate) fn of(deck: &DeckSnapshot<'_>, request: &ToolRequest, error: CallError) -> Self {
        let by_gate = match error.code {
            ErrorCode::Denied | ErrorCode::ApprovalRequired => true,
            ErrorCode::ToolNotFound | ErrorCode::ServerNotFound => {
                deck.has_tool(&request.capability, &request.tool)
            }
            _ => false,
        };
        Self { error: Box::new(error), by_gate }
    }
}

/// What one catalog says about a request.
enum Match {
    Found(Arc<Capability>, Option<Arc<Tool>>),
    /// The backend may offer something else by now.
    RefusedByList(Arc<Capability>, CallError),
    /// The catalog is older than a decision of a person.
    Outdated,
}

/// What was done for a request already, so that nothing is done twice.
#[derive(Default)]
struct Attempts {
    /// The definition whose backend was asked for its list.
    asked: Option<String>,
    has_rebuilt: bool,
}

impl Attempts {
    fn has_asked(&self, capability: &Capability) -> bool {
        self.asked.as_ref() == Some(&capability.definition.fingerprint)
    }

    /// False when it was asked before.
    fn may_ask(&mut self, capability: &Capability) -> bool {
        let is_first = !self.has_asked(capability);
        self.asked = Some(capability.definition.fingerprint.clone());
        is_first
    }
}

impl Session {
    /// The tool that a request means, and that its arguments fit.
    pub(crate) async fn resolve<'a>(
        &'a self,
        mut deck: DeckSnapshot<'a>,
        request: &'a ToolRequest,
        context: &CallContext,
    ) -> Result<Resolved<'a>, Refusal> {
        let mut attempts = Attempts::default();
        loop {
            let refused = |error| Refusal::of(&deck, request, error);
            let read =
                unformatted::read(request, || deck.is_of_capability_file(&request.capability));
            let found = self.look_up(&deck, &read, &attempts).map_err(refused)?;
            let outcome = match found {
                Match::Found(capability, tool) => {
                    match self.settle(&deck, &capability, &mut attempts, context).await {
                        Ok(true) => return Ok(Resolved { deck, request: read, capability, tool }),
                        Ok(false) => Ok(()),
                        Err(error) => Err(error),
                    }
                }
                Match::RefusedByList(capability, error) => {
                    self.ask_before_refusing(&deck, &capability, error, &mut attempts, context)
                        .await
                }
                Match::Outdated => self.rebuild_once(&request.tool, &mut attempts),
            };
            outcome.map_err(refused)?;
            deck = self.snapshot();
        }
    }

    /// The tool's definition. Asks the backend before it says that there is none.
    /// `None` only in a transparent session, where the server itself decides.
    pub async fn find_tool(
        &self,
        capability: &Arc<Capability>,
        name: &str,
        context: &CallContext,
    ) -> Result<Option<Arc<Tool>>, CallError> {
        let mut attempts = Attempts::default();
        loop {
            let deck = self.snapshot();
            match tool_in(&deck, capability, name, &attempts)? {
                Match::Found(_, tool) => return Ok(tool),
                Match::RefusedByList(capability, error) => {
                    self.ask_before_refusing(&deck, &capability, error, &mut attempts, context)
                        .await?;
                }
                Match::Outdated => self.rebuild_once(name, &mut attempts)?,
            }
        }
    }

    /// Reads the list of a capability again because it refuses a request, unless that was done. `Ok` when the request
    /// should be looked at again; otherwise the refusal, and why there is no newer list.
    pub(crate) async fn ask_again(
        &self,
        capability: &Capability,
        refusal: CallError,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let definition = &capability.definition;
        if declares_its_tools(definition) {
            return Err(refusal);
        }
        match self.host.discover(definition, &self.connections, context).await {
            Ok(_) => Ok(()),
            Err(error) if capability.discovery.is_none() => Err(error),
            Err(error) => Err(CallError {
                message: format!(
                    "{}; the list is an old one and could not be read again: {}",
                    refusal.message, error.message
                ),
                ..refusal
            }),
        }
    }

    async fn ask_before_refusing(
        &self,
        deck: &DeckSnapshot<'_>,
        capability: &Capability,
        refusal: CallError,
        attempts: &mut Attempts,
        context: &CallContext,
    ) -> Result<(), CallError> {
        if !attempts.may_ask(capability) {
            return Err(refusal);
        }
        match self.ask_again(capability, refusal, context).await {
            // The call itself goes to the server, which says what is wrong.
            Err(_) if deck.server_decides(capability) => Ok(()),
            outcome => outcome,
        }
    }

    /// Makes the catalog follow what a person approved in another process.
    fn rebuild_once(&self, tool: &str, attempts: &mut Attempts) -> Result<(), CallError> {
        if std::mem::replace(&mut attempts.has_rebuilt, true) {
            let message = format!("the approval of `{tool}` is being changed; call again");
            return Err(CallError::new(ErrorCode::ApprovalRequired, message));
        }
        self.host.rebuild();
        Ok(())
    }

    /// True when the list by which a capability's tool was found is good enough to decide by. Otherwise it was read
    /// again: where changes are held, what cannot be compared with its pin does not pass.
    async fn settle(
        &self,
        deck: &DeckSnapshot<'_>,
        capability: &Arc<Capability>,
        attempts: &mut Attempts,
        context: &CallContext,
    ) -> Result<bool, CallError> {
        let holds_changes = capability.pins == PinMode::Block;
        if !holds_changes || !attempts.may_ask(capability) {
            return Ok(true);
        }
        let (definition, connections) = (&capability.definition, &self.connections);
        self.host.require_current_list(definition, connections, context).await?;
        Ok(deck.is_current())
    }

    fn look_up(
        &self,
        deck: &DeckSnapshot<'_>,
        request: &ToolRequest,
        attempts: &Attempts,
    ) -> Result<Match, CallError> {
        let capability = deck.capability_of_tool(&request.capability, &request.tool)?;
        let found = tool_in(deck, &capability, &request.tool, attempts)?;
        let Match::Found(_, tool) = &found else { return Ok(found) };
        if !deck.catalog().is_open() {
            self.check_artifacts(request.arguments.as_deref())?;
        }
        if let Some(tool) = tool {
            let arguments = read_arguments(&capability, tool, request.arguments.as_deref())?;
            let checked = check_arguments(&capability, tool, &arguments, &request.form)
                .and_then(|()| projection::check(&request.fields, &capability, tool));
            if let Err(error) = checked {
                return Ok(Match::RefusedByList(capability, error));
            }
        }
        Ok(found)
    }
}

/// What a catalog says about a tool's name. An error when the tool is held.
fn tool_in(
    deck: &DeckSnapshot<'_>,
    capability: &Arc<Capability>,
    name: &str,
    attempts: &Attempts,
) -> Result<Match, CallError> {
    let is_listed = || attempts.has_asked(capability) || capability.discovery.is_some();
    Ok(match deck.tool(capability, name) {
        ToolLookup::Known(tool) => Match::Found(capability.clone(), Some(tool)),
        ToolLookup::Held(error) => return Err(error),
        ToolLookup::Released => Match::Outdated,
        ToolLookup::Unknown if deck.server_decides(capability) && is_listed() => {
            Match::Found(capability.clone(), None)
        }
        ToolLookup::Unknown => {
            Match::RefusedByList(capability.clone(), deck.unknown_tool(capability, name))
        }
    })
}

/// The arguments as values.
fn read_arguments(
    capability: &Capability,
    tool: &Tool,
    arguments: Option<&RawValue>,
) -> Result<Value, CallError> {
    let invalid = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
    let mut value: Value = match arguments {
        None => json!({}),
        Some(text) => serde_json::from_str(text.get())
            .map_err(|error| invalid(format!("the arguments are not JSON: {error}")))?,
    };
    let Some(members) = value.as_object_mut() else {
        return Err(invalid("the arguments must be a JSON object".to_owned()));
    };
    if let Backend::Cmp(known) = &capability.definition.backend
        && let Some(intent) = known.intents.get(tool.name())
    {
        // This format takes numbers as text; its connection reads them the same way.
        intent.coerce(members);
    }
    Ok(value)
}

/// Checks the arguments against the tool's own schema; a failure says everything needed to correct them.
fn check_arguments(
    capability: &Capability,
    tool: &Tool,
    value: &Value,
    form: &CallForm,
) -> Result<(), CallError> {
    tool.argument_check().check(value).map_err(|bad| {
        let mut facts = serde_json::to_value(&bad).unwrap_or_default();
        // The whole schema goes along, so that the next attempt needs no further question.
        facts["inputSchema"] = tool.input_schema().and_then(raw::value).unwrap_or_default();
        let id = capability.definition.id.as_str();
        let signature = form.signature(id, tool.name(), &bad.arguments);
        facts["callSignature"] = json!(signature);
        CallError::new(ErrorCode::RequestInvalid, format!("`{id}`: {bad}"))
            .hint(format!("call it as: {signature}"))
            .data(facts)
    })
}
