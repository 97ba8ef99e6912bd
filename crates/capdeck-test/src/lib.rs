//! What tests of other crates use: real programs that misbehave on request, isolated folders,
//! and raw JSON-RPC clients that keep the text they receive.
//!
//! Read [`FakePlan`] for what the fake server can do, then [`TestDirs`] and [`CapdeckRun`] for running the
//! binary without touching the person's own set-up.
//!
//! This crate never appears in the product: other crates name it under `dev-dependencies` only.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this crate serves tests, and tests fail by panicking"
)]

pub mod bench;
mod binary;
mod capdeck;
mod case_file;
pub mod conformance;
pub mod fake;
mod fake_api;
mod fake_launcher;
mod http_client;
pub mod soak;
mod stdio_client;
mod test_dirs;
pub mod workflows;

pub use binary::{built_binary, fake_mcp_server, sandbox_worker};
pub use capdeck::{CapdeckOutput, CapdeckRun, RunningHost};
pub use case_file::{CaseStep, CaseVerdict, FileCase, difference};
pub use fake::{FakeEra, FakePlan, RunningFake};
pub use fake_api::{FakeApi, FakeApiReply, FakeApiRequest};
pub use fake_launcher::FakeLauncher;
pub use http_client::{HttpClient, HttpReply};
pub use stdio_client::StdioClient;
pub use test_dirs::TestDirs;
