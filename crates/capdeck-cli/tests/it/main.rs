//! The binary as people and scripts meet it: exit codes, stdout, stderr, files.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod add;
mod add_capability_file;
mod add_openapi;
mod approvals;
mod artifacts;
mod attach;
mod attach_passage;
mod audit;
mod auth;
mod backup;
mod budget;
mod call;
mod canary;
mod canary_apis;
mod capability_file;
mod capability_layers;
mod caplets;
mod capsule;
mod capsule_identity;
mod capsule_storage;
mod capsule_transfer;
mod capsule_write;
mod catalogue;
mod changed_lists;
mod chaos;
mod check;
mod cmp;
mod completions;
mod connect;
mod doctor;
mod documents;
mod environment;
mod guardian;
mod import;
mod init;
mod install;
mod install_providers;
mod limits;
mod list;
mod many_servers;
mod migrate;
mod openapi;
mod option_values;
mod packages;
mod pins;
mod places;
mod private_networks;
mod problems;
mod provider;
mod real_apis;
mod real_files;
mod reference;
mod refusals;
mod reload_in_call;
mod remove;
mod run;
mod runs;
mod search;
mod security;
mod serve;
mod setup;
mod sh;
mod sh_edges;
mod shared_capsules;
mod stale;
mod terminal;
mod traces;
mod trust;
mod uninstall;
mod up;
mod usage;
mod validate;
mod vault;
mod why;

use capdeck_test::{CapdeckOutput, CapdeckRun, TestDirs};
use serde_json::Value;

/// The binary under test, isolated in `dirs`.
fn capdeck(dirs: &TestDirs) -> CapdeckRun {
    CapdeckRun::at(env!("CARGO_BIN_EXE_capdeck"), dirs)
}

/// Runs a command line to its end.
fn run(dirs: &TestDirs, words: &[&str]) -> CapdeckOutput {
    capdeck(dirs).args(words).run()
}

/// Runs a command line that must succeed, and reads its JSON.
fn json(dirs: &TestDirs, words: &[&str]) -> Value {
    capdeck(dirs).args(words).arg("--json").run().success().json()
}

/// Code, stdout and stderr in one text, with what changes from run to run taken out.
fn shown(dirs: &TestDirs, finished: &CapdeckOutput) -> String {
    let root = dirs.root().canonicalize().unwrap();
    let text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        finished.code.unwrap_or(-1),
        finished.stdout,
        finished.stderr
    );
    let text = text.replace(root.to_str().unwrap(), "[ROOT]");
    text.replace(dirs.root().to_str().unwrap(), "[ROOT]")
        .replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}

/// A capability that runs `echo`, as a file.
fn echo_file(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Says the words it is given.\ncliTools:\n  actions:\n    say:\n      \
         description: Says it.\n      command: echo\n      args: [$input.text]\n      inputSchema:\n        \
         type: object\n        properties: {{ text: {{ type: string }}, times: {{ type: integer }} }}\n        \
         required: [text]\n---\n"
    )
}
