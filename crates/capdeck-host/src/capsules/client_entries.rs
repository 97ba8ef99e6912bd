//! Entries of capsules among the deck's own resources, prompts and skills.
//!
//! They are asked for with every request, for whoever the client is by then, and nothing is asked where they are not
//! offered.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_capsule::EntryUri;
use capdeck_catalog::{Capability, RawMembers};
use capdeck_definition::Backend;
use serde_json::{Value, value::RawValue};

use super::{
    CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleErrorCode, CapsuleService,
    CapsuleServiceExt as _, EntryAddress, EntryCatalog, EntryNaming, EntryPage,
    ListCapsulesRequest,
    capability::{CAPSULES, in_time},
    client_changes,
};
use crate::{CapsuleTool, Session, SessionScope, audit::without_query, raw};

/// What an address in a deck begins with that says which capsule it belongs to.
const NAMED_ENTRY_PREFIX: &str = "capsol://";

/// One client's way to all entries it reaches now.
pub(crate) struct ClientEntries {
    service: Arc<dyn CapsuleService>,
    caller: CapsuleCaller,
    mounted: Option<String>,
}

impl ClientEntries {
    fn offer(&self) -> EntryCatalog<'_> {
        let naming = EntryNaming::Deck { mounted: self.mounted.as_deref() };
        EntryCatalog { service: self.service.as_ref(), caller: self.caller.clone(), naming }
    }

    /// The capsule that short addresses are about.
    async fn short(&self) -> Option<String> {
        if self.mounted.is_some() {
            return self.mounted.clone();
        }
        let list = self.caller.request(None, ListCapsulesRequest::default());
        match self.service.ask(list).await.ok()?.capsules.as_slice() {
            [only] => Some(only.info.id.clone()),
            _ => None,
        }
    }
}

impl Session {
    /// True when entries of capsules are among this client's resources, prompts and skills: whoever may read them by the
    /// tool has them there as well. Such lists are no part of what stands in an agent's context, so the exposure does not
    /// matter.
    pub fn offers_entries(&self) -> bool {
        let gives = |one: &Arc<Capability>| {
            one.is_usable() && self.snapshot().may_see(one) && gives_entries(one)
        };
        !matches!(self.scope, SessionScope::Transparent(_))
            && self.catalog().get(CAPSULES).is_some_and(gives)
    }

    /// The capsule that this client mounted.
    pub fn mounted_capsule(&self) -> Option<String> {
        self.mount.mounted()
    }

    /// One page of the entries. A list that cannot be had now is empty, as that of a server is.
    pub async fn entry_resources(&self, cursor: Option<&str>) -> Result<EntryPage, CallError> {
        let Some(entries) = self.entries() else {
            return match cursor {
                None => Ok(EntryPage::default()),
                Some(_) => Err(no_cursor()),
            };
        };
        match entries.offer().resources(cursor).await {
            Ok(page) => Ok(page),
            Err(_) if cursor.is_some() => Err(no_cursor()),
            Err(failure) => {
                tracing::warn!(%failure, "entries of capsules could not be listed");
                Ok(EntryPage::default())
            }
        }
    }

    /// A template for each scheme of each capsule.
    pub async fn entry_templates(&self) -> Vec<Value> {
        let Some(entries) = self.entries() else { return Vec::new() };
        listed(entries.offer().templates().await)
    }

    /// Entries that are prompts.
    pub async fn entry_prompts(&self) -> Vec<Value> {
        let Some(entries) = self.entries() else { return Vec::new() };
        listed(entries.offer().prompts().await)
    }

    /// What changes within the client's reach from now on; `None` where no entries are offered.
    pub async fn entry_changes(&self) -> Result<Option<CapsuleChanges>, CapsuleError> {
        let Some(entries) = self.entries() else { return Ok(None) };
        let ClientEntries { service, caller, .. } = entries;
        client_changes(service.as_ref(), caller, self.access.clone()).await.map(Some)
    }

    /// The entry that a client wants to watch; `None` for what can be no entry here. It need not exist: an entry can be
    /// waited for, and a hidden one looks the same.
    pub async fn entry_to_watch(&self, uri: &str) -> Option<EntryAddress> {
        let entries = self.entries()?;
        let place = entries.offer().place(uri).ok()?;
        EntryUri::parse(&place.uri).ok()?;
        let is_named = uri.starts_with(NAMED_ENTRY_PREFIX);
        if !is_named && self.view().resource_route(uri).is_some() {
            return None;
        }
        let capsule = if is_named { place.capsule } else { entries.short().await };
        let place = EntryAddress { capsule: Some(capsule?), uri: place.uri };
        let watching = async { Ok(place) };
        self.audited("resources/subscribe", CAPSULES, without_query(uri), watching).await.ok()
    }

    /// Reads an entry by an address that says which capsule it is in; `None` for every other address.
    pub(crate) async fn read_named_entry(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let entries = self.entries().filter(|_| uri.starts_with(NAMED_ENTRY_PREFIX))?;
        Some(self.read_entry(&entries, uri, context).await)
    }

    /// Reads an entry of the mounted or the only capsule by its own address, which nothing else in the deck has; `None`
    /// when there is no such entry.
    pub(crate) async fn read_short_entry(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let mut entries = self.entries().filter(|_| EntryUri::parse(uri).is_ok())?;
        entries.mounted = Some(entries.short().await?);
        match self.read_entry(&entries, uri, context).await {
            Err(error) if error.code == ErrorCode::ResourceNotFound => None,
            outcome => Some(outcome),
        }
    }

    async fn read_entry(
        &self,
        entries: &ClientEntries,
        uri: &str,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let reading = async {
            let read = in_time(context, entries.offer().read(uri)).await?;
            answer(&read.map_err(|failure| as_call_error(failure, ErrorCode::ResourceNotFound))?)
        };
        self.audited("resources/read", CAPSULES, without_query(uri), reading).await
    }

    /// Gets a prompt that is an entry; `None` for every other name.
    pub(crate) async fn entry_prompt(
        &self,
        name: &str,
        params: &RawMembers,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let entries = self.entries().filter(|entries| entries.offer().is_prompt_name(name))?;
        if self.view().prompt_route(name).is_some() {
            return None;
        }
        let getting = async {
            let got = in_time(context, entries.offer().prompt(name, arguments(params)?)).await?;
            answer(&got.map_err(|failure| as_call_error(failure, ErrorCode::PromptNotFound))?)
        };
        Some(self.audited("prompts/get", CAPSULES, name, getting).await)
    }

    /// Completes a part of an entry's address or an argument of a prompt that is an entry; `None` for everything else.
    pub(crate) async fn complete_entry(
        &self,
        params: &RawMembers,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let entries = self.entries()?;
        let reference = raw::value(params.get("ref")?)?;
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let is_meant = match (text("name"), text("uri")) {
            (Some(name), _) => {
                entries.offer().is_prompt_name(name) && self.view().prompt_route(name).is_none()
            }
            (_, Some(uri)) => {
                let is_template = entries.offer().template_place(uri).is_some();
                is_template
                    && (uri.starts_with(NAMED_ENTRY_PREFIX) || entries.short().await.is_some())
            }
            (None, None) => false,
        };
        if !is_meant {
            return None;
        }
        let completing = async {
            let params = serde_json::to_value(params)
                .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))?;
            let completed = in_time(context, entries.offer().complete(params)).await?;
            answer(&completed.map_err(|failure| as_call_error(failure, ErrorCode::RequestInvalid))?)
        };
        Some(self.audited("completion/complete", CAPSULES, "", completing).await)
    }

    /// Skills of capsules; none where the client has no capsules.
    pub(crate) async fn capsule_skills(&self) -> Vec<Value> {
        let Some(entries) = self.entries() else { return Vec::new() };
        listed(entries.offer().skills().await)
    }

    /// The file of a capsule's skill; `None` for every other address.
    pub(crate) async fn read_capsule_skill(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let entries = self.entries().filter(|one| one.offer().is_skill_file(uri))?;
        let reading = async {
            let read = in_time(context, entries.offer().read_skill(uri)).await?;
            answer(&read.map_err(|failure| as_call_error(failure, ErrorCode::ResourceNotFound))?)
        };
        Some(self.audited("resources/read", CAPSULES, without_query(uri), reading).await)
    }

    fn entries(&self) -> Option<ClientEntries> {
        if !self.offers_entries() {
            return None;
        }
        let service = self.host.capsules()?.clone();
        Some(ClientEntries {
            service,
            caller: self.capsule_caller(),
            mounted: self.mount.mounted(),
        })
    }
}

/// True for the capability of capsules, as far as its client may read entries.
fn gives_entries(capability: &Capability) -> bool {
    let mut tools = capability.discovery.iter().flat_map(|known| &known.tools);
    capability.definition.backend == Backend::Capsules
        && !capability.tools_only
        && tools.any(|tool| tool.name() == CapsuleTool::Read.name())
}

/// A list of capsules that cannot be had now is empty, as that of a server is.
fn listed(outcome: Result<Vec<Value>, CapsuleError>) -> Vec<Value> {
    outcome.unwrap_or_else(|failure| {
        tracing::warn!(%failure, "entries of capsules could not be listed");
        Vec::new()
    })
}

fn arguments(params: &RawMembers) -> Result<BTreeMap<String, String>, CallError> {
    let given = params.get("arguments").filter(|given| given.get() != "null");
    let Some(given) = given else { return Ok(BTreeMap::new()) };
    serde_json::from_str(given.get()).map_err(|_| {
        CallError::new(ErrorCode::RequestInvalid, "`arguments` must be an object of strings")
    })
}

fn no_cursor() -> CallError {
    let message = "`cursor` is not one of this list as it is now; start without one";
    CallError::new(ErrorCode::RequestInvalid, message)
}

fn answer(value: &Value) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}

/// A refusal in the deck's words. An address that is none, one of no scheme and one out of reach do not exist.
fn as_call_error(error: CapsuleError, missing: ErrorCode) -> CallError {
    use CapsuleErrorCode as Code;
    let code = match error.code {
        Code::NotFound | Code::CapsuleNotFound | Code::InvalidUri | Code::UnknownScheme => missing,
        Code::ForbiddenRole | Code::ForbiddenScope | Code::ReadOnly => ErrorCode::Denied,
        Code::InUse
        | Code::IoFailed
        | Code::Damaged
        | Code::AuditFailed
        | Code::Closed
        | Code::UnsafePath => ErrorCode::ServerUnavailable,
        Code::Internal => ErrorCode::InternalError,
        _ => ErrorCode::RequestInvalid,
    };
    let data = error.data();
    let mut call_error = CallError::new(code, error.message);
    call_error.hint = error.hint;
    call_error.data = data;
    call_error
}
