//! Counts of the resources that clients hold.

use std::ops::Add;

/// The open resources of one endpoint, or a sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerLoad {
    pub sessions: usize,
    /// Running requests, including subscriptions.
    pub requests: usize,
    pub streams: usize,
    pub suspended_calls: usize,
}

impl Add for ServerLoad {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            requests: self.requests + other.requests,
            streams: self.streams + other.streams,
            suspended_calls: self.suspended_calls + other.suspended_calls,
        }
    }
}
