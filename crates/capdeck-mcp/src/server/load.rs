//! What clients hold open, in numbers.

use std::ops::Add;

/// What is open at one endpoint, or at several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Sessions of either era.
    pub sessions: usize,
    /// Requests under way, also those that only listen.
    pub requests: usize,
    /// Event streams of sessions that somebody reads.
    pub streams: usize,
    /// Calls that wait for a client to come back with answers.
    pub suspended_calls: usize,
}

impl Add for Load {
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
