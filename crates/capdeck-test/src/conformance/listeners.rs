//! Who is notified when something changes: every legacy session, and modern subscriptions to what they asked for.

use capdeck_mcp::server::ClientPeer;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::call::{FixtureCall, FixtureResult, raw_object};

/// Everyone who listens.
#[derive(Default)]
pub(super) struct FixtureListeners(Mutex<ListenerTable>);

#[derive(Default)]
struct ListenerTable {
    next: u64,
    open: Vec<FixtureListener>,
}

struct FixtureListener {
    id: u64,
    peer: ClientPeer,
    /// What a subscription asked for; a legacy session hears everything.
    filter: Option<Value>,
}

/// A list that became another one.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChangedList {
    Tools,
    Prompts,
}

/// The kinds of news a subscription can ask for here.
const OFFERED: [&str; 5] = [
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "resourceSubscriptions",
    "taskIds",
];

impl FixtureListeners {
    pub(super) fn add(&self, peer: ClientPeer, filter: Option<Value>) -> u64 {
        let mut table = self.0.lock();
        let id = table.next;
        table.next += 1;
        table.open.push(FixtureListener { id, peer, filter });
        id
    }

    pub(super) fn remove(&self, id: u64) {
        self.0.lock().open.retain(|listener| listener.id != id);
    }

    pub(super) fn announce(&self, change: ChangedList) {
        let (method, wish) = match change {
            ChangedList::Tools => ("notifications/tools/list_changed", "toolsListChanged"),
            ChangedList::Prompts => ("notifications/prompts/list_changed", "promptsListChanged"),
        };
        for FixtureListener { peer, filter, .. } in &self.0.lock().open {
            if filter.as_ref().is_none_or(|filter| filter[wish] == true) {
                peer.notify(method, None);
            }
        }
    }
}

/// `subscriptions/listen`: tells what was asked for until the client goes.
pub(super) async fn listen(call: &FixtureCall<'_>) -> FixtureResult {
    let mut filter = call.params["notifications"].clone();
    if let Some(wishes) = filter.as_object_mut() {
        wishes.retain(|wish, _| OFFERED.contains(&wish.as_str()));
    } else {
        filter = json!({});
    }
    let reports = super::tasks::reports(&filter["taskIds"], call)?;
    call.exchange.acknowledge(&raw_object(&filter));
    let _reporting: Vec<_> =
        reports.into_iter().map(|report| AbortOnDropHandle::new(tokio::spawn(report))).collect();
    let id = call.fixture.listeners.add(call.exchange.peer.clone(), Some(filter));
    call.exchange.cancel.cancelled().await;
    call.fixture.listeners.remove(id);
    Ok(json!({}))
}
