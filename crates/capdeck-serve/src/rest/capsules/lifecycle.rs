//! Capsules as a whole: listed, made, changed, taken away.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR};
use capdeck_host::{
    CapsuleAccess, CapsuleInfo, CapsuleSummary, CapsuleUpdate, CapsuleVisibility,
    CreateCapsuleRequest, DeleteCapsuleRequest, OverviewRequest, OverviewResponse,
    PurgeCapsuleRequest,
};
use capdeck_storage::sha256_hex;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CapsuleDetails, CapsuleItem};
use crate::{
    request_actor::RequestActor,
    rest::{
        ApiError, ApiResult, JsonBody, ListPage, NoContent, PageQuery,
        RequiredAccess::{self, Anyone, Operator},
        RestCall, RestOperation, RestResponse, delete, get, patch, post,
    },
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Anyone, "/v1/capsules", "listCapsules", "List the capsules that you reach")
            .handled_with_query(list),
        post(Operator, "/v1/capsules", "createCapsule", "Make a capsule")
            .about("It belongs to the operator who makes it. Its id is made from its name and never changes.")
            .success(&[201])
            .handled_with_body(create),
        get(Anyone, "/v1/capsules/{capsule}", "getCapsule", "Look at one capsule")
            .success(&[200, 304])
            .handled_by(show),
        patch(Operator, "/v1/capsules/{capsule}", "updateCapsule", "Rename a capsule, describe it, or change who may find it")
            .about("`private`: only those who were let in know of it. `team`: every operator finds it in the library and reads it. `discoverable`: agents that are signed in find its name and description, too.")
            .problems(&[409])
            .handled_with_body(update),
        delete(Operator, "/v1/capsules/{capsule}", "deleteCapsule", "Take a capsule away")
            .about("Its files are moved aside in the data folder and can be put back by hand. With `purge` they are removed for good, with every version, the memory, the signals and the capsule's own log. For a capsule that was taken away before, an admin gives its id and `purge`: what was kept of it is removed.")
            .handled_with_query(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CapsuleListQuery {
    /// Only capsules that may be found like this.
    visibility: Option<CapsuleVisibility>,
    /// Only capsules whose name or description has this text.
    q: Option<String>,
    /// Count the entries, which opens every capsule.
    counts: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CapsuleChange")]
struct CapsuleChangeBody {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    #[schemars(length(max = 1000))]
    description: Option<String>,
    visibility: Option<CapsuleVisibility>,
    /// The operator it belongs to from now on. For admins.
    #[schemars(length(min = 1, max = 100))]
    owner: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CapsuleDeleteQuery {
    /// Remove it for good. There is no other value than yes: leave it out to keep the files aside.
    purge: Option<PurgeFlag>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
enum PurgeFlag {
    #[serde(rename = "1")]
    One,
    #[serde(rename = "true")]
    True,
}

async fn list(call: RestCall, query: CapsuleListQuery) -> ApiResult<ListPage<CapsuleItem>> {
    let text = query.q.unwrap_or_default().to_lowercase();
    let fits = |capsule: &CapsuleItem| {
        let found = |field: &str| field.to_lowercase().contains(&text);
        query.visibility.is_none_or(|visibility| capsule.visibility == visibility)
            && (found(&capsule.name) || found(&capsule.description))
    };
    let mut capsules = call.capsules(query.counts.unwrap_or(false)).await?;
    capsules.retain(fits);
    query.paging.page_of(&call, capsules, |capsule| capsule.id.clone())
}

async fn create(
    call: RestCall,
    JsonBody(create): JsonBody<CreateCapsuleRequest>,
) -> ApiResult<CapsuleItem> {
    run_to_completion(async move {
        let (capsule, ()) = call.make_capsule(create, async |_, _| Ok(())).await?;
        Ok(capsule)
    })
    .await
}

async fn show(call: RestCall) -> ApiResult<RestResponse<CapsuleDetails>> {
    let capsule = call.capsule().await?;
    let OverviewResponse { schemes, recent, .. } = call.ask_for(OverviewRequest).await?;
    let whole = CapsuleDetails { capsule, schemes, recent };
    let tag = format!("\"{}\"", sha256_hex(serde_json::to_string(&whole).unwrap_or_default()));
    let reply = if call.has_current(&tag) {
        RestResponse::new(whole).status(StatusCode::NOT_MODIFIED)
    } else {
        RestResponse::new(whole)
    };
    Ok(reply.tag(&tag))
}

async fn update(call: RestCall, body: JsonBody<CapsuleChangeBody>) -> ApiResult<CapsuleItem> {
    let JsonBody(CapsuleChangeBody { name, description, visibility, owner }) = body;
    let capsule = call.owned_capsule("change").await?;
    if owner.is_some() {
        RequiredAccess::Admin.check_call(&call)?;
    }
    if let Some(owner) = &owner
        && call.registry()?.operators().get(owner).is_none()
    {
        return Err(ApiError::not_found("operator", owner));
    }
    let names = call.names().await?;
    run_to_completion(async move {
        let key = capsule.key();
        let update = CapsuleUpdate { name, description, visibility };
        let changed = call.ask_knowing(names, Some(&key), update).await?;
        if let Some(owner) = &owner
            && let Err(error) = change_owner(&call, &key, owner).await
        {
            let back = CapsuleUpdate {
                name: Some(capsule.name),
                description: Some(capsule.description),
                visibility: Some(capsule.visibility),
            };
            call.ask_as_host(Some(&key), back).await?;
            return Err(error);
        }
        Ok(call.owned_by_caller(changed))
    })
    .await
}

/// Gives a capsule to another operator. What its owner before shared ends with their right to share it.
async fn change_owner(call: &RestCall, key: &str, owner: &str) -> ApiResult<()> {
    let caller = call.registry_caller();
    call.registry()?.capsules().set_owner(&caller, key, Some(owner)).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(())
}

async fn remove(call: RestCall, query: CapsuleDeleteQuery) -> ApiResult<NoContent> {
    let is_purge = matches!(query.purge, Some(PurgeFlag::One | PurgeFlag::True));
    let action = if is_purge { "purge" } else { "delete" };
    let (called, key) = match call.owned_capsule(action).await {
        Ok(capsule) => (capsule.key(), Some(capsule.key())),
        // What was deleted before has no owner.
        Err(error) if error.status == StatusCode::NOT_FOUND => {
            let id = call.path_parameter("capsule");
            if !is_purge || !call.is_admin() {
                return Err(error);
            }
            (id.to_owned(), None)
        }
        Err(error) => return Err(error),
    };
    run_to_completion(async move {
        if is_purge {
            call.ask_as_host(Some(&called), PurgeCapsuleRequest).await?;
        } else {
            call.ask_as_host(Some(&called), DeleteCapsuleRequest).await?;
        }
        if let (Some(registry), Some(key)) = (call.rest.http_state.registry(), key) {
            registry.capsules().forget(&call.registry_caller(), &key).await?;
        }
        Ok(NoContent)
    })
    .await
}

/// Does work to its end, even when the client goes away in the middle of it.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = ApiResult<T>> + Send + 'static,
) -> ApiResult<T> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(ApiError::internal("the request ended by a bug", &error)))
}

impl RestCall {
    /// Makes a capsule, fills it, and gives it to its maker. What fails leaves no capsule and no owner behind.
    pub(super) async fn make_capsule<T>(
        &self,
        create: CreateCapsuleRequest,
        fill: impl AsyncFnOnce(&Self, &CapsuleItem) -> ApiResult<T>,
    ) -> ApiResult<(CapsuleItem, T)> {
        let made = self.ask_knowing(self.names().await?, None, create).await?;
        let capsule = self.owned_by_caller(made);
        let filled = match fill(self, &capsule).await {
            Ok(filled) => self.claim(&capsule).await.map(|()| filled),
            Err(error) => Err(error),
        };
        match filled {
            Ok(filled) => Ok((self.with_owner(capsule), filled)),
            Err(error) => {
                let undo = self.ask_as_host(Some(&capsule.key()), PurgeCapsuleRequest).await;
                if let Err(left) = undo {
                    tracing::error!(
                        capsule = capsule.id,
                        ?left,
                        "cannot remove a capsule that was not finished"
                    );
                }
                Err(error)
            }
        }
    }

    /// Gives a capsule to the operator who made it. What the host's owner makes is the machine's own.
    async fn claim(&self, capsule: &CapsuleItem) -> ApiResult<()> {
        if let Some(RequestActor::Operator(operator)) = &self.actor
            && ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(&operator.id.as_str())
        {
            let (registry, caller) = (self.registry()?, self.registry_caller());
            registry.capsules().set_owner(&caller, &capsule.key(), Some(&operator.id)).await?;
        }
        Ok(())
    }

    pub(super) fn owned_by_caller(&self, info: CapsuleInfo) -> CapsuleItem {
        let access = CapsuleAccess::owner();
        self.to_item(CapsuleSummary { info, access, entries: None, problem: None })
    }
}
