//! A launcher that installs a server for as long as a test wants.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::FakePlan;

/// An `npx` that waits at a gate, and then starts the server or fails.
#[derive(Debug)]
pub struct FakeLauncher {
    program: PathBuf,
    gate: PathBuf,
}

impl FakeLauncher {
    /// What it says that it installs.
    pub const PACKAGE: &'static str = "@example/fake";

    /// One that starts its server when the gate is opened.
    pub fn starting(folder: &Path) -> Self {
        Self::new(folder, "exec \"$@\"")
    }

    /// One that fails as `npx` does for a package that does not exist.
    pub fn failing(folder: &Path) -> Self {
        let lines = [
            "npm error code E404",
            "npm error 404 Not Found - GET https://registry.example/fake",
            "npm error A complete log of this run can be found in: /a.log",
        ];
        let echo: String = lines.iter().map(|line| format!("echo '{line}' >&2\n")).collect();
        Self::new(folder, &format!("{echo}exit 1"))
    }

    fn new(folder: &Path, then: &str) -> Self {
        let (program, gate) = (folder.join("npx"), folder.join("gate"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
        let script = format!("#!/bin/sh\nshift 2\nread -r _ < '{}'\n{then}\n", gate.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { program, gate }
    }

    /// The entry of a deck for a server that it starts.
    pub fn deck_entry(&self, plan: &FakePlan) -> Value {
        let (program, arguments) = plan.command();
        let program = program.display().to_string();
        let own = ["-y".to_owned(), Self::PACKAGE.to_owned(), program];
        let args: Vec<String> = own.into_iter().chain(arguments).collect();
        json!({
            "name": "Fake", "description": "A server to install", "protocolEra": "legacy",
            "command": self.program, "args": args,
        })
    }

    /// Lets the install end. Waits until it has begun.
    pub fn open_gate(&self) {
        fs::write(&self.gate, "\n").unwrap();
    }
}
