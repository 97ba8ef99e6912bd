//! What the host takes up at one moment, seen from outside.

use std::{fmt, fs};

use serde::{Deserialize, Serialize};

use super::stage::SoakStage;
use crate::{HttpClient, bench::resident_memory};

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
            // Our own connection is none of the clients'.
            connections: gauge("capdeck_connections").saturating_sub(1),
            sessions: gauge("capdeck_sessions"),
            requests: gauge("capdeck_requests"),
            streams: gauge("capdeck_streams"),
            suspended_calls: gauge("capdeck_suspended_calls"),
        }
    }

    /// Every process that was started below the stage's folders, also when its parent is gone.
    fn processes(&self) -> usize {
        let Ok(all) = fs::read_dir("/proc") else { return 0 };
        let ours = all.filter_map(Result::ok).filter(|entry| {
            let is_process =
                entry.file_name().to_string_lossy().bytes().all(|one| one.is_ascii_digit());
            is_process
                && fs::read(entry.path().join("environ"))
                    .is_ok_and(|text| String::from_utf8_lossy(&text).contains(&self.mark))
        });
        ours.count()
    }
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

impl fmt::Display for HostSample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processes,
            descriptors,
            threads,
            resident_bytes,
            connections,
            sessions,
            requests,
            streams,
            suspended_calls,
        } = self;
        write!(
            formatter,
            "{processes} processes, {descriptors} descriptors, {threads} threads, {} MB, {connections} connections, \
             {sessions} sessions, {requests} requests, {streams} streams, {suspended_calls} suspended calls",
            resident_bytes / 1_000_000
        )
    }
}

fn entries(folder: &str) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| count(entries.count()))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
