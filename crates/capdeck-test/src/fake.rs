//! A scripted MCP server: well behaved unless its plan, or the tool that is called, says otherwise.
//!
//! Read [`FakePlan`] first. The plan decides how the server starts and lists; what happens during a call
//! is chosen by calling the tool named for it (`hang`, `crash`, `bad_json`, `progress`, …), so one server
//! serves most tests. It speaks the legacy era, the modern one or both.

mod ask;
mod behaviour;
mod fault;
mod http;
mod modern;
mod offer;
mod plan;
mod server;
mod stdio;

pub use behaviour::{spawn_grandchild, write_stderr};
pub use http::serve_http;
pub use plan::{FakeEra, FakeFault, FakePlan, RunningFake};
pub use server::FakeServer;
pub use stdio::serve_stdio;
