//! The overview of the host.

use capdeck_auth::inbound::{PageRequest, RequestQuery, RequestStatus};
use capdeck_host::{ApprovalState, ApprovalStore, View, ViewPolicy, direct_tokens};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ApiError, ApiResult,
    RequiredAccess::Operator,
    RestCall, RestOperation,
    deck::{count_tokens, waiting_pins},
    get, run_blocking,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Operator, "/v1/overview", "getOverview", "Get the overview of the host")
            .about("`connected` counts open connections. `calls` are tool calls of the last 24 hours from the audit trail in this machine's state folder, made by any process; an error is a call with an outcome other than `ok`. `tokens` compares two tool lists, read once by one agent: `direct` lists every tool of every usable capability in full, `offered` is the list with the current exposures, `saved` is the difference. All three are upper bounds of o200k tokens, not sums over calls or sessions. Members that you cannot see are null.")
            .handled_by(overview),
    ]
}

/// The overview of the host.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Overview")]
struct HostOverview {
    version: String,
    started_at: Timestamp,
    uptime_seconds: i64,
    /// The number of capsules that you can access.
    capsules: usize,
    pending: PendingCounts,
    /// For the owner and admins, like all members below.
    connected: Option<ConnectionCounts>,
    capabilities: Option<CapabilityCounts>,
    calls: Option<CallCounts>,
    tokens: Option<TokenCounts>,
}

/// Pending decisions.
#[derive(Debug, Serialize, JsonSchema)]
struct PendingCounts {
    /// Access requests that you can decide, 200 at most.
    grants: usize,
    /// Calls that require approval. For the owner and admins.
    approvals: Option<usize>,
    /// Changed tool definitions. For the owner and admins.
    pins: Option<usize>,
}

/// Open connections.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectionCounts {
    sessions: usize,
    requests: usize,
    streams: usize,
}

/// The capabilities of the deck.
#[derive(Debug, Serialize, JsonSchema)]
struct CapabilityCounts {
    usable: usize,
    all: usize,
    /// Files that do not load.
    quarantined: usize,
    tools: usize,
}

/// Tool calls of the last 24 hours.
#[derive(Debug, Serialize, JsonSchema)]
struct CallCounts {
    last_24_hours: u64,
    errors_last_24_hours: u64,
    /// The same in 24 parts, the oldest first; the last one ends now.
    by_hour: Vec<HourlyCallCount>,
}

/// Tool calls of one hour.
#[derive(Debug, Serialize, JsonSchema)]
struct HourlyCallCount {
    calls: u64,
    errors: u64,
}

/// The token cost of the deck, as upper bounds.
#[derive(Debug, Serialize, JsonSchema)]
struct TokenCounts {
    direct: usize,
    offered: usize,
    saved: usize,
    counting: &'static str,
}

async fn overview(call: RestCall) -> ApiResult<HostOverview> {
    let rest = &call.rest;
    let now = Timestamp::now();
    let is_admin = call.is_admin();
    let capsules = match rest.host.capsules() {
        Some(_) => call.capsules(false).await?.len(),
        None => 0,
    };
    Ok(HostOverview {
        version: rest.host.settings().version.clone(),
        started_at: rest.started_at,
        uptime_seconds: now.duration_since(rest.started_at).as_secs(),
        capsules,
        pending: PendingCounts {
            grants: pending_grants(&call)?,
            approvals: if is_admin { Some(waiting_calls(&call).await?) } else { None },
            pins: if is_admin { Some(waiting_pins(&rest.host).await?) } else { None },
        },
        connected: is_admin.then(|| {
            let load = (rest.connected)();
            ConnectionCounts {
                sessions: load.sessions,
                requests: load.requests,
                streams: load.streams,
            }
        }),
        capabilities: is_admin.then(|| capabilities(&call)),
        calls: if is_admin { Some(calls(&call).await?) } else { None },
        tokens: is_admin.then(|| tokens(&call)),
    })
}

fn pending_grants(call: &RestCall) -> ApiResult<usize> {
    let Some(registry) = call.rest.http_state.registry() else { return Ok(0) };
    let wanted = RequestQuery {
        status: Some(RequestStatus::Pending),
        decidable_by: Some(call.decider()?),
        ..RequestQuery::default()
    };
    let page = PageRequest { cursor: None, limit: Some(200) };
    Ok(registry.grants().requests(&wanted, &page)?.items.len())
}

async fn waiting_calls(call: &RestCall) -> ApiResult<usize> {
    let store = ApprovalStore::new(&call.rest.host.settings().state_dir);
    let listed = read_files(move || store.list(Timestamp::now())).await?;
    Ok(listed.iter().filter(|one| one.state == ApprovalState::Waiting).count())
}

fn capabilities(call: &RestCall) -> CapabilityCounts {
    let catalog = call.rest.host.catalog();
    CapabilityCounts {
        usable: catalog.capabilities().filter(|one| one.is_usable()).count(),
        all: catalog.capabilities().count(),
        quarantined: catalog.quarantined().len(),
        tools: catalog.tool_count(),
    }
}

async fn calls(call: &RestCall) -> ApiResult<CallCounts> {
    let host = call.rest.host.clone();
    let hours = read_files(move || host.calls_by_hour()).await?;
    Ok(CallCounts {
        last_24_hours: hours.iter().map(|hour| hour.calls).sum(),
        errors_last_24_hours: hours.iter().map(|hour| hour.errors).sum(),
        by_hour: hours
            .iter()
            .map(|hour| HourlyCallCount { calls: hour.calls, errors: hour.errors })
            .collect(),
    })
}

fn tokens(call: &RestCall) -> TokenCounts {
    let host = &call.rest.host;
    let catalog = host.catalog();
    let usable = catalog.capabilities().filter(|one| one.is_usable());
    let direct = usable.map(|one| direct_tokens(one)).sum();
    let view: &View = &host.view(&ViewPolicy::default(), "");
    let offered = count_tokens(view);
    TokenCounts {
        direct,
        offered,
        saved: usize::saturating_sub(direct, offered),
        counting: "bound",
    }
}

async fn read_files<T: Send + 'static, E: std::error::Error>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> ApiResult<T> {
    const FAILED: &str = "cannot read the files of this host";
    run_blocking(FAILED, move || work().map_err(|error| ApiError::internal(FAILED, &error))).await
}
