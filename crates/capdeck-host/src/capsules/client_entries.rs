//! Entries of capsules among the deck's own resources, prompts and skills.
//!
//! They are asked for with every request, by the grants of its [`DeckSnapshot`], and nothing is asked where they are not
//! offered.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_capsule::EntryUri;
use capdeck_catalog::{Capability, RawMembers};
use capdeck_definition::Backend;
use serde_json::Value;

use super::{
    CapsuleCaller, CapsuleChanges, CapsuleError, CapsuleErrorCode, CapsuleService,
    CapsuleServiceExt as _, EntryAddress, EntryCatalog, EntryNaming, EntryPage,
    ListCapsulesRequest,
    capability::{CAPSULES, in_time},
    client_changes,
};
use crate::{CapsuleTool, DeckSnapshot, SessionScope, audit::without_query, raw};

/// What an address in a deck begins with that says which capsule it belongs to.
const NAMED_ENTRY_PREFIX: &str = "capsol://";

/// One client's way to all entries it reaches now.
pub struct ClientEntries<'a> {
    deck: DeckSnapshot<'a>,
    service: &'a Arc<dyn CapsuleService>,
    caller: CapsuleCaller,
    mounted: Option<String>,
}

impl<'a> DeckSnapshot<'a> {
    /// True when entries of capsules are among this client's resources, prompts and skills: a client that may read them by the
    /// tool has them there as well. Such lists are not part of an agent's context, so the exposure does not
    /// matter.
    pub fn offers_entries(&self) -> bool {
        let gives =
            |one: &Arc<Capability>| one.is_usable() && self.may_see(one) && gives_entries(one);
        !matches!(self.scope(), SessionScope::Transparent(_))
            && self.catalog().get(CAPSULES).is_some_and(gives)
    }

    /// The entries of this client; `None` where none are offered.
    pub fn entries(&self) -> Option<ClientEntries<'a>> {
        let session = self.session();
        let service = session.host.capsules().filter(|_| self.offers_entries())?;
        let (caller, mounted) = (self.capsule_caller(), session.mount.mounted());
        Some(ClientEntries { deck: self.clone(), service, caller, mounted })
    }
}

impl ClientEntries<'_> {
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

    /// One page of the entries. A list that cannot be had now is empty, as that of a server is.
    pub async fn resources(&self, cursor: Option<&str>) -> Result<EntryPage, CallError> {
        match self.offer().resources(cursor).await {
            Ok(page) => Ok(page),
            Err(_) if cursor.is_some() => Err(unknown_cursor()),
            Err(failure) => {
                tracing::warn!(%failure, "entries of capsules could not be listed");
                Ok(EntryPage::default())
            }
        }
    }

    /// A template for each scheme of each capsule.
    pub async fn templates(&self) -> Vec<Value> {
        listed(self.offer().templates().await)
    }

    /// Entries that are prompts.
    pub async fn prompts(&self) -> Vec<Value> {
        listed(self.offer().prompts().await)
    }

    pub(crate) async fn skills(&self) -> Vec<Value> {
        listed(self.offer().skills().await)
    }

    /// What changes within the client's reach from now on.
    pub async fn changes(self) -> Result<CapsuleChanges, CapsuleError> {
        client_changes(self.service.as_ref(), self.caller, self.deck.session().access.clone()).await
    }

    /// The entry that a client wants to watch; `None` for what can be no entry here. It need not exist: an entry can be
    /// waited for, and a hidden one looks the same.
    pub async fn to_watch(&self, uri: &str) -> Option<EntryAddress> {
        let place = self.offer().place(uri).ok()?;
        EntryUri::parse(&place.uri).ok()?;
        let is_named = uri.starts_with(NAMED_ENTRY_PREFIX);
        if !is_named && self.deck.view().resource_route(uri).is_some() {
            return None;
        }
        let capsule = if is_named { place.capsule } else { self.short().await };
        let place = EntryAddress { capsule: Some(capsule?), uri: place.uri };
        let watching = async { Ok(place) };
        let subject = without_query(uri);
        self.deck.session().audited("resources/subscribe", CAPSULES, subject, watching).await.ok()
    }

    /// Reads an entry by an address that says which capsule it is in; `None` for every other address.
    pub(crate) async fn read_named(&self, uri: &str, context: &CallContext) -> Option<raw::Answer> {
        if !uri.starts_with(NAMED_ENTRY_PREFIX) {
            return None;
        }
        Some(self.read(uri, context).await)
    }

    /// Reads an entry of the mounted or the only capsule by its own address, which nothing else in the deck has; `None`
    /// when there is no such entry.
    pub(crate) async fn read_short(
        mut self,
        uri: &str,
        context: &CallContext,
    ) -> Option<raw::Answer> {
        EntryUri::parse(uri).ok()?;
        self.mounted = Some(self.short().await?);
        match self.read(uri, context).await {
            Err(error) if error.code == ErrorCode::ResourceNotFound => None,
            outcome => Some(outcome),
        }
    }

    async fn read(&self, uri: &str, context: &CallContext) -> raw::Answer {
        let (reading, missing) = (self.offer(), ErrorCode::ResourceNotFound);
        let subject = without_query(uri);
        self.answer("resources/read", subject, context, missing, reading.read(uri)).await
    }

    /// Gets a prompt that is an entry; `None` for every other name.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        params: &RawMembers,
        context: &CallContext,
    ) -> Option<raw::Answer> {
        if !self.is_prompt(name) {
            return None;
        }
        let arguments = match arguments(params) {
            Ok(arguments) => arguments,
            Err(error) => {
                let refusing = async { Err(error) };
                return Some(
                    self.deck.session().audited("prompts/get", CAPSULES, name, refusing).await,
                );
            }
        };
        let (offer, missing) = (self.offer(), ErrorCode::PromptNotFound);
        let getting = offer.prompt(name, arguments);
        Some(self.answer("prompts/get", name, context, missing, getting).await)
    }

    fn is_prompt(&self, name: &str) -> bool {
        self.offer().is_prompt_name(name) && self.deck.view().prompt_route(name).is_none()
    }

    /// Completes a part of an entry's address or an argument of a prompt that is an entry; `None` for everything else.
    pub(crate) async fn complete(
        &self,
        params: &RawMembers,
        context: &CallContext,
    ) -> Option<raw::Answer> {
        let reference: Value = raw::get(params, "ref")?;
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let is_meant = match (text("name"), text("uri")) {
            (Some(name), _) => self.is_prompt(name),
            (_, Some(uri)) => {
                self.offer().template_place(uri).is_some()
                    && (uri.starts_with(NAMED_ENTRY_PREFIX) || self.short().await.is_some())
            }
            (None, None) => false,
        };
        if !is_meant {
            return None;
        }
        let params = serde_json::to_value(params).unwrap_or_default();
        let (offer, missing) = (self.offer(), ErrorCode::RequestInvalid);
        let completing = offer.complete(params);
        Some(self.answer("completion/complete", "", context, missing, completing).await)
    }

    /// The file of a capsule's skill; `None` for every other address.
    pub(crate) async fn read_skill(&self, uri: &str, context: &CallContext) -> Option<raw::Answer> {
        let (offer, missing) = (self.offer(), ErrorCode::ResourceNotFound);
        if !offer.is_skill_file(uri) {
            return None;
        }
        let subject = without_query(uri);
        let reading = offer.read_skill(uri);
        Some(self.answer("resources/read", subject, context, missing, reading).await)
    }

    /// An answer of capsules in the deck's words, in time and on record.
    async fn answer(
        &self,
        method: &str,
        subject: &str,
        context: &CallContext,
        missing: ErrorCode,
        work: impl Future<Output = Result<Value, CapsuleError>>,
    ) -> raw::Answer {
        let answering = async {
            let answer = in_time(context, work).await?;
            raw::text(&answer.map_err(|failure| as_call_error(failure, missing))?)
        };
        self.deck.session().audited(method, CAPSULES, subject, answering).await
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
    serde_json::from_str(given.get())
        .map_err(|_| CallError::invalid_request("`arguments` must be an object of strings"))
}

/// The error of a cursor that is none of the list of entries.
pub fn unknown_cursor() -> CallError {
    CallError::invalid_request("`cursor` is not one of this list as it is now; start without one")
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
