//! The server that the official conformance suite expects, on the server half of `capdeck-mcp`.
//!
//! Alone it shows what that half can do; behind Capdeck it shows what gets lost on the way. The same tools, prompts,
//! resources, tasks and skills are offered in both eras. Where an era has its own way, the fixture takes it: it asks
//! a legacy client in the middle of a call, and answers a modern one with `input_required`.

mod call;
mod fixture;
mod forced_era;
mod http;
mod listeners;
mod media;
mod prompts;
mod questions;
mod resources;
mod session;
mod skills;
mod stdio;
mod tasks;
mod tools;

pub use fixture::ConformanceFixture;
pub use forced_era::ForcedEra;
pub use http::serve_http;
pub use stdio::serve_stdio;
