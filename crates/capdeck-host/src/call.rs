//! The one path of every tool call: resolve, check arguments, gate, backend, audit.

use std::{sync::Arc, time::SystemTime};

use capdeck_backend::{CallContext, CallError, ErrorCode, ToolCall};
use capdeck_catalog::{Capability, RawObject, Tool, shell_word};
use capdeck_definition::{Backend, Layer};
use serde_json::{Value, json, value::RawValue};

use crate::{
    CallForm, Consent, FlowGuard, Scope, Session, audit::TOOL_CALL, consent::Passage, flow::Flow,
    projection, questions::Questions, raw, set_tools, spans::CallSpan, tasks::Calling, unformatted,
};

/// A tool call in the host's words.
#[derive(Debug, Clone, Default)]
pub struct ToolRequest {
    pub capability: String,
    /// The backend's own name for the tool.
    pub tool: String,
    /// The arguments object, untouched. `None` when the caller sent none.
    pub arguments: Option<Box<RawValue>>,
    /// The caller's `_meta` without its progress token.
    pub meta: Option<RawObject>,
    /// Other members of the request, passed through.
    pub rest: RawObject,
    /// Dotted paths of the structured result to keep; empty keeps everything.
    pub fields: Vec<String>,
    /// What the person at the command line said. Set by that command line alone, here or through its own channel.
    pub consent: Consent,
    /// Follows data between the calls of a script; other callers have none.
    pub flow: Option<Arc<FlowGuard>>,
    /// A program reads the result and gets all of it, however large; nothing that comes over a wire sets this.
    pub whole: bool,
    /// Leave the result as the backend gave it, although a capability file names a formatter.
    pub unformatted: bool,
    /// How the caller writes this call; hints show calls in the same form.
    pub form: CallForm,
}

/// A call that may run.
struct Admitted<'a> {
    capability: Arc<Capability>,
    tool: Option<Arc<Tool>>,
    passage: Passage,
    flow: Option<Flow>,
    /// The span of the call, where calls are traced.
    span: Option<&'a CallSpan>,
}

impl Session {
    /// Calls a tool. The answer is an MCP `CallToolResult`, for MCP servers byte for byte theirs.
    pub async fn call(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let request = &*unformatted::read(request, || self.is_of_capability_file(request));
        let span = self.host.begin_span(request);
        let mut line = self.underway(TOOL_CALL, &request.capability, &request.tool);
        let outcome = match self.admit_call(request, context).await {
            Ok(mut call) => {
                call.span = span.as_ref();
                line.approved = Some(call.passage.as_str());
                line.data_from = call.flow.take().map(|flow| flow.from).unwrap_or_default();
                self.run_call(&call, request, context).await
            }
            Err(error) => {
                line.approved = self.is_refusal(request, &error).then_some("refused");
                Err(error)
            }
        };
        let outcome_name = match &outcome {
            Ok(result) if is_tool_error(result) => "tool_error",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        line.ended(outcome_name);
        if let Some(span) = span {
            span.end(request, &self.client_name, outcome_name);
        }
        outcome
    }

    /// Whether a call would need a person's word, after every check that can be made without calling.
    pub async fn preview(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<bool, CallError> {
        match self.resolve(request, context).await? {
            (capability, Some(tool)) => self.is_asked_about(&capability, &tool).await,
            (_, None) => Ok(false),
        }
    }

    /// The tool that a request means, and that its arguments fit.
    async fn resolve(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<(Arc<Capability>, Option<Arc<Tool>>), CallError> {
        let capability = self.capability_of_tool(&request.capability, &request.tool)?;
        let tool = self.find_tool(&capability, &request.tool, context).await?;
        if !self.catalog().is_open() {
            self.check_artifacts(request.arguments.as_deref())?;
        }
        if let Some(tool) = &tool {
            check_arguments(&capability, tool, request)?;
            projection::check(&request.fields, &capability, tool)?;
        }
        Ok((capability, tool))
    }

    async fn admit_call(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Admitted<'static>, CallError> {
        let (capability, tool) = self.resolve(request, context).await?;
        if capability.definition.backend != Backend::Capsules {
            // Capsules are granted by roles of their own.
            self.require_use(&request.capability)?;
        }
        let flow = self.flow_into(&capability, tool.as_deref(), request);
        let asked = flow.as_ref().filter(|flow| flow.asks);
        let passage = self.pass(&capability, tool.as_deref(), request, asked, context).await?;
        Ok(Admitted { capability, tool, passage, flow, span: None })
    }

    /// The data of other capabilities that a script carries into a call.
    fn flow_into(
        &self,
        capability: &Capability,
        tool: Option<&Tool>,
        request: &ToolRequest,
    ) -> Option<Flow> {
        let guard = request.flow.as_ref()?;
        // A set's tool only leads to its member.
        if let Backend::Caplets(_) = capability.definition.backend {
            return None;
        }
        let catalog = self.catalog();
        let ids = catalog.with_sets(capability);
        guard.check(&ids, &request.tool, tool, request.arguments.as_deref())
    }

    fn is_of_capability_file(&self, request: &ToolRequest) -> bool {
        let catalog = self.catalog();
        let capability = catalog.get(&request.capability);
        capability.is_some_and(|one| one.definition.source.layer == Layer::ProjectCapabilityFile)
    }

    /// True when the gate stopped the call, also where the client is told that there is no such tool.
    fn is_refusal(&self, request: &ToolRequest, error: &CallError) -> bool {
        let whole = || self.host.catalog_for(self.connections.audience().key());
        let exists = || whole().tool(&request.capability, &request.tool).is_some();
        match error.code {
            ErrorCode::Denied | ErrorCode::ApprovalRequired => true,
            ErrorCode::ToolNotFound | ErrorCode::ServerNotFound => exists(),
            _ => false,
        }
    }

    async fn run_call(
        &self,
        call: &Admitted<'_>,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let Admitted { capability, tool, .. } = call;
        if let Backend::Caplets(_) = capability.definition.backend {
            return self.call_member(capability, request, context).await;
        }
        let began = SystemTime::now();
        let outcome = self.call_backend(call, request, context).await;
        if let Some(span) = call.span {
            span.backend_answered(began);
        }
        self.host.note_outcome(&capability.definition, outcome.as_ref().err());
        let result = outcome?;
        if let Some(tool) = tool {
            self.host.observe(&capability.definition, tool, &result);
        }
        let chosen = match request.fields.as_slice() {
            [] => result,
            fields => projection::apply(fields, self.host.artifacts(), result).await?,
        };
        self.host.0.usage.note(&capability.definition.id);
        let told = if request.whole { chosen } else { self.fit(capability, chosen).await? };
        if capability.tools_only || self.admission.is_some() {
            self.handed_out.note(&told);
        }
        Ok(told)
    }

    async fn call_backend(
        &self,
        call: &Admitted<'_>,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let (capability, tool) = (&*call.capability, call.tool.as_deref());
        if let Backend::Capsules = capability.definition.backend {
            return self.call_capsules(request, context).await;
        }
        let (questions, context) = Questions::watch(context, self.connections.audience());
        let lease = self.lease(capability, &context).await?;
        let meta = request.meta.clone();
        let traced = match call.span {
            Some(span) => Some(span.meta(meta)),
            None => meta,
        };
        let call = ToolCall {
            name: &request.tool,
            arguments: request.arguments.as_deref(),
            meta: traced,
            rest: request.rest.clone(),
            unformatted: request.unformatted,
        };
        let calling = Calling { lease, capability, tool, context: &context };
        let outcome = self.call_tool(calling, call).await;
        if let Scope::Transparent(_) = self.scope {
            return outcome;
        }
        questions.explain(&request.capability, &request.tool, outcome)
    }

    /// A set's tool is a member's wrapper; the inner call comes back through [`Session::call`].
    async fn call_member(
        &self,
        set: &Capability,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let catalog = self.catalog();
        let member = catalog
            .capabilities()
            .filter(|member| member.definition.member_of.as_ref() == Some(&set.definition.id))
            .find(|member| {
                set_tools::member_name(&set.definition.id, &member.definition.id) == request.tool
            })
            .ok_or_else(|| {
                CallError::new(
                    ErrorCode::ToolNotFound,
                    format!("`{}` has no member `{}`", set.definition.id, request.tool),
                )
            })?;
        Box::pin(self.run_wrapper(member.definition.id.as_str(), request, context)).await
    }

    /// The tool's definition. Asks the backend when it never answered or the answer is old.
    /// `None` only in a transparent session, where the server itself knows best.
    pub async fn find_tool(
        &self,
        capability: &Arc<Capability>,
        name: &str,
        context: &CallContext,
    ) -> Result<Option<Arc<Tool>>, CallError> {
        let definition = &capability.definition;
        if let Some(tool) = self.known_tool(capability, name)? {
            return Ok(Some(tool));
        }
        let server_knows_best =
            matches!(self.scope, Scope::Transparent(_)) && !self.is_screened(capability);
        if capability.discovery.is_none()
            || self.host.discovery_is_old(definition, &self.connections)
        {
            match self.host.discover(definition, &self.connections, context).await {
                Err(error) if !server_knows_best => return Err(error),
                Err(_) | Ok(_) => {}
            }
            if let Some(tool) = self.known_tool(capability, name)? {
                return Ok(Some(tool));
            }
        }
        if server_knows_best { Ok(None) } else { Err(self.unknown_tool(capability, name)) }
    }

    /// The tool if this client may know it; an error when it is held.
    fn known_tool(
        &self,
        capability: &Capability,
        name: &str,
    ) -> Result<Option<Arc<Tool>>, CallError> {
        let find = || self.catalog().tool(capability.definition.id.as_str(), name).cloned();
        if let Some(tool) = find() {
            return Ok(Some(tool));
        }
        match self.held(capability, name) {
            Some(error) => Err(error),
            None => Ok(find()),
        }
    }

    pub(crate) fn unknown_tool(&self, capability: &Capability, name: &str) -> CallError {
        let id = &capability.definition.id;
        let error = CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"));
        match self.catalog().nearest_tool(id.as_str(), name) {
            Some(near) => {
                let shown = match self.scope {
                    Scope::Operator => shell_word(near),
                    Scope::Deck(_) | Scope::Transparent(_) => near.to_owned(),
                };
                error.hint(format!("did you mean `{shown}`?")).data(json!({ "nearest": near }))
            }
            None => error.hint(format!("the person sees its tools with: capdeck tools {id}")),
        }
    }
}

/// Checks the arguments against the tool's own schema; a failure says everything needed to correct them.
fn check_arguments(
    capability: &Capability,
    tool: &Tool,
    request: &ToolRequest,
) -> Result<(), CallError> {
    let invalid = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
    let mut value: Value = match request.arguments.as_deref() {
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
    tool.argument_check().check(&value).map_err(|bad| {
        let mut facts = serde_json::to_value(&bad).unwrap_or_default();
        // The whole schema goes along, so that the next attempt needs no further question.
        facts["inputSchema"] = tool.input_schema().and_then(raw::value).unwrap_or_default();
        let id = capability.definition.id.as_str();
        let signature = request.form.signature(id, tool.name(), &bad.arguments);
        facts["callSignature"] = json!(signature);
        invalid(format!("`{id}`: {bad}")).hint(format!("call it as: {signature}")).data(facts)
    })
}

/// Whether the tool itself reported an error. Most results do not even hold the word and are not read.
pub(crate) fn is_tool_error(result: &RawValue) -> bool {
    if !result.get().contains("isError") {
        return false;
    }
    #[derive(serde::Deserialize)]
    struct Flag {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    serde_json::from_str::<Flag>(result.get()).is_ok_and(|flag| flag.is_error)
}
