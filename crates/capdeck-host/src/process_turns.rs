//! Bounds the processes that run for single clients: of each capability, and in all.
//!
//! A caller that finds none left waits, first come first served. One that is not used is ended for
//! it; it starts again when its own client needs it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use capdeck_backend::{CallContext, CallError};
use capdeck_definition::{Backend, CapabilityId, Definition, McpServer, McpTransport};
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::{
    Host,
    host::HostState,
    pool::{ConnectionPool, UnusedProcess},
};

/// Of one capability, unless its definition says otherwise.
const MAX_PROCESSES_EACH: usize = 32;

const MAX_PROCESSES: usize = 128;

/// A process takes a few descriptors, and most are for other things.
const DESCRIPTORS_PER_PROCESS: u64 = 16;

const MIN_PROCESSES: usize = 4;

/// How long a call waits for a process, if its own timeout is not shorter.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct ProcessTurns {
    all: ProcessSlots,
    each: Mutex<HashMap<CapabilityId, ProcessSlots>>,
    idle: Notify,
}

/// The right to run one process. It is given back when the process has ended.
#[derive(Debug)]
pub(crate) struct ProcessTurn {
    _of_capability: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

#[derive(Debug, Clone)]
struct ProcessSlots {
    most: usize,
    free: Arc<Semaphore>,
}

impl Default for ProcessTurns {
    fn default() -> Self {
        Self::of(getrlimit(Resource::Nofile).current)
    }
}

impl ProcessTurns {
    fn of(descriptors: Option<u64>) -> Self {
        let allowed = descriptors.map(|most| most / DESCRIPTORS_PER_PROCESS);
        let allowed = allowed.and_then(|most| usize::try_from(most).ok()).unwrap_or(MAX_PROCESSES);
        Self {
            all: ProcessSlots::new(allowed.clamp(MIN_PROCESSES, MAX_PROCESSES)),
            each: Mutex::default(),
            idle: Notify::new(),
        }
    }

    fn of_capability(&self, id: &CapabilityId, server: &McpServer) -> ProcessSlots {
        let declared = server.max_processes.map(|most| most as usize);
        let most = declared.unwrap_or(MAX_PROCESSES_EACH);
        let mut each = self.each.lock();
        let slots = each.entry(id.clone()).or_insert_with(|| ProcessSlots::new(most));
        if slots.most != most {
            // Processes of the earlier definition give their turns back to no waiter.
            *slots = ProcessSlots::new(most);
        }
        slots.clone()
    }

    /// A process is not used any more, at least for now.
    pub(crate) fn note_idle(&self) {
        self.idle.notify_waiters();
    }
}

impl ProcessSlots {
    fn new(most: usize) -> Self {
        Self { most, free: Arc::new(Semaphore::new(most)) }
    }
}

/// True when the definition gives all clients one process.
pub(crate) fn is_single_process(definition: &Definition) -> bool {
    started_program(definition).is_some_and(|server| server.max_processes == Some(1))
}

fn started_program(definition: &Definition) -> Option<&McpServer> {
    match &definition.backend {
        Backend::Mcp(server) if server.effective_transport() == McpTransport::Stdio => Some(server),
        _ => None,
    }
}

impl Host {
    /// Waits for the turn of a process that is started for one client. `None` for servers that are
    /// not started here.
    pub(crate) fn process_turn(
        &self,
        definition: &Definition,
        context: &CallContext,
    ) -> impl Future<Output = Result<Option<ProcessTurn>, CallError>> + Send + 'static {
        let host = Arc::downgrade(&self.0);
        let id = definition.id.clone();
        let turns = Arc::clone(&self.0.process_turns);
        let of_capability = started_program(definition).map(|one| turns.of_capability(&id, one));
        let longest = context.timeout.unwrap_or(TURN_TIMEOUT).min(TURN_TIMEOUT);
        async move {
            let Some(of_capability) = of_capability else { return Ok(None) };
            let end = tokio::time::Instant::now() + longest;
            let own = turns.acquire(&host, &of_capability, Some(&id));
            let Ok(own) = tokio::time::timeout_at(end, own).await else {
                let (most, seconds) = (of_capability.most, longest.as_secs_f32());
                let message = format!(
                    "`{id}` already runs {most} processes for other clients, and none was free within {seconds:.1} s"
                );
                return Err(busy(message)
                    .hint("try again in a moment, or raise `maxProcesses` in its definition"));
            };
            let of_all = turns.acquire(&host, &turns.all, None);
            let Ok(of_all) = tokio::time::timeout_at(end, of_all).await else {
                let (most, seconds) = (turns.all.most, longest.as_secs_f32());
                let message = format!(
                    "`{id}` cannot start: {most} processes run for clients, and none was free within {seconds:.1} s"
                );
                return Err(
                    busy(message).hint("try again in a moment; close clients that are not used")
                );
            };
            match (own, of_all) {
                (Ok(own), Ok(of_all)) => {
                    Ok(Some(ProcessTurn { _of_capability: own, _of_all: of_all }))
                }
                _ => Err(CallError::internal("the turns of processes are closed")),
            }
        }
    }
}

impl ProcessTurns {
    async fn acquire(
        &self,
        host: &Weak<HostState>,
        slots: &ProcessSlots,
        id: Option<&CapabilityId>,
    ) -> Result<OwnedSemaphorePermit, tokio::sync::AcquireError> {
        let acquiring = Arc::clone(&slots.free).acquire_owned();
        tokio::pin!(acquiring);
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            tokio::select! {
                biased;
                permit = &mut acquiring => return permit,
                () = std::future::ready(()) => {}
            }
            // In line now: an ended process makes room for the caller that waits longest.
            if let Some(host) = host.upgrade().map(Host) {
                end_idlest(&host, id);
            }
            tokio::select! {
                permit = &mut acquiring => return permit,
                () = idle => {}
            }
        }
    }
}

/// Ends the process that was not used for longest, of one capability or of all.
fn end_idlest(host: &Host, id: Option<&CapabilityId>) {
    let pools = host.own_pools();
    let unused = pools.iter().flat_map(|pool| unused_processes(host, pool));
    let mut unused: Vec<_> =
        unused.filter(|one| id.is_none_or(|id| one.capability == *id)).collect();
    unused.sort_by_key(|one| one.since);
    for one in unused {
        if one.end() {
            tracing::info!(capability = %one.capability, "an unused process was ended to make room");
            return;
        }
    }
}

fn unused_processes(host: &Host, pool: &ConnectionPool) -> Vec<UnusedProcess> {
    let Some(session) = pool.session() else { return Vec::new() };
    let mut unused = pool.unused_processes();
    // Its client would miss the updates it subscribed to.
    unused.retain(|one| !host.0.subscriptions.has_any(session, &one.capability));
    unused
}

/// Ends the processes of a client that seems to be gone.
pub(crate) fn end_unused(host: &Host, pool: &ConnectionPool) {
    for one in unused_processes(host, pool) {
        one.end();
    }
}

fn busy(message: String) -> CallError {
    CallError { host_stopped: true, ..CallError::unavailable(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_the_descriptors_of_the_process() {
        for (descriptors, most) in
            [(Some(128), 8), (Some(16), 4), (Some(1 << 20), 128), (None, 128)]
        {
            assert_eq!(ProcessTurns::of(descriptors).all.most, most);
        }
    }
}
