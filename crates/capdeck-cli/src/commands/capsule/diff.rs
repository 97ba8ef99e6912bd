//! `capdeck capsule diff NAME URI [FROM [TO]]`: what changed between two versions.

use capdeck_host::{DiffRequest, ReadBody, ReadRequest};

use crate::{
    capsule_client::with_capsules,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::lines,
    printer::{ColorPalette, TextStyle},
};

/// Show what changed between two versions of an entry
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleDiffArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
    /// The older version; the one before the current one by default.
    #[arg(value_name = "FROM")]
    from: Option<u64>,
    /// The newer version; the current one by default.
    #[arg(value_name = "TO")]
    to: Option<u64>,
}

pub(crate) fn run(
    args: &CapsuleDiffArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleDiffArgs { name, uri, from, to } = args;
    let answer = with_capsules(context, async |capsules| {
        let from = match from {
            Some(from) => *from,
            None => {
                let (uri, body) = (uri.clone(), ReadBody::Meta);
                let read = ReadRequest { uri, version: None, body };
                capsules.ask(Some(name), read).await?.info.version.saturating_sub(1)
            }
        };
        if from == 0 {
            let message = format!("`{uri}` has one version only");
            return Err(CommandFailure::request("NOTHING_TO_COMPARE", message)
                .hint(format!("read it with: capdeck capsule read {name} {uri}")));
        }
        capsules.ask(Some(name), DiffRequest { uri: uri.clone(), from, to: *to }).await
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
        return Ok(ExitStatus::Done);
    }
    match answer.diff.as_str() {
        "" => printer.note("they say the same"),
        diff if printer.palette() == ColorPalette::Colored => printer.data(&painted(&lines(diff))),
        diff => printer.data(diff),
    }
    Ok(ExitStatus::Done)
}

fn painted(diff: &str) -> String {
    let paint = |line: &str| match line.chars().next() {
        Some('+') => ColorPalette::Colored.paint(TextStyle::Good, line),
        Some('-') => ColorPalette::Colored.paint(TextStyle::Bad, line),
        Some('@') => ColorPalette::Colored.paint(TextStyle::Dim, line),
        _ => line.to_owned(),
    };
    diff.lines().map(|line| paint(line) + "\n").collect()
}
