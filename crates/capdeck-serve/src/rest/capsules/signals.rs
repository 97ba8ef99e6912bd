//! Short messages of a capsule.

use capdeck_host::{PollSignalsRequest, SendSignalRequest, Signal};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::rest::{
    call::Call,
    input::{Json, NoBody, NoQuery},
    operation::{Operation, get, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::Reply,
    who::Who,
};

/// Where a list of signals begins: before all of them.
const BEGINNING: &str = "sig_00000000000000000000000000";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/capsules/{capsule}/signals", "listSignals", "List signals, the oldest first")
            .about("Nothing is acknowledged by this. A page has at most 100 signals; `next_cursor` is null where there is no more now, and `after` goes on from the last one later.")
            .who(Who::Anyone)
            .done_by(list),
        post("/v1/capsules/{capsule}/signals", "sendSignal", "Send a signal")
            .who(Who::Anyone)
            .success(&[201])
            .done_by(send),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListSignals {
    /// Only signals after the one with this id.
    after: Option<String>,
    /// Only signals of this kind; may be given several times.
    #[serde(default)]
    kind: Vec<String>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewSignal {
    #[schemars(length(min = 1, max = 64))]
    kind: String,
    text: Option<String>,
    /// The entry it is about.
    uri: Option<String>,
    /// The client it is meant for.
    to: Option<String>,
    data: Option<Map<String, Value>>,
}

async fn list(call: Call, query: ListSignals, _: NoBody) -> Result<Reply<Page<Signal>>, ApiError> {
    let ListSignals { after, kind: kinds, paging } = query;
    let after = paging.inner(&call)?.or(after).unwrap_or_else(|| BEGINNING.to_owned());
    let limit = paging.limit().min(100);
    let poll = PollSignalsRequest { after: Some(after), kinds, limit };
    let items = call.ask_for(poll).await?.page.signals;
    let last = items.last().filter(|_| items.len() == limit).map(|signal| signal.id.clone());
    let next_cursor = Paging::outer(&call, last);
    Ok(Reply::new(Page { items, next_cursor }))
}

async fn send(call: Call, _: NoQuery, body: Json<NewSignal>) -> Result<Reply<Signal>, ApiError> {
    let Json(NewSignal { kind, text, uri, to, data }) = body;
    let send = SendSignalRequest { kind, text, uri, to, data };
    Ok(Reply::created(call.ask_for(send).await?.signal))
}
