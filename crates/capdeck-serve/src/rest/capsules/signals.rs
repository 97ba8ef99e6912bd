//! Short messages of a capsule.

use capdeck_host::{PollSignalsRequest, SendSignalRequest, Signal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    ApiResult, JsonBody, ListPage, PageQuery, RequiredAccess::Anyone, RestCall, RestOperation, get,
    post,
};

/// Where a list of signals begins: before all of them.
const FIRST_SIGNAL_ID: &str = "sig_00000000000000000000000000";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Anyone, "/v1/capsules/{capsule}/signals", "listSignals", "List signals, the oldest first")
            .about("Nothing is acknowledged by this. A page has at most 100 signals; `next_cursor` is null where there is no more now, and `after` goes on from the last one later.")
            .handled_with_query(list),
        post(Anyone, "/v1/capsules/{capsule}/signals", "sendSignal", "Send a signal")
            .success(&[201])
            .handled_with_body(send),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SignalListQuery {
    /// Only signals after the one with this id.
    after: Option<String>,
    /// Only signals of this kind; may be given several times.
    #[serde(default)]
    kind: Vec<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list(call: RestCall, query: SignalListQuery) -> ApiResult<ListPage<Signal>> {
    let SignalListQuery { after, kind: kinds, paging } = query;
    let after = paging.inner_cursor(&call)?.or(after).unwrap_or_else(|| FIRST_SIGNAL_ID.to_owned());
    let limit = paging.limit().min(100);
    let poll = PollSignalsRequest { after: Some(after), kinds, limit };
    let items = call.ask_for(poll).await?.page.signals;
    let last = items.last().filter(|_| items.len() == limit).map(|signal| signal.id.clone());
    let next_cursor = PageQuery::outer_cursor(&call, last);
    Ok(ListPage { items, next_cursor })
}

async fn send(call: RestCall, JsonBody(send): JsonBody<SendSignalRequest>) -> ApiResult<Signal> {
    Ok(call.ask_for(send).await?.signal)
}
