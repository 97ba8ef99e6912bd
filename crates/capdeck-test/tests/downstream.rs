//! `capdeck serve` in front of servers that misbehave: each fails its own calls, in time, and nothing else.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "downstream/calls.rs"]
mod calls;
#[path = "downstream/http.rs"]
mod http;
#[path = "downstream/lists.rs"]
mod lists;
#[path = "downstream/processes.rs"]
mod processes;
#[path = "downstream/scene.rs"]
mod scene;
