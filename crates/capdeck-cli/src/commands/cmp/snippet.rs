//! `capdeck cmp snippet`: the instruction that tells an agent about CMP tools, whatever is installed.

use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    tokens::Tokens,
};

/// The instruction. Its size does not depend on what is installed.
const SNIPPET: &str = "## Local tools (CMP)

Command-line tools are installed here. When one might help:
1. `capdeck cmp intent \"WHAT YOU WANT\"` finds the tool and its parameters
2. add `--run --param NAME=VALUE --json` to run it
3. `capdeck cmp list` shows every tool

A tool that requires approval waits for the person: say what it would do, and that they run the `capdeck approve` line of the hint.
";

/// Print the instruction for an agent's rules file
///
/// It costs the same few tokens whatever is installed; how many is told on stderr.
#[derive(Debug, clap::Args)]
pub(crate) struct SnippetArgs {}

pub(super) fn run(_: &SnippetArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let tokens = Tokens::new().count(SNIPPET);
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "text": SNIPPET, "tokens": tokens, "encoding": Tokens::ENCODING }));
    } else {
        printer.data(SNIPPET);
        printer.note(&format!("{tokens} tokens ({})", Tokens::ENCODING));
    }
    Ok(ExitStatus::Done)
}
