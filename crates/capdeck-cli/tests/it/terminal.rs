//! A person at a terminal, typing.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
};

use capdeck_test::TestDirs;
use rustix::process::{Pid, Signal, kill_process};

/// A command whose stdin and stderr are a terminal; its stdout is read apart.
pub(crate) struct Terminal {
    controller: File,
    child: Child,
    said: String,
}

impl Terminal {
    pub(crate) fn start(dirs: &TestDirs, words: &[&str]) -> Self {
        Self::start_with(dirs, words, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with(
        dirs: &TestDirs,
        words: &[&str],
        variables: &[(&str, String)],
    ) -> Self {
        let controller = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
        rustix::pty::grantpt(&controller).unwrap();
        rustix::pty::unlockpt(&controller).unwrap();
        let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap();
        let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
        dirs.isolate(&mut command).args(words);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        let child = command.stdin(stdio()).stderr(stdio()).stdout(Stdio::piped()).spawn().unwrap();
        Self { controller: File::from(controller), child, said: String::new() }
    }

    /// Reads until the terminal shows this text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut buffer = [0; 1024];
        let end = loop {
            if let Some(start) = self.said.find(text) {
                break start + text.len();
            }
            let count = self.controller.read(&mut buffer).unwrap();
            self.said.push_str(&String::from_utf8_lossy(&buffer[..count]));
        };
        // What came after it belongs to the next question.
        self.said.drain(..end);
    }

    /// Types a line.
    pub(crate) fn answer(&mut self, line: &str) {
        self.controller.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
    }

    /// The exit code and what was written to stdout.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }
}
