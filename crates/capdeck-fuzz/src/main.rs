//! `fuzz TARGET --seconds N`: runs one target and prints what it found.
#![expect(
    clippy::print_stdout,
    clippy::exit,
    reason = "a test program: it prints its findings, and they decide how it ends"
)]

use std::{fs, path::PathBuf, time::Duration};

use capdeck_fuzz::{FuzzSettings, RunLimit, TARGETS, TargetInfo, replay, run};

const USAGE: &str = "\
usage: fuzz TARGET [--seconds N | --executions N] [--seed N] [--folder FOLDER]
       fuzz replay TARGET FILE
       fuzz list

Changes seeds of a format and hands them to the parser for as long as asked (default: 60 seconds). TARGET is one of `fuzz list`, or
`all`. Findings and the slowest input are written to FOLDER (default: target/fuzz); replay one with `fuzz replay`. Exits with 1
after a finding, with 3 when one input took 120 seconds of processor time or 4 GB of memory.";

/// The stack of the threads that serve requests, so that a recursion without end is met here as it would be there.
const STACK_BYTES: usize = 2 * 1024 * 1024;

fn main() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(follow_arguments);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(())) => {}
        Ok(Err(_)) => std::process::exit(1),
        Err(error) => fail(&format!("no thread could be started: {error}")),
    }
}

fn follow_arguments() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["list"] => {
            for target in TARGETS {
                println!("{:<18} {}", target.name, target.about);
            }
        }
        ["replay", name, file] => match (find(name), fs::read(file)) {
            (Some(target), Ok(input)) => println!("{}", replay(target, &input)),
            (None, _) => fail(&format!("there is no target `{name}`; see `fuzz list`")),
            (_, Err(error)) => fail(&format!("cannot read `{file}`: {error}")),
        },
        ["all", options @ ..] => match settings(options) {
            Some(settings) => run_all(TARGETS, &settings),
            None => fail(USAGE),
        },
        [name, options @ ..] => match (find(name), settings(options)) {
            (Some(target), Some(settings)) => run_all(std::slice::from_ref(target), &settings),
            _ => fail(USAGE),
        },
        [] => fail(USAGE),
    }
}

fn run_all(targets: &[TargetInfo], settings: &FuzzSettings) {
    let mut is_clean = true;
    for target in targets {
        let report = run(target, settings);
        println!("{report}");
        is_clean &= report.findings.is_empty();
    }
    if !is_clean {
        std::process::exit(1);
    }
}

fn find(name: &str) -> Option<&'static TargetInfo> {
    TARGETS.iter().find(|target| target.name == name)
}

fn settings(options: &[&str]) -> Option<FuzzSettings> {
    let mut settings = FuzzSettings {
        seed: 1,
        limit: RunLimit::Time(Duration::from_secs(60)),
        folder: Some(PathBuf::from("target/fuzz")),
    };
    for option in options.chunks(2) {
        match option {
            ["--seconds", value] => {
                settings.limit = RunLimit::Time(Duration::from_secs(value.parse().ok()?));
            }
            ["--executions", value] => {
                settings.limit = RunLimit::Executions(value.parse().ok()?);
            }
            ["--seed", value] => settings.seed = value.parse().ok()?,
            ["--folder", value] => settings.folder = Some(PathBuf::from(value)),
            _ => return None,
        }
    }
    Some(settings)
}

fn fail(text: &str) {
    println!("{text}");
    std::process::exit(2);
}
