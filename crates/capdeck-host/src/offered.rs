//! What a client does with a listed thing: call a tool, read a resource, get a prompt, complete.

use std::sync::Arc;

use capdeck_backend::{ArtifactUri, CallContext, CallError, ErrorCode};
use capdeck_catalog::{RawObject, Tool};
use capdeck_definition::Backend;
use capdeck_sandbox::call_text;
use futures_util::future::join_all;
use serde_json::{Value, json, value::RawValue};

use crate::{
    CallForm, Route, Scope, Session, ToolRequest, View,
    deck_snapshot::{DeckSnapshot, ToolLookup},
    gate,
    pins::declares_its_tools,
    raw,
};

impl Session {
    /// Calls a tool by the name it is listed under. `Ok(None)` when no such tool is listed.
    pub async fn call_listed(
        &self,
        name: &str,
        mut request: ToolRequest,
        context: &CallContext,
    ) -> Result<Option<Box<RawValue>>, CallError> {
        let deck = self.snapshot();
        let (deck, route) = match deck.view().route(name) {
            Some(route) => (deck, route),
            None => match self.find_unlisted(name, context).await? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        match route {
            Route::Tool { capability, tool } => {
                (request.capability, request.tool) = (capability, tool);
                request.form = CallForm::ListedName(name.to_owned());
                self.call_in(deck, &request, context).await
            }
            Route::Wrapper { capability } => {
                self.run_wrapper(deck, &capability, &request, context).await
            }
            Route::Search => {
                let searching = self.search_tool(request.arguments.as_deref());
                self.audited("search", "", "", searching).await
            }
            Route::Describe => {
                let describing = self.describe_tool(request.arguments.as_deref(), context);
                self.audited("describe", "", "", describing).await
            }
            Route::SetupTools => {
                let setting_up = self.setup_tools_tool(request.arguments.as_deref());
                self.audited("setup_tools", "", "", setting_up).await
            }
            Route::CallTool => self.call_named_tool(request, context).await,
            Route::CodeMode => self.code_mode_tool(request.arguments.as_deref(), context).await,
        }
        .map(Some)
    }

    /// The definition of a listed tool that leads straight to a backend's.
    pub fn listed_tool(&self, name: &str) -> Option<Arc<Tool>> {
        let deck = self.snapshot();
        let Some(Route::Tool { capability, tool }) = deck.view().route(name) else { return None };
        deck.catalog().tool(&capability, &tool).cloned()
    }

    /// Where a name leads that no list has: backends that were never asked are asked, and one whose
    /// name it begins with is asked again.
    async fn find_unlisted(
        &self,
        name: &str,
        context: &CallContext,
    ) -> Result<Option<(DeckSnapshot<'_>, Route)>, CallError> {
        self.discovered_view().await;
        let mut deck = self.snapshot();
        let view = deck.view();
        if let Some(route) = view.route(name) {
            return Ok(Some((deck, route)));
        }
        let Some((id, tool)) = view.find(name) else { return self.refuse_unlisted(&deck, name) };
        let capability = deck.capability_of_tool(&id, &tool)?;
        let is_direct = || view.direct().iter().any(|one| one.definition.id.as_str() == id);
        match deck.held(&capability, &tool) {
            ToolLookup::Held(error) => return Err(error),
            // A person approved it since the catalog was built.
            ToolLookup::Released => self.host.rebuild(),
            _ if is_direct()
                && capability.discovery.is_some()
                && !declares_its_tools(&capability.definition) =>
            {
                let refusal = deck.unknown_tool(&capability, &tool);
                self.ask_again(&capability, refusal, context).await?;
            }
            _ => return self.refuse_unlisted(&deck, name),
        }
        deck = self.snapshot();
        match deck.view().route(name) {
            Some(route) => Ok(Some((deck, route))),
            None => self.refuse_unlisted(&deck, name),
        }
    }

    /// Asks every connected server again, because a client uses a name that no list has.
    pub(crate) async fn ask_connected(&self, context: &CallContext) {
        let (host, connections) = (&self.host, &self.connections);
        let deck = self.snapshot();
        let seen = deck.catalog().capabilities().filter(|one| one.is_usable() && deck.may_see(one));
        let connected = seen.filter(|one| {
            !declares_its_tools(&one.definition)
                && connections.lease_open(host, &one.definition).is_some()
        });
        let asking = connected.map(|one| host.discover(&one.definition, connections, context));
        for error in join_all(asking).await.into_iter().filter_map(Result::err) {
            tracing::debug!(%error, "a list could not be read again");
        }
    }

    /// The same for resources and prompts: the server whose name it begins with, else those that are connected.
    async fn ask_about(&self, name: &str, context: &CallContext) {
        let deck = self.snapshot();
        let owner = deck.view().find(name).and_then(|(id, _)| deck.capability(&id).ok());
        match owner.filter(|one| matches!(one.definition.backend, Backend::Mcp(_))) {
            Some(owner) => {
                let asking = self.host.discover(&owner.definition, &self.connections, context);
                if let Err(error) = asking.await {
                    tracing::debug!(%error, "a list could not be read again");
                }
            }
            None => self.ask_connected(context).await,
        }
    }

    /// A name that is not listed but belongs to a known capability says why it cannot be called.
    fn refuse_unlisted<T>(
        &self,
        deck: &DeckSnapshot<'_>,
        name: &str,
    ) -> Result<Option<T>, CallError> {
        let view = deck.view();
        let Some((id, tool)) = view.find(name) else {
            return match offers_nothing(deck) {
                true => Err(gate::nothing_offered(name)),
                false => Ok(None),
            };
        };
        let capability = deck.capability_of_tool(&id, &tool)?;
        if let ToolLookup::Held(error) = deck.held(&capability, &tool) {
            return Err(error);
        }
        if view.is_searchable(&capability) {
            return Err(CallError::new(
                ErrorCode::ToolNotFound,
                format!("`{name}` is not listed here"),
            )
            .hint(format!("use `call_tool` with name `{name}`, or `search` for `{tool}`")));
        }
        if view.is_on_demand(&capability) {
            return Err(CallError::new(
                ErrorCode::ToolNotFound,
                format!("`{name}` is not listed here"),
            )
            .hint(format!(
                "use `setup_tools` with `@{id}`, then `call_tool` with name `{}`",
                self.view().spoken_name(&id, &tool)
            )));
        }
        if view.is_coded(&capability) {
            let call = format!("await {}", call_text(&id, &tool, "…"));
            return Err(CallError::new(
                ErrorCode::ToolNotFound,
                format!("`{name}` is not listed here"),
            )
            .hint(format!("use `code_mode`: {call}")));
        }
        // A direct capability is asked for its tools before this point; without a list it failed to answer.
        if capability.discovery.is_none()
            && let Some(failure) = self.host.last_failure(&id)
        {
            return Err(CallError::new(ErrorCode::ServerUnavailable, failure.message)
                .hint(format!("see: capdeck why {id}")));
        }
        let near = deck.catalog().nearest_tool(&id, &tool).map(|near| view.name_of(&id, near));
        match near.filter(|near| view.route(near).is_some()) {
            Some(near) => {
                Err(CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"))
                    .hint(format!("did you mean `{near}`?")))
            }
            None => Ok(None),
        }
    }

    /// Reads a listed resource, a URI made from a listed template, or an artifact. `params` are the client's own.
    pub async fn read_resource(
        &self,
        uri: &str,
        mut params: RawObject,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        if ArtifactUri::is_meant(uri) {
            return self.read_artifact(uri).await;
        }
        if uri.starts_with("skill://")
            && let Some(read) = self.read_skill_file(uri, params.clone(), context).await
        {
            return read;
        }
        if let Some(read) = self.read_named_entry(uri, context).await {
            return read;
        }
        let (id, real) = match self.resource_route(uri, context).await {
            Ok(route) => route,
            Err(unknown) => {
                return self.read_short_entry(uri, context).await.unwrap_or(Err(unknown));
            }
        };
        params.extend(raw::object([("uri", json!(real))]));
        self.forward(&id, "resources/read", Some(params), context).await
    }

    /// The capability and the server's own URI behind a listed resource.
    pub(crate) async fn resource_route(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Result<(String, String), CallError> {
        // A URI of the deck says whose it is, so that nobody needs to be asked. A set's may take many.
        if !matches!(self.scope, Scope::Transparent(_))
            && let Some(route) = self.view().named_route(uri)
        {
            return Ok(route);
        }
        if let Some(route) = self.discovered_offers().await.resource_route(uri) {
            return Ok(route);
        }
        self.ask_connected(context).await;
        self.discovered_offers().await.resource_route(uri).ok_or_else(|| {
            let message = format!("there is no resource `{uri}`");
            CallError::new(ErrorCode::ResourceNotFound, message).hint("list the resources first")
        })
    }

    /// Gets a listed prompt. `params` are the client's own, with the listed name.
    pub async fn get_prompt(
        &self,
        name: &str,
        mut params: RawObject,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        if let Some(got) = self.entry_prompt(name, &params, context).await {
            return got;
        }
        let mut route = self.discovered_offers().await.prompt_route(name);
        if route.is_none() {
            self.ask_about(name, context).await;
            route = self.discovered_offers().await.prompt_route(name);
        }
        let Some(route) = route else {
            return Err(CallError::new(
                ErrorCode::PromptNotFound,
                format!("there is no prompt `{name}`"),
            )
            .hint("list the prompts first"));
        };
        params.extend(raw::object([("name", json!(route.prompt))]));
        self.forward(&route.capability, "prompts/get", Some(params), context).await
    }

    /// Completes an argument of a listed prompt or template.
    pub async fn complete(
        &self,
        mut params: RawObject,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        if let Some(completed) = self.complete_entry(&params, context).await {
            return completed;
        }
        let reference: Value =
            params.get("ref").and_then(|text| raw::value(text)).unwrap_or_default();
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let route_in = |view: &View| match (text("type"), text("name"), text("uri")) {
            (Some("ref/prompt"), Some(name), _) => view.prompt_route(name).map(|route| {
                (route.capability, json!({ "type": "ref/prompt", "name": route.prompt }))
            }),
            (Some("ref/resource"), _, Some(uri)) => view
                .template_route(uri)
                .or_else(|| view.resource_route(uri))
                .map(|(id, real)| (id, json!({ "type": "ref/resource", "uri": real }))),
            _ => None,
        };
        let mut route = route_in(&*self.discovered_offers().await);
        if route.is_none()
            && let Some(name) = text("name").or(text("uri"))
        {
            self.ask_about(name, context).await;
            route = route_in(&*self.discovered_offers().await);
        }
        let Some((id, reference)) = route else {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                "`ref` names no listed prompt or resource template",
            ));
        };
        params.extend(raw::object([("ref", reference)]));
        self.forward(&id, "completion/complete", Some(params), context).await
    }
}

/// True when there is something, and none of it is offered to this client.
fn offers_nothing(deck: &DeckSnapshot<'_>) -> bool {
    let mut usable = deck.catalog().capabilities().filter(|one| one.is_usable()).peekable();
    usable.peek().is_some() && usable.all(|capability| !deck.may_see(capability))
}
