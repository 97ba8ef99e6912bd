//! The `capdeck` binary: arguments, settings, commands, printing, exit codes.
//!
//! The main types are [`settings::CommandSettings`] (files, variables and flags, resolved), [`printer::Printer`] (the only
//! one that prints) and [`errors::CommandFailure`] (an error with its hint and exit code). Start with `commands.rs`, the
//! table of all commands. Each command is a thin function from resolved values to what the printer shows. Nothing here
//! knows how a backend works or what a protocol message looks like.

mod args;
mod arguments;
mod browser;
mod capsule_client;
mod commands;
mod completion;
mod env_vars;
mod errors;
mod help;
mod new_file;
mod plain_text;
mod plan;
mod printer;
mod progress_spinner;
mod run;
mod runtime;
mod service_memory;
mod settings;
mod shell_deck;
mod source_frames;
mod table;
mod tool_target;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = env_vars::words();
    if words.get(1).is_some_and(|word| word == settings::GUARDIAN) {
        capdeck_host::run_guardian(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    if words.get(1).is_some_and(|word| word == settings::SANDBOX_WORKER) {
        // The reason is not read; the host sees that the worker ended.
        return match capdeck_host::run_worker() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    run::run(words, env_vars::EnvVars::read()).into()
}
