//! `fake-mcp-server [--http] [--plan JSON|@FILE]`: a scripted MCP server for tests. See `capdeck_test::fake`.
#![expect(
    clippy::expect_used,
    clippy::exit,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program: its plan comes from a test, and its output is the protocol"
)]

use std::{os::unix::process::CommandExt, process::Command, thread, time::Duration};

use capdeck_test::{
    FakePlan,
    fake::{FakeServer, serve_http, serve_stdio},
};

/// Set on the second start, when SIGTERM is already ignored.
const SHIELDED: &str = "--shielded";

fn main() {
    let mut http = false;
    let mut shielded = false;
    let mut plan = FakePlan::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--http" => http = true,
            SHIELDED => shielded = true,
            "--plan" => {
                let given = arguments.next().expect("--plan is followed by JSON");
                // A long plan does not fit an argument.
                let text = match given.strip_prefix('@') {
                    Some(file) => std::fs::read_to_string(file).expect("the plan is in its file"),
                    None => given,
                };
                plan = serde_json::from_str(&text).expect("the plan fits FakePlan");
            }
            // Other arguments of a test are only there to be shown by the `environment` tool.
            _ => {}
        }
    }
    if plan.ignore_sigterm && !shielded {
        start_again_without_sigterm();
    }
    prepare(&plan);
    let server = FakeServer::new(plan);
    if http {
        serve_http(&server, |address| {
            println!(r#"{{"url":"http://{address}/mcp","sse":"http://{address}/sse"}}"#);
        });
    } else {
        serve_stdio(&server);
    }
}

fn prepare(plan: &FakePlan) {
    if let Some(line) = &plan.stderr_line {
        eprintln!("{line}");
    }
    capdeck_test::fake::write_stderr(plan.chatter_bytes);
    if plan.spawn_grandchild {
        eprintln!("grandchild {}", capdeck_test::fake::spawn_grandchild());
    }
    thread::sleep(Duration::from_millis(plan.start_delay_ms));
    if let Some(code) = plan.exit_at_start {
        std::process::exit(code);
    }
}

/// An ignored signal stays ignored across `exec`, so a shell can do what safe Rust cannot.
fn start_again_without_sigterm() {
    let program = std::env::current_exe().expect("a program has a path");
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"trap "" TERM; exec "$0" "$@""#]).arg(program).arg(SHIELDED);
    let failure = shell.args(std::env::args_os().skip(1)).exec();
    eprintln!("no shell to start again with: {failure}");
    std::process::exit(70);
}
