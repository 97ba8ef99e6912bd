//! What the host takes up at one moment, seen from outside.

use std::{fmt, fs};

use serde::{Deserialize, Serialize};

use super::stage::SoakStage;
use crate::{
    HttpClient,
    bench::{resident_memory, tree_memory},
};

/// Memory may be more than before by this part of it.
const MEMORY_SHARE: u64 = 10;

/// One look at the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSample {
    /// The host, its guardian, and all their descendants.
    pub processes: u64,
    /// Descriptors of the host itself.
    pub descriptors: u64,
    pub threads: u64,
    pub resident_bytes: u64,
    /// Of the host and all its descendants, shared pages in parts.
    #[serde(default)]
    pub proportional_bytes: u64,
    pub connections: u64,
    pub sessions: u64,
    pub requests: u64,
    pub streams: u64,
    pub suspended_calls: u64,
}

/// Looks at one host again and again.
pub(super) struct HostSampler {
    id: u32,
    mark: String,
    client: HttpClient,
}

impl HostSampler {
    pub(super) fn new(stage: &SoakStage) -> Self {
        Self { id: stage.host.id(), mark: stage.mark(), client: stage.host.client("/metrics") }
    }

    pub(super) fn take(&mut self) -> HostSample {
        let metrics = self.client.send("GET", "/metrics", &[], b"").body;
        let gauge = |name: &str| -> u64 {
            let line = metrics.lines().find(|line| line.split(' ').next() == Some(name));
            let number = line.and_then(|line| line.split(' ').nth(1)?.parse::<f64>().ok());
            number.map_or(0, |number| format!("{number:.0}").parse().unwrap_or(0))
        };
        let status = fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap_or_default();
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
        HostSample {
            processes: count(self.processes()),
            descriptors: entries(&format!("/proc/{}/fd", self.id)),
            threads: threads.and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            resident_bytes: resident_memory(self.id),
            proportional_bytes: tree_memory(self.id).pss,
            // Our own connection is none of the clients'.
            connections: gauge("capdeck_connections").saturating_sub(1),
            sessions: gauge("capdeck_sessions"),
            requests: gauge("capdeck_requests"),
            streams: gauge("capdeck_streams"),
            suspended_calls: gauge("capdeck_suspended_calls"),
        }
    }

    /// The host's descendants, and every process with its environment, also when its parent is gone. Those of code mode
    /// have no environment.
    fn processes(&self) -> usize {
        let Ok(all) = fs::read_dir("/proc") else { return 0 };
        let ids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let mut others: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, parent(id)?))).collect();
        let mut ours = vec![self.id];
        let is_marked = |id: u32| {
            fs::read(format!("/proc/{id}/environ"))
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains(&self.mark))
        };
        others.retain(|(id, _)| *id != self.id);
        loop {
            let (found, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|(id, parent)| ours.contains(parent) || is_marked(*id));
            if found.is_empty() {
                return ours.len();
            }
            ours.extend(found.into_iter().map(|(id, _)| id));
            others = rest;
        }
    }
}

/// The parent of a process that has not ended.
fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program is in brackets and may have any letters.
    let (_, facts) = stat.rsplit_once(") ")?;
    let mut facts = facts.split(' ');
    (facts.next()? != "Z").then_some(facts.next()?.parse().ok()?)
}

impl HostSample {
    /// True when no client and no child is there.
    pub(super) fn is_quiet(&self) -> bool {
        let open = [self.connections, self.sessions, self.requests, self.streams];
        open.iter().all(|count| *count == 0) && self.suspended_calls == 0
    }

    /// True when nothing but memory is more than it was.
    pub(super) fn is_within(&self, baseline: &Self) -> bool {
        self.is_quiet()
            && self.processes <= baseline.processes
            && self.descriptors <= baseline.descriptors
            && self.threads <= baseline.threads
    }
}

impl HostSample {
    /// True when the memory is at most a tenth more than it was.
    pub(super) fn has_memory_of(&self, baseline: &Self) -> bool {
        let before = baseline.proportional_bytes;
        self.proportional_bytes <= before + before / MEMORY_SHARE
    }
}

impl fmt::Display for HostSample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processes,
            descriptors,
            threads,
            resident_bytes,
            proportional_bytes,
            connections,
            sessions,
            requests,
            streams,
            suspended_calls,
        } = self;
        write!(
            formatter,
            "{processes} processes, {descriptors} descriptors, {threads} threads, {} MB ({} MB with all \
             descendants), {connections} connections, {sessions} sessions, {requests} requests, {streams} streams, \
             {suspended_calls} suspended calls",
            resident_bytes / 1_000_000,
            proportional_bytes / 1_000_000
        )
    }
}

fn entries(folder: &str) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| count(entries.count()))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
