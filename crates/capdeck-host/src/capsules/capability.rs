//! The capsules of this machine as a capability of the deck, answered by the host itself because they need to know who
//! asks.

use std::sync::Arc;

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_capsule::CapsuleAuthor;
use capdeck_catalog::{Catalog, Discovery, HeldTools, Tool};
use capdeck_definition::{
    Backend, CapabilityId, Definition, DefinitionSource, ShadowingMode, SourceLayer,
};
use capdeck_storage::sha256_hex;

use super::{
    CapsuleCaller, CapsuleService, Reach,
    tools::{CapsuleMount, CapsuleTool, CapsuleToolContext},
};
use crate::{
    DeckSnapshot, GrantTools, Principal, RequestContext, ToolRequest, discover::answer_time, raw,
};

/// The capability's id. A capability of the person's own with this id replaces it.
pub(crate) const CAPSULES: &str = "capsules";

const DESCRIPTION: &str = "Shared context that agents keep across sessions, with versions and provenance: documents, guidance, notes, skills. Also signals between agents, and private memory.";

/// The capability, while there are capsules.
pub(crate) fn definition(service: Option<&Arc<dyn CapsuleService>>) -> Option<Arc<Definition>> {
    if !service?.may_have_capsules() {
        return None;
    }
    let id = CapabilityId::new(CAPSULES).ok()?;
    let source = DefinitionSource { layer: SourceLayer::BuiltIn, path: CAPSULES.into() };
    let tags = ["context", "knowledge", "memory", "notes", "skills"];
    Some(Arc::new(Definition {
        name: "Capsules".to_owned(),
        description: DESCRIPTION.to_owned(),
        tags: tags.map(str::to_owned).into(),
        // A host that is attached to this one has capsules of its own, and those come first there.
        shadowing: ShadowingMode::Allow,
        fingerprint: sha256_hex(CAPSULES),
        ..Definition::new(id, Backend::Capsules, source)
    }))
}

/// Its tools, which are known without asking anyone.
pub(crate) fn discovery() -> Discovery {
    discovery_with(GrantTools::None)
}

fn discovery_with(grants: GrantTools) -> Discovery {
    let mount = CapsuleMount::default();
    let offered = CapsuleTool::ALL.into_iter().filter(|tool| tool.is_offered(&mount, grants));
    let tool = |tool: CapsuleTool| {
        let definition = tool.definition(&mount, grants).to_string();
        Tool::new(serde_json::from_str(&definition).ok()?).map(Arc::new)
    };
    Discovery { tools: offered.filter_map(tool).collect(), ..Discovery::default() }
}

/// The catalog with the tools for asking and deciding about access, for those who have them.
pub(crate) fn with_grant_tools(catalog: &Arc<Catalog>, grants: GrantTools) -> Arc<Catalog> {
    let known = catalog.get(CAPSULES).filter(|one| one.definition.backend == Backend::Capsules);
    match known {
        Some(known) if grants != GrantTools::None => {
            let theirs = Arc::new(discovery_with(grants));
            let held = HeldTools::clone(&known.held);
            let id = known.definition.id.clone();
            Arc::new(catalog.with_discoveries([(id, theirs, held)]))
        }
        _ => Arc::clone(catalog),
    }
}

impl DeckSnapshot<'_> {
    /// Who this client is to capsules: what the transport and the handshake established, with the grants of this request.
    pub fn capsule_caller(&self) -> CapsuleCaller {
        let session = self.session();
        let client = session.connections.audience().client();
        let version = client.info.as_ref().and_then(|info| raw::string(info.get("version")?));
        let mut author = CapsuleAuthor::client(&session.client_name).connection(&session.id);
        if let Some(version) = version {
            author = author.version(&version);
        }
        // The person's own agents differ by their names.
        if session.principal != Principal::local() {
            author = author.principal(session.principal.as_str());
        }
        if let Some(name) = session.principal.name() {
            author = author.principal_name(name);
        }
        let project = session.host.settings().project.as_ref().map(|project| project.dir.clone());
        let granted = self.access().map(|access| Reach::Granted(access.capsules.clone()));
        CapsuleCaller::new(author, granted.unwrap_or(Reach::All)).in_project(project)
    }
}

/// Calls a tool of the capability, with the grants that the gate decided by.
pub(crate) async fn call_capsules(request: &RequestContext<'_>, call: &ToolRequest) -> raw::Answer {
    let session = request.session();
    let gone = || CallError::new(ErrorCode::ServerNotFound, "this host has no capsules");
    let service = session.host.capsules().ok_or_else(gone)?;
    let unknown = || {
        let message = format!("`{CAPSULES}` has no tool `{}`", call.tool);
        CallError::new(ErrorCode::ToolNotFound, message)
    };
    let tool = CapsuleTool::named(&call.tool).ok_or_else(unknown)?;
    let caller = request.deck.capsule_caller();
    let grants = session.access.as_ref().and_then(|source| source.grant_service());
    let by = CapsuleToolContext {
        service: service.as_ref(),
        caller: &caller,
        mount: &session.mount,
        grants: grants.as_deref(),
    };
    in_time(request.call, tool.call(&by, call.arguments.as_deref())).await
}

/// Waits for capsules as long as the call may take. What was started is finished, even when its caller stops waiting.
pub(super) async fn in_time<T>(
    context: &CallContext,
    work: impl Future<Output = T>,
) -> Result<T, CallError> {
    let longest = context.timeout.unwrap_or_else(|| answer_time(&Backend::Capsules));
    tokio::select! {
        done = work => Ok(done),
        () = context.cancel.cancelled() => {
            Err(CallError::new(ErrorCode::Cancelled, "the call is no longer wanted"))
        }
        () = tokio::time::sleep(longest) => {
            let message = format!("the capsules gave no answer within {} ms", longest.as_millis());
            Err(CallError::new(ErrorCode::ToolCallTimeout, message)
                .hint("what was begun is finished: look whether it was done before you try again"))
        }
    }
}
